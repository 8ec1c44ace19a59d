#include "tessera/checkpoint/save_blocks.h"

#include <algorithm>
#include <tuple>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/pack_bits.h"

namespace tessera::checkpoint {
namespace {

// A part and a block that it has elements of.
struct Meeting {
  std::pair<size_t, size_t> place;  // of the tensor: file, place in it
  int64_t cell = 0;
  const HeldPart* part = nullptr;
};

std::vector<Meeting> MeetingsOf(const SavePlan& plan, const Snapshot& snapshot) {
  std::vector<Meeting> meetings;
  for (const HeldPart& part : snapshot.parts()) {
    const PlannedArray& array = plan.arrays[part.array];
    const zarr::Metadata& metadata = array.metadata;
    const Dims grid = GridShape(metadata.shape, metadata.chunk_shape);
    // The elements of a part fit 63 bits, so its blocks do.
    const CellRange cells = CellRange::Of(array.parts[part.part].box, metadata.chunk_shape).value();
    for (int64_t i = 0; i < cells.size(); ++i) {
      meetings.push_back({plan.set->places[part.array], CellNumber(cells.at(i), grid), &part});
    }
  }
  std::stable_sort(meetings.begin(), meetings.end(), [](const Meeting& a, const Meeting& b) {
    return std::tie(a.place, a.cell) < std::tie(b.place, b.cell);
  });
  return meetings;
}

int64_t ElementBytes(const Box& box, DType dtype) { return *NumBytes(dtype, box.shape()); }

}  // namespace

HeldBlocks::HeldBlocks(const SavePlan& plan, const Snapshot& snapshot) : plan_(plan) {
  const std::vector<Meeting> meetings = MeetingsOf(plan, snapshot);
  parts_.reserve(meetings.size());
  for (const Meeting& meeting : meetings) parts_.push_back(meeting.part);
  for (size_t i = 0; i < meetings.size();) {
    const size_t array = meetings[i].part->array;
    const zarr::Metadata& metadata = plan.arrays[array].metadata;
    const CellRange cells = CellRange::Of(Box::Whole(metadata.shape), metadata.chunk_shape).value();
    HeldBlock block{array, meetings[i].cell};
    block.box = CellBox(cells.at(block.cell), metadata.chunk_shape, metadata.shape);
    const size_t first = i;
    int64_t held = 0;
    for (;
         i < meetings.size() && meetings[i].part->array == array && meetings[i].cell == block.cell;
         ++i) {
      held += ElementBytes(PieceOf(block, *meetings[i].part), metadata.dtype);
    }
    block.parts = std::span<const HeldPart* const>(parts_).subspan(first, i - first);
    block.whole = held == ElementBytes(block.box, metadata.dtype);
    bytes_ += held;
    blocks_.push_back(std::move(block));
  }
}

int64_t HeldBlocks::worker_bytes() const {
  int64_t most = 0;
  for (const HeldBlock& block : blocks_)
    most = std::max(most, plan_.arrays[block.array].chunk.bytes);
  return 2 * most + static_cast<int64_t>(kPieceBytes);
}

Box HeldBlocks::PieceOf(const HeldBlock& block, const HeldPart& part) const {
  return Intersect(block.box, plan_.arrays[part.array].parts[part.part].box);
}

ConstStridedView HeldBlocks::ElementsOf(const HeldBlock& block, const HeldPart& part) const {
  const Box& whole = plan_.arrays[part.array].parts[part.part].box;
  return SubView(part.elements, RelativeTo(PieceOf(block, part), whole.origin()));
}

absl::StatusOr<ConstStridedView> HeldBlocks::Assemble(const HeldBlock& block,
                                                      BlockWorker& worker) const {
  if (block.parts.size() == 1) {
    const ConstStridedView elements = ElementsOf(block, *block.parts.front());
    if (IsDense(elements)) return elements;
  }
  const DType dtype = plan_.arrays[block.array].metadata.dtype;
  const auto memory = worker.elements.Resize(static_cast<size_t>(ElementBytes(block.box, dtype)));
  const StridedView target = RowMajorView(memory.data(), block.box.shape(), DTypeBytes(dtype));
  for (const HeldPart* part : block.parts) {
    const Box within = RelativeTo(PieceOf(block, *part), block.box.origin());
    TESSERA_RETURN_IF_ERROR(CopyStrided(ElementsOf(block, *part), SubView(target, within)));
  }
  return AsConst(target);
}

absl::StatusOr<std::span<const std::byte>> HeldBlocks::Encode(const HeldBlock& block,
                                                              BlockWorker& worker) const {
  const zarr::Metadata& metadata = plan_.arrays[block.array].metadata;
  TESSERA_ASSIGN_OR_RETURN(const ConstStridedView elements, Assemble(block, worker));
  const std::span<const std::byte> dense(
      elements.data, static_cast<size_t>(ElementBytes(block.box, metadata.dtype)));
  const int bits = InfoOf(metadata.dtype).bits;
  if (bits >= 8) return dense;
  const auto span = safetensors::SpanOf(block.box, metadata.shape, metadata.dtype);
  const std::span<std::byte> stored = worker.stored.Resize(span.size());
  safetensors::PackBits(dense, bits, stored);
  return std::span<const std::byte>(stored);
}

}  // namespace tessera::checkpoint
