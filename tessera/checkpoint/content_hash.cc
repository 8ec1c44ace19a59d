#include "tessera/checkpoint/content_hash.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "tessera/checkpoint/load_array.h"
#include "tessera/core/box.h"
#include "tessera/core/sha256.h"
#include "tessera/core/status.h"
#include "tessera/core/strided.h"

namespace tessera::checkpoint {
namespace {

// Rows of the array that are read at once.
int64_t RowsAtOnce(const Dims& chunk_shape, int64_t row_bytes, int64_t most_bytes) {
  const int64_t rows = std::max<int64_t>(1, most_bytes / std::max<int64_t>(1, row_bytes));
  const int64_t of_chunk = std::max<int64_t>(1, chunk_shape[0]);
  return rows < of_chunk ? rows : rows / of_chunk * of_chunk;
}

}  // namespace

absl::StatusOr<std::string> HashContent(const Checkpoint& checkpoint, const CheckpointArray& array,
                                        IoContext& io, const HashOptions& options,
                                        std::stop_token stop) {
  // What is there is hashed: whether it was meant to be there, the hash tells.
  TESSERA_ASSIGN_OR_RETURN(
      const ArrayReader stored,
      ArrayReader::Make(checkpoint, array, {.verify = false, .absent = AbsentChunks::kFill}));
  const ShapeDtype about = array.shape_dtype();
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(about.dtype, about.shape));
  Sha256 hash;
  if (bytes == 0) return HexText(hash.Finish());
  const int64_t rows = about.shape.empty() ? 1 : about.shape[0];
  const int64_t row_bytes = bytes / rows;
  const int64_t most = options.room_bytes > 0 ? options.room_bytes : io.budget().limit() / 4;
  const int64_t step = about.shape.empty() ? 1 : RowsAtOnce(array.chunk_shape(), row_bytes, most);
  std::vector<std::byte> room(static_cast<size_t>(std::min(step, rows) * row_bytes));
  for (int64_t row = 0; row < rows; row += step) {
    Dims shape = about.shape, origin(about.shape.size(), 0);
    if (!shape.empty()) {
      shape[0] = std::min(step, rows - row);
      origin[0] = row;
    }
    TESSERA_ASSIGN_OR_RETURN(const Box box, Box::Make(origin, shape));
    TESSERA_RETURN_IF_ERROR(
        stored.ReadBox(box, RowMajorView(room.data(), shape, DTypeBytes(about.dtype)), io, stop));
    const int64_t now = (about.shape.empty() ? 1 : shape[0]) * row_bytes;
    hash.Update(std::span(room).first(static_cast<size_t>(now)));
    if (options.progress) options.progress(now);
  }
  return HexText(hash.Finish());
}

int64_t RoomToHashOnce(const CheckpointArray& array) {
  Dims shape = array.shape();
  if (!shape.empty()) shape[0] = std::min(shape[0], array.chunk_shape()[0]);
  return NumBytes(array.dtype(), shape).value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace tessera::checkpoint
