// ShardedArray::FromHost.
#include <utility>

#include "tessera/array/host_array.h"
#include "tessera/array/local_shards.h"
#include "tessera/array/sharded_array.h"
#include "tessera/core/status.h"
#include "tessera/device/parallel_copy.h"

namespace tessera::array {
namespace {

// A shard on its way: a view of the host's memory, or memory of its own that is to be filled.
struct HostSlot {
  LocalShard local;
  ConstStridedView source;
  device::DeviceBuffer view;
  device::WritableBuffer fresh;
  device::Event copied;
  bool borrowed = false;
};

absl::Status Prepare(HostSlot& slot, DType dtype, const FromHostOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const device::Placement placement,
                           slot.local.device->PlacementOf(slot.local.kind));
  slot.borrowed = options.owner != nullptr && placement.host_visible && IsDense(slot.source);
  if (slot.borrowed) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(dtype, slot.source.shape));
    slot.view = device::DeviceBuffer::Borrow(
        placement, {slot.source.data, static_cast<size_t>(bytes)}, options.owner);
    return absl::OkStatus();
  }
  TESSERA_ASSIGN_OR_RETURN(slot.fresh, AllocateShard(slot.local, dtype));
  return absl::OkStatus();
}

StridedView TargetOf(const HostSlot& slot) {
  return RowMajorView(slot.fresh.data(), slot.source.shape, slot.source.element_bytes);
}

// Waits for every copy, as all of them write to memory of the slots.
absl::Status CopyAll(std::vector<HostSlot>& slots) {
  std::vector<device::BoxCopy> on_host;
  for (HostSlot& slot : slots) {
    if (slot.borrowed) continue;
    if (slot.fresh.placement().host_visible) {
      on_host.push_back({slot.local.placed.box, slot.source, TargetOf(slot)});
    } else {
      slot.copied = slot.local.device->copies().CopyToDevice(slot.source, TargetOf(slot));
    }
  }
  absl::Status first = device::CopyBoxes(on_host, device::TargetMemory::kFresh);
  for (const HostSlot& slot : slots) {
    const absl::Status status = slot.copied.Wait();
    if (!status.ok()) first.Update(Prefixed(status, ShardForMessage(slot.local.placed)));
  }
  return first;
}

Shard Finish(HostSlot slot) {
  mesh::DeviceShard& placed = slot.local.placed;
  Dims strides = RowMajorStrides(placed.box.shape(), slot.source.element_bytes);
  return {placed.device, std::move(placed.box), placed.replica_id,
          slot.borrowed ? std::move(slot.view) : std::move(slot.fresh).Publish(),
          std::move(strides)};
}

}  // namespace

absl::StatusOr<ShardedArray> ShardedArray::FromHost(const ConstStridedView& whole, DType dtype,
                                                    const mesh::Sharding& sharding,
                                                    device::Platform& platform,
                                                    const FromHostOptions& options) {
  TESSERA_RETURN_IF_ERROR(CheckElements(whole, dtype));
  TESSERA_ASSIGN_OR_RETURN(std::vector<LocalShard> local,
                           FindLocalShards(sharding, whole.shape, platform));
  std::vector<HostSlot> slots(local.size());
  for (size_t i = 0; i < local.size(); ++i) {
    slots[i].source = SubView(whole, local[i].placed.box);
    slots[i].local = std::move(local[i]);
    TESSERA_RETURN_IF_ERROR(Prepare(slots[i], dtype, options));
  }
  TESSERA_RETURN_IF_ERROR(CopyAll(slots));
  std::vector<Shard> shards;
  shards.reserve(slots.size());
  for (HostSlot& slot : slots) shards.push_back(Finish(std::move(slot)));
  return ShardedArray({whole.shape, dtype}, sharding, std::move(shards));
}

}  // namespace tessera::array
