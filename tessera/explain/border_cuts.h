// Where shard and chunk borders cut one dimension.
#ifndef TESSERA_EXPLAIN_BORDER_CUTS_H_
#define TESSERA_EXPLAIN_BORDER_CUTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::explain {

enum class Border {
  kShardAndChunk,  // also the two ends
  kShard,          // it cuts through a chunk
  kChunk,          // inside a shard
};

struct Cut {
  int64_t index = 0;
  Border border = Border::kShardAndChunk;
  friend bool operator==(const Cut&, const Cut&) = default;
};

// Pieces lie between neighbouring cuts; the first cut is 0, the last one `size`.
struct DimensionCuts {
  std::vector<Cut> cuts;
  // The piece after this cut stands for all that were left out; nothing was if it is past the end.
  size_t elided = SIZE_MAX;
  friend bool operator==(const DimensionCuts&, const DimensionCuts&) = default;
};

// At most `most` pieces, however many there are; those of the two ends.  REQUIRES: size > 0,
// shard > 0, chunk > 0, most >= 3.
DimensionCuts CutsOf(int64_t size, int64_t shard, int64_t chunk, size_t most);

}  // namespace tessera::explain

#endif  // TESSERA_EXPLAIN_BORDER_CUTS_H_
