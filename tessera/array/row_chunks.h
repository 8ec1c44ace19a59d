// Sizes of arrays, and how one is cut along its first dimension to fit a limit.
#ifndef TESSERA_ARRAY_ROW_CHUNKS_H_
#define TESSERA_ARRAY_ROW_CHUNKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"

namespace tessera::array {

// How elements under a byte are counted.
enum class ElementStorage {
  kPacked,  // next to each other: five int4 take three bytes
  kPadded,  // a whole byte each, as in memory and in zarr
};

// Bytes of an array from shape and dtype alone.
absl::StatusOr<int64_t> EstimateArrayNbytes(const ShapeDtype& array,
                                            ElementStorage storage = ElementStorage::kPacked);

// Rows [begin, begin + rows) of the first dimension.
struct RowChunk {
  int64_t begin = 0;
  int64_t rows = 0;
  bool over_limit = false;  // a single row, or a whole array without rows to cut
  friend bool operator==(const RowChunk&, const RowChunk&) = default;
};

// Cuts an array into as few runs of rows as fit `max_bytes` each; run lengths differ by at most
// one, longer ones first.  What fits whole, has rank 0 or no rows is one chunk.  InvalidArgument
// unless max_bytes > 0.
absl::StatusOr<std::vector<RowChunk>> ChunkTensorByMemory(const ShapeDtype& array,
                                                          int64_t max_bytes);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_ROW_CHUNKS_H_
