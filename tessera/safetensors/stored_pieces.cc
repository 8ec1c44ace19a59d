#include "tessera/safetensors/stored_pieces.h"

#include <algorithm>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/pack_bits.h"

namespace tessera::safetensors {
namespace {

bool IsPacked(DType dtype) { return InfoOf(dtype).bits < 8; }

// The most stored bytes of a piece that fits the room, with its elements where they are packed.
uint64_t MostStored(uint64_t room_bytes, DType dtype) {
  const auto bits = static_cast<uint64_t>(InfoOf(dtype).bits);
  return IsPacked(dtype) ? room_bytes * bits / (bits + 8) : room_bytes;
}

// As the file has them, in `room`.
absl::StatusOr<std::span<const std::byte>> Stored(const ConstStridedView& elements, DType dtype,
                                                  size_t stored_bytes, Buffer& room) {
  const auto count = static_cast<size_t>(*NumElements(elements.shape));
  const size_t dense_bytes = count * static_cast<size_t>(elements.element_bytes);
  const bool packed = IsPacked(dtype);
  const std::span<std::byte> all = room.Resize(dense_bytes + (packed ? stored_bytes : 0));
  const std::span<std::byte> dense = all.first(dense_bytes);
  TESSERA_RETURN_IF_ERROR(
      CopyStrided(elements, RowMajorView(dense.data(), elements.shape, elements.element_bytes)));
  if (!packed) return dense;
  PackBits(dense, InfoOf(dtype).bits, all.subspan(dense_bytes));
  return all.subspan(dense_bytes);
}

}  // namespace

absl::Status ForEachStoredPiece(const ConstStridedView& elements, DType dtype, Buffer& room,
                                TakePiece take) {
  const Box whole = Box::Whole(elements.shape);
  if (whole.empty()) return absl::OkStatus();
  if (!IsPacked(dtype) && IsDense(elements)) {
    return take(0, {elements.data, SpanOf(whole, elements.shape, dtype).size()});
  }
  // What fits the room is to the elements what blocks are to a tensor.
  const Dims piece_shape =
      BlockShape(elements.shape, dtype, MostStored(std::max(room.size(), kPieceBytes), dtype));
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(whole, piece_shape));
  for (int64_t i = 0; i < cells.size(); ++i) {
    const Box piece = CellBox(cells.at(i), piece_shape, elements.shape);
    const ByteSpan bytes = SpanOf(piece, elements.shape, dtype);
    TESSERA_ASSIGN_OR_RETURN(const auto stored,
                             Stored(SubView(elements, piece), dtype, bytes.size(), room));
    TESSERA_RETURN_IF_ERROR(take(bytes.begin, stored));
  }
  return absl::OkStatus();
}

}  // namespace tessera::safetensors
