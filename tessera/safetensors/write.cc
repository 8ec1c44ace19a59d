#include "tessera/safetensors/write.h"

#include <span>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/runs.h"
#include "tessera/safetensors/stored_pieces.h"

namespace tessera::safetensors {

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
  return ForEachRun(box, tensor.shape, [&](const Box& run) {
    const uint64_t begin =
        file.data_begin() + tensor.begin + SpanOf(run, tensor.shape, tensor.dtype).begin;
    return ForEachStoredPiece(SubView(elements, RelativeTo(run, box.origin())), tensor.dtype, room,
                              [&](uint64_t offset, std::span<const std::byte> piece) {
                                return store.WriteAt(key, begin + offset, piece, stop);
                              });
  });
}

}  // namespace tessera::safetensors
