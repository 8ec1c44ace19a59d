// Python identifiers, as names of groups.
#ifndef TESSERA_REGEX_PYTHON_IDENTIFIER_H_
#define TESSERA_REGEX_PYTHON_IDENTIFIER_H_

#include <string_view>

namespace tessera::regex {

// Python's str.isidentifier.  Letters beyond ASCII follow the Unicode version of PCRE2.
// REQUIRES: `text` is valid UTF-8.
bool IsPythonIdentifier(std::string_view text);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_IDENTIFIER_H_
