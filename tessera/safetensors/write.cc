#include "tessera/safetensors/write.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/pack_bits.h"
#include "tessera/safetensors/runs.h"

namespace tessera::safetensors {
namespace {

bool IsPacked(DType dtype) { return InfoOf(dtype).bits < 8; }

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

// The most stored bytes of a piece that fits the room, with its elements where they are packed.
uint64_t MostStored(uint64_t room_bytes, DType dtype) {
  const auto bits = static_cast<uint64_t>(InfoOf(dtype).bits);
  return IsPacked(dtype) ? room_bytes * bits / (bits + 8) : room_bytes;
}

// Writes one run of a tensor.
class RunWriter {
 public:
  RunWriter(store::KvStore& store, std::string_view key, uint64_t tensor_begin,
            const Tensor& tensor, Buffer& room, const std::stop_token& stop)
      : store_(store),
        key_(key),
        begin_(tensor_begin),
        tensor_(tensor),
        room_(room),
        most_(MostStored(std::max(room.size(), kPieceBytes), tensor.dtype)),
        stop_(stop) {}

  absl::Status Write(const Box& run, const ConstStridedView& elements) {
    if (!IsPacked(tensor_.dtype) && IsDense(elements)) {
      const ByteSpan bytes = SpanOf(run, tensor_.shape, tensor_.dtype);
      return store_.WriteAt(key_, begin_ + bytes.begin, {elements.data, bytes.size()}, stop_);
    }
    // A run is an array of its own, and its blocks are what fits the room.
    const Dims piece_shape = BlockShape(run.shape(), tensor_.dtype, most_);
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells,
                             CellRange::Of(Box::Whole(run.shape()), piece_shape));
    for (int64_t i = 0; i < cells.size(); ++i) {
      const Box piece = CellBox(cells.at(i), piece_shape, run.shape());
      TESSERA_RETURN_IF_ERROR(WritePiece(run, piece, SubView(elements, piece)));
    }
    return absl::OkStatus();
  }

 private:
  // `piece` counts from the first element of the run.
  absl::Status WritePiece(const Box& run, const Box& piece, const ConstStridedView& elements) {
    TESSERA_ASSIGN_OR_RETURN(const Box box, Translate(piece, run.origin()));
    const ByteSpan bytes = SpanOf(box, tensor_.shape, tensor_.dtype);
    TESSERA_ASSIGN_OR_RETURN(const auto stored,
                             Stored(elements, tensor_.dtype, bytes.size(), room_));
    return store_.WriteAt(key_, begin_ + bytes.begin, stored, stop_);
  }

  store::KvStore& store_;
  const std::string_view key_;
  const uint64_t begin_;
  const Tensor& tensor_;
  Buffer& room_;
  const uint64_t most_;
  const std::stop_token& stop_;
};

}  // namespace

absl::Status StartFile(store::KvStore& store, std::string_view key, const PlannedFile& file,
                       std::stop_token stop) {
  TESSERA_RETURN_IF_ERROR(store.Reserve(key, file.size, stop));
  return store.WriteAt(key, 0, std::as_bytes(std::span(file.header_bytes)), std::move(stop));
}

absl::Status WriteBox(store::KvStore& store, std::string_view key, const PlannedFile& file,
                      const Tensor& tensor, const Box& box, const ConstStridedView& elements,
                      Buffer& room, std::stop_token stop) {
  if (elements.shape != box.shape() || elements.element_bytes != DTypeBytes(tensor.dtype)) {
    return InvalidArgument(store.Describe(key), ": elements of shape ", ShapeText(elements.shape),
                           " and ", elements.element_bytes, " bytes for ", box.Text(), " of a ",
                           DTypeName(tensor.dtype), " tensor");
  }
  RunWriter writer(store, key, file.data_begin() + tensor.begin, tensor, room, stop);
  return ForEachRun(box, tensor.shape, [&](const Box& run) {
    return writer.Write(run, SubView(elements, RelativeTo(run, box.origin())));
  });
}

}  // namespace tessera::safetensors
