#include <utility>

#include "tessera/convert/target_writer.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/write.h"

namespace tessera::convert {
namespace {

class SafetensorsWriter final : public TargetWriter {
 public:
  SafetensorsWriter(const ConvertPlan& plan, store::KvStore& store) : plan_(plan), store_(store) {}

  absl::Status Prepare(IoContext& /*io*/, std::stop_token stop) override {
    for (const safetensors::PlannedFile& file : plan_.set->files) {
      TESSERA_RETURN_IF_ERROR(safetensors::StartFile(store_, file.name, file, stop));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<StoredChunks> Write(size_t array, const Box& box, const ConstStridedView& elements,
                                     Buffer& room, IoContext& /*io*/,
                                     std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(safetensors::WriteBox(store_, FileOf(array).name, FileOf(array),
                                                  TensorOf(array), box, elements, room,
                                                  std::move(stop)));
    return HashBlocks(array, box, elements);
  }

  absl::StatusOr<StoredValue> HashCell(size_t array, int64_t cell, std::span<std::byte> room,
                                       std::stop_token stop) override {
    const safetensors::Tensor& tensor = TensorOf(array);
    const Dims& block = plan_.arrays[array].target_cell;
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(Box::Whole(tensor.shape), block));
    const safetensors::ByteSpan bytes = safetensors::SpanOf(
        CellBox(cells.at(cell), block, tensor.shape), tensor.shape, tensor.dtype);
    Hasher128 hasher;
    const uint64_t begin = FileOf(array).data_begin() + tensor.begin + bytes.begin;
    TESSERA_ASSIGN_OR_RETURN(
        const store::ValueInfo info,
        store_.ReadPieces(
            FileOf(array).name, {.offset = begin, .length = bytes.size()}, room,
            [&](std::span<const std::byte> piece) {
              hasher.Update(piece);
              return absl::OkStatus();
            },
            std::move(stop)));
    if (!info.missing()) return StoredValue{bytes.size(), hasher.Finish()};
    return DataLoss(store_.Describe(FileOf(array).name), ": the file was not written");
  }

 private:
  const safetensors::PlannedFile& FileOf(size_t array) const {
    return plan_.set->files[plan_.arrays[array].place.file];
  }
  const safetensors::Tensor& TensorOf(size_t array) const {
    return FileOf(array).header.tensors[plan_.arrays[array].place.tensor];
  }

  // A block has all of the inner dimensions, so inside of a dense box that covers it, it lies as in
  // the file.
  absl::StatusOr<StoredChunks> HashBlocks(size_t array, const Box& box,
                                          const ConstStridedView& elements) const {
    StoredChunks chunks;
    const safetensors::Tensor& tensor = TensorOf(array);
    const bool dense = elements.strides == RowMajorStrides(elements.shape, elements.element_bytes);
    if (!dense || InfoOf(tensor.dtype).bits < 8) return chunks;
    const Dims& block = plan_.arrays[array].target_cell;
    const Dims grid = GridShape(tensor.shape, block);
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(box, block));
    for (int64_t i = 0; i < cells.size(); ++i) {
      const Dims cell = cells.at(i);
      const Box part = CellBox(cell, block, tensor.shape);
      if (!Contains(box, part)) continue;
      const auto bytes = static_cast<size_t>(*part.num_elements() * elements.element_bytes);
      const std::byte* data = SubView(elements, RelativeTo(part, box.origin())).data;
      chunks.push_back({static_cast<int64_t>(array),
                        CellNumber(cell, grid),
                        {bytes, HashOf(std::span(data, bytes))}});
    }
    return chunks;
  }

  const ConvertPlan& plan_;
  store::KvStore& store_;
};

}  // namespace

std::unique_ptr<TargetWriter> MakeSafetensorsWriter(const ConvertPlan& plan,
                                                    store::KvStore& store) {
  return std::make_unique<SafetensorsWriter>(plan, store);
}

}  // namespace tessera::convert
