// One array as a picture for a terminal: the shard grid over the chunk grid.
#ifndef TESSERA_EXPLAIN_DRAW_H_
#define TESSERA_EXPLAIN_DRAW_H_

#include <string>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/checkpoint_array.h"
#include "tessera/checkpoint/plan_load.h"

namespace tessera::explain {

struct DrawOptions {
  int columns = 80;  // lines are no longer, where the names of devices allow it
  bool unicode = true;
  bool colour = false;
};

// A cell for each piece between two borders, with the first device that holds it and how many
// more do; lines tell shard borders on chunk borders, shard borders that cut chunks, and chunk
// borders inside shards.  Of more than two dimensions the two that are split most are drawn, at
// the first block of the others.  Large grids are left out in the middle.  Below it: the chunks
// that each shard needs, and how often a wanted byte is decoded for it.
absl::StatusOr<std::string> DrawArray(const checkpoint::CheckpointArray& array,
                                      const checkpoint::ArrayPlan& plan,
                                      const DrawOptions& options = {});

}  // namespace tessera::explain

#endif  // TESSERA_EXPLAIN_DRAW_H_
