// The sharding atlas: what a load would do, as one HTML file that a browser draws.
//
// The file needs no network and may not use it: script, style and data are inside, and its security
// policy lets the browser run nothing else.
#ifndef TESSERA_ATLAS_ATLAS_H_
#define TESSERA_ATLAS_ATLAS_H_

#include <string>

#include "tessera/checkpoint/open.h"
#include "tessera/explain/explain_load.h"

namespace tessera::atlas {

struct AtlasOptions {
  std::string title;  // above the page and of its window
};

// REQUIRES: `explanation` was made of `checkpoint`.
std::string AtlasHtml(const checkpoint::Checkpoint& checkpoint,
                      const explain::LoadExplanation& explanation, const AtlasOptions& options);

}  // namespace tessera::atlas

#endif  // TESSERA_ATLAS_ATLAS_H_
