// ShardedArray::FromCallback.
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/array/local_shards.h"
#include "tessera/array/sharded_array.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/core/task_group.h"

namespace tessera::array {
namespace {

// A shard on its way.  The first of each box is filled, the others copy it.
struct Slot {
  LocalShard local;
  device::WritableBuffer buffer;
  size_t first = 0;  // the slot that this box is filled in
  device::Event copied;
};

StridedView ViewOf(const Slot& slot, DType dtype) {
  return RowMajorView(slot.buffer.data(), slot.local.placed.box.shape(), DTypeBytes(dtype));
}

absl::StatusOr<std::vector<Slot>> MakeSlots(std::vector<LocalShard> local, DType dtype) {
  std::vector<Slot> slots(local.size());
  absl::flat_hash_map<Box, size_t> first_of_box;
  for (size_t i = 0; i < local.size(); ++i) {
    slots[i].first = first_of_box.try_emplace(local[i].placed.box, i).first->second;
    TESSERA_ASSIGN_OR_RETURN(slots[i].buffer, AllocateShard(local[i], dtype));
    slots[i].local = std::move(local[i]);
  }
  return slots;
}

// Straight into the device's memory where the host can reach it, else by way of staging memory.
absl::Status FillSlot(const Slot& slot, DType dtype, const ShardedArray::FillBox& fill) {
  const StridedView target = ViewOf(slot, dtype);
  const Box& box = slot.local.placed.box;
  if (slot.buffer.placement().host_visible) return fill(box, target);
  TESSERA_ASSIGN_OR_RETURN(const device::WritableBuffer staging,
                           slot.local.device->AllocateStaging(slot.buffer.size()));
  StridedView staged = target;
  staged.data = staging.data();
  TESSERA_RETURN_IF_ERROR(fill(box, staged));
  return slot.local.device->copies().CopyToDevice(AsConst(staged), target).Wait();
}

absl::Status FillNamed(const Slot& slot, DType dtype, const ShardedArray::FillBox& fill) {
  const absl::Status status = FillSlot(slot, dtype, fill);
  return status.ok() ? status : Prefixed(status, ShardForMessage(slot.local.placed));
}

absl::Status FillAll(const std::vector<Slot>& slots, DType dtype, const ShardedArray::FillBox& fill,
                     ThreadPool* pool) {
  if (pool == nullptr) {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].first == i) TESSERA_RETURN_IF_ERROR(FillNamed(slots[i], dtype, fill));
    }
    return absl::OkStatus();
  }
  TaskGroup group(*pool);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].first != i) continue;
    group.Run([&, i](std::stop_token) { return FillNamed(slots[i], dtype, fill); });
  }
  return group.Join();
}

absl::Status CopyReplicas(std::vector<Slot>& slots, DType dtype) {
  ParallelFor(static_cast<int64_t>(slots.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const Slot& source = slots[slots[i].first];
      if (slots[i].first == i) continue;
      slots[i].copied = slots[i].local.device->copies().CopyBetween(
          AsConst(ViewOf(source, dtype)), source.local.device->id(), ViewOf(slots[i], dtype));
    }
  });
  absl::Status first;
  for (const Slot& slot : slots) {
    const absl::Status status = slot.copied.Wait();
    if (!status.ok()) first.Update(Prefixed(status, ShardForMessage(slot.local.placed)));
  }
  return first;
}

}  // namespace

absl::StatusOr<ShardedArray> ShardedArray::FromCallback(const ShapeDtype& array,
                                                        const mesh::Sharding& sharding,
                                                        device::Platform& platform,
                                                        const FillBox& fill,
                                                        const FromCallbackOptions& options) {
  TESSERA_RETURN_IF_ERROR(NumBytes(array.dtype, array.shape));
  TESSERA_ASSIGN_OR_RETURN(std::vector<LocalShard> local,
                           FindLocalShards(sharding, array.shape, platform));
  TESSERA_ASSIGN_OR_RETURN(std::vector<Slot> slots, MakeSlots(std::move(local), array.dtype));
  TESSERA_RETURN_IF_ERROR(FillAll(slots, array.dtype, fill, options.pool));
  TESSERA_RETURN_IF_ERROR(CopyReplicas(slots, array.dtype));
  std::vector<Shard> shards;
  shards.reserve(slots.size());
  for (Slot& slot : slots) {
    mesh::DeviceShard& placed = slot.local.placed;
    Dims strides = RowMajorStrides(placed.box.shape(), DTypeBytes(array.dtype));
    shards.push_back({placed.device, std::move(placed.box), placed.replica_id,
                      std::move(slot.buffer).Publish(), std::move(strides)});
  }
  return ShardedArray(array, sharding, std::move(shards));
}

}  // namespace tessera::array
