#include "tessera/checkpoint/load_shards.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "tessera/array/convert_strided.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

// What is converted on the way to a device that the host cannot write to goes through so much
// memory at a time; little enough to need no place in the budget.
constexpr int64_t kStagingBytes = 256 << 10;

// Less is copied faster by one thread than by several.
constexpr int64_t kManyBytes = 4 << 20;

// Calls `body` with boxes of at most `most` elements that together are `box`, each cut along the
// outermost dimensions.
absl::Status ForEachSlab(const Box& box, int64_t most,
                         absl::FunctionRef<absl::Status(const Box&)> body) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t elements, box.num_elements());
  if (elements == 0) return absl::OkStatus();
  if (elements <= most) return body(box);
  int d = 0;
  while (box.shape()[d] == 1) ++d;
  const int64_t row = elements / box.shape()[d];
  const int64_t step = std::max<int64_t>(1, most / row);
  for (int64_t i = 0; i < box.shape()[d]; i += step) {
    Dims origin = box.origin();
    Dims shape = box.shape();
    origin[d] += i;
    shape[d] = std::min(step, box.shape()[d] - i);
    TESSERA_ASSIGN_OR_RETURN(const Box slab, Box::Make(origin, shape));
    TESSERA_RETURN_IF_ERROR(ForEachSlab(slab, most, body));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShardTargets>> ShardTargets::Make(
    const ShapeDtype& stored, DType dtype, const mesh::Sharding& sharding,
    device::Platform& platform, Replicas replicas, device::BufferBlocks* blocks) {
  std::unique_ptr<ShardTargets> targets(
      new ShardTargets(stored, dtype, sharding, platform, replicas));
  TESSERA_RETURN_IF_ERROR(targets->Allocate(blocks));
  return targets;
}

absl::Status ShardTargets::Allocate(device::BufferBlocks* blocks) {
  TESSERA_RETURN_IF_ERROR(NumBytes(dtype_, stored_.shape));
  TESSERA_ASSIGN_OR_RETURN(std::vector<array::LocalShard> local,
                           array::FindLocalShards(sharding_, stored_.shape, platform_));
  slots_.resize(local.size());
  absl::flat_hash_map<Box, size_t> first_of_box;
  for (size_t i = 0; i < local.size(); ++i) {
    const auto [known, is_new] = first_of_box.try_emplace(local[i].placed.box, i);
    slots_[i].first = known->second;
    if (is_new) {
      boxes_.push_back(local[i].placed.box);
      firsts_.push_back(i);
    }
    const bool host_visible = slots_[known->second].buffer.placement().host_visible;
    slots_[i].shares = !is_new && replicas_ == Replicas::kShare && host_visible;
    if (!slots_[i].shares) {
      TESSERA_ASSIGN_OR_RETURN(slots_[i].buffer, array::AllocateShard(local[i], dtype_, blocks));
    }
    bytes_ += slots_[i].buffer.size();
    slots_[i].local = std::move(local[i]);
  }
  return absl::OkStatus();
}

StridedView ShardTargets::ViewOf(const Slot& slot) const {
  return RowMajorView(slot.buffer.data(), slot.local.placed.box.shape(), DTypeBytes(dtype_));
}

std::optional<StridedView> ShardTargets::MemoryFor(const Box& box) {
  if (dtype_ != stored_.dtype) return std::nullopt;
  for (size_t i = 0; i < boxes_.size(); ++i) {
    if (Intersect(boxes_[i], box).empty()) continue;
    // The boxes are blocks of a grid: one that holds all of it is the only one that meets it.
    const Slot& slot = slots_[firsts_[i]];
    if (!Contains(boxes_[i], box) || !slot.buffer.placement().host_visible) return std::nullopt;
    return SubView(ViewOf(slot), RelativeTo(box, boxes_[i].origin()));
  }
  return std::nullopt;
}

absl::Status ShardTargets::Put(const Box& box, const ConstStridedView& elements) {
  for (size_t i = 0; i < boxes_.size(); ++i) {
    const Box part = Intersect(boxes_[i], box);
    if (part.empty()) continue;
    TESSERA_RETURN_IF_ERROR(
        PutInto(slots_[firsts_[i]], part, SubView(elements, RelativeTo(part, box.origin()))));
  }
  return absl::OkStatus();
}

absl::Status ShardTargets::PutInto(const Slot& slot, const Box& part,
                                   const ConstStridedView& elements) {
  const StridedView target =
      SubView(ViewOf(slot), RelativeTo(part, slot.local.placed.box.origin()));
  const bool host_visible = slot.buffer.placement().host_visible;
  if (dtype_ != stored_.dtype) {
    if (!host_visible) return PutConverted(slot, elements, target);
    return array::ConvertStrided(stored_.dtype, elements, dtype_, target);
  }
  if (host_visible) return CopyStrided(elements, target);
  return slot.local.device->copies().CopyToDevice(elements, target).Wait();
}

absl::Status ShardTargets::PutConverted(const Slot& slot, const ConstStridedView& elements,
                                        const StridedView& target) {
  const int64_t bytes = DTypeBytes(dtype_);
  std::vector<std::byte> staging;
  return ForEachSlab(Box::Whole(elements.shape), std::max<int64_t>(1, kStagingBytes / bytes),
                     [&](const Box& slab) -> absl::Status {
                       TESSERA_ASSIGN_OR_RETURN(const int64_t count, slab.num_elements());
                       staging.resize(static_cast<size_t>(count * bytes));
                       const StridedView staged = RowMajorView(staging.data(), slab.shape(), bytes);
                       TESSERA_RETURN_IF_ERROR(array::ConvertStrided(
                           stored_.dtype, SubView(elements, slab), dtype_, staged));
                       return slot.local.device->copies()
                           .CopyToDevice(AsConst(staged), SubView(target, slab))
                           .Wait();
                     });
}

absl::Status ShardTargets::CopyReplicas() {
  std::vector<device::Event> copies(slots_.size());
  const auto copy = [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const Slot& source = slots_[slots_[i].first];
      if (slots_[i].first == i || slots_[i].shares) continue;
      copies[i] = slots_[i].local.device->copies().CopyBetween(
          AsConst(ViewOf(source)), source.local.device->id(), ViewOf(slots_[i]));
    }
  };
  const auto count = static_cast<int64_t>(slots_.size());
  if (boxes_.size() == slots_.size()) return absl::OkStatus();
  if (bytes_ < kManyBytes) {
    copy(0, count);
  } else {
    ParallelFor(count, 1, copy);
  }
  return device::WaitForAll(copies);
}

std::vector<array::Piece> ShardTargets::Publish() {
  std::vector<array::Piece> pieces;
  pieces.reserve(slots_.size());
  for (Slot& slot : slots_) {
    const int64_t id = slot.local.placed.device.id;
    device::DeviceBuffer buffer = std::move(slot.buffer).Publish();
    if (slot.shares) {
      // The first of a box stands before those that share its memory.
      const device::DeviceBuffer& first = pieces[slot.first].buffer;
      device::Placement placement = first.placement();
      placement.device_id = id;
      buffer = device::DeviceBuffer::Borrow(
          placement, {first.data(), static_cast<size_t>(first.size())}, first.owner());
    }
    pieces.push_back({id, {slot.local.placed.box.shape(), dtype_}, std::move(buffer)});
  }
  return pieces;
}

absl::StatusOr<array::ShardedArray> ShardTargets::Finish() {
  TESSERA_RETURN_IF_ERROR(CopyReplicas());
  return array::ShardedArray::FromPieces({stored_.shape, dtype_}, sharding_, platform_, Publish());
}

}  // namespace tessera::checkpoint
