// The shape of the chunks that a saved array is cut into.  Pure.
#ifndef TESSERA_CHECKPOINT_CHUNK_SHAPE_H_
#define TESSERA_CHECKPOINT_CHUNK_SHAPE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/core/shape.h"

namespace tessera::checkpoint {

// Why chunks have the shape they have.
enum class ChunkReason {
  kShard,        // one chunk a shard, as JAX does
  kDivided,      // the shard is larger than a chunk may be, and is cut evenly
  kUneven,       // the same, where the last chunk of a dimension is shorter than the others
  kIndivisible,  // the shard is too large, and its sizes have no factor to cut it by
  kBlock,        // what safetensors files are read and hashed by, whatever the shards are
};

// "shard", "divided", "uneven", "indivisible", "block".
std::string_view ChunkReasonName(ChunkReason reason);

struct ChunkChoice {
  Dims shape = {};
  ChunkReason reason = ChunkReason::kShard;
  int64_t bytes = 0;  // of one chunk in memory
  friend bool operator==(const ChunkChoice&, const ChunkChoice&) = default;

  // "[512,1024] (divided, 1048576 bytes)".
  std::string Text() const;
};

// The shard's shape, with 1 for 0, while it has at most `most_bytes`.  A larger one is cut, the
// outermost dimension first, so that chunks stay long runs of memory.  No chunk reaches over the
// border of a shard, since two ranks would then share it: a dimension that is split among shards
// is cut by a factor of the shard's size.  One that is not may end with a shorter chunk.  Chunks of
// much less than `most_bytes` are avoided; where only they would do, as with a shard whose size is
// a large prime, the shard stays as it is.
// REQUIRES: both shapes are valid, of one rank, and each shard size divides the array's.
ChunkChoice ChooseChunkShape(DimsView array_shape, DimsView shard_shape, DType dtype,
                             int64_t most_bytes);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_CHUNK_SHAPE_H_
