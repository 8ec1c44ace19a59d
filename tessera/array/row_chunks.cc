#include "tessera/array/row_chunks.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera::array {

absl::StatusOr<int64_t> EstimateArrayNbytes(const ShapeDtype& array, ElementStorage storage) {
  return storage == ElementStorage::kPacked ? NumBytesPacked(array.dtype, array.shape)
                                            : NumBytes(array.dtype, array.shape);
}

absl::StatusOr<std::vector<RowChunk>> ChunkTensorByMemory(const ShapeDtype& array,
                                                          int64_t max_bytes) {
  if (max_bytes <= 0) {
    return InvalidArgument("chunk_tensor_by_memory: the limit is ", max_bytes,
                           " bytes; expected more than 0");
  }
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype, array.shape));
  const int64_t rows = array.shape.empty() ? 1 : array.shape[0];
  if (bytes <= max_bytes) return std::vector<RowChunk>{{0, rows, false}};
  const int64_t row_bytes = bytes / rows;
  const int64_t rows_that_fit = std::max<int64_t>(1, max_bytes / row_bytes);
  const int64_t count = (rows + rows_that_fit - 1) / rows_that_fit;
  std::vector<RowChunk> chunks;
  for (int64_t i = 0, begin = 0; i < count; ++i) {
    const int64_t length = rows / count + (i < rows % count ? 1 : 0);
    chunks.push_back({begin, length, row_bytes > max_bytes});
    begin += length;
  }
  return chunks;
}

}  // namespace tessera::array
