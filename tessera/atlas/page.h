// The files of page/, which the build puts into the library.
#ifndef TESSERA_ATLAS_PAGE_H_
#define TESSERA_ATLAS_PAGE_H_

#include <string_view>

namespace tessera::atlas {

// With places like @DATA@ that AtlasHtml fills.
std::string_view PageTemplate();
std::string_view PageStyle();
// All scripts, as one function.
std::string_view PageScript();

}  // namespace tessera::atlas

#endif  // TESSERA_ATLAS_PAGE_H_
