#include "tessera/array/to_host.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tessera/array/convert_strided.h"
#include "tessera/array/gather_internal.h"
#include "tessera/array/local_shards.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"
#include "tessera/device/parallel_copy.h"

namespace tessera::array {
namespace {

// One replica of each box that is here.
std::vector<const Shard*> DistinctShards(const ShardedArray& array) {
  std::vector<const Shard*> distinct;
  absl::flat_hash_set<Box> seen;
  for (const Shard& shard : array.shards()) {
    if (seen.insert(shard.box).second) distinct.push_back(&shard);
  }
  return distinct;
}

absl::Status Named(const absl::Status& status, const Shard& shard) {
  if (status.ok()) return status;
  return Prefixed(status, ShardForMessage({shard.device, shard.box, shard.replica_id}));
}

// A shard and the device that its buffer lies on.
struct Source {
  const Shard* shard = nullptr;
  device::Device* device = nullptr;
};

absl::StatusOr<std::vector<Source>> FindSources(const ShardedArray& array,
                                                const device::Platform& platform) {
  std::vector<Source> sources;
  for (const Shard* shard : DistinctShards(array)) {
    device::Device* const device = platform.Find(shard->device.id);
    if (device == nullptr) {
      return NotFound("device ", shard->device.id, " of the array is none of this platform");
    }
    sources.push_back({shard, device});
  }
  return sources;
}

// Waits for every copy, as all of them write to the target.
absl::Status CopyAll(std::span<const Source> sources, DType dtype, const StridedView& target,
                     device::TargetMemory memory) {
  std::vector<device::BoxCopy> on_host;
  std::vector<device::Event> events(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    const Shard& shard = *sources[i].shard;
    const StridedView part = SubView(target, shard.box);
    if (shard.buffer.placement().host_visible) {
      on_host.push_back({shard.box, shard.View(dtype), part});
    } else {
      events[i] = sources[i].device->copies().CopyToHost(shard.View(dtype), part);
    }
  }
  absl::Status first = device::CopyBoxes(on_host, memory);
  for (size_t i = 0; i < sources.size(); ++i) {
    first.Update(Named(events[i].Wait(), *sources[i].shard));
  }
  return first;
}

// What the host cannot look at is brought to staging memory first.
absl::Status ConvertOne(const Source& source, DType from, DType to, const StridedView& target) {
  const Shard& shard = *source.shard;
  ConstStridedView view = shard.View(from);
  device::WritableBuffer staging;
  if (!shard.buffer.placement().host_visible) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(from, shard.box.shape()));
    TESSERA_ASSIGN_OR_RETURN(staging, source.device->AllocateStaging(bytes));
    const StridedView staged = RowMajorView(staging.data(), shard.box.shape(), DTypeBytes(from));
    TESSERA_RETURN_IF_ERROR(source.device->copies().CopyToHost(view, staged).Wait());
    view = AsConst(staged);
  }
  return ConvertStrided(from, view, to, SubView(target, shard.box));
}

}  // namespace

bool IsWholeHere(const ShardedArray& array) {
  // The boxes of a sharding do not overlap, so counting tells whether any is missing.
  int64_t here = 0;
  for (const Shard* shard : DistinctShards(array)) here += *shard->box.num_elements();
  return here == *NumElements(array.shape());
}

absl::Status GatherLocal(const ShardedArray& array, const device::Platform& platform, DType dtype,
                         const StridedView& target, device::TargetMemory memory) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Source> sources, FindSources(array, platform));
  if (dtype == array.dtype()) return CopyAll(sources, dtype, target, memory);
  for (const Source& source : sources) {
    TESSERA_RETURN_IF_ERROR(Named(ConvertOne(source, array.dtype(), dtype, target), *source.shard));
  }
  return absl::OkStatus();
}

absl::Status CheckWholeHere(const ShardedArray& array) {
  if (IsWholeHere(array)) return absl::OkStatus();
  return FailedPrecondition("an array on ", mesh::ShardingText(array.sharding()),
                            " has shards in other processes; gather it over its ranks");
}

absl::Status GatherInto(const ShardedArray& array, const device::Platform& platform, DType dtype,
                        const StridedView& target) {
  TESSERA_RETURN_IF_ERROR(CheckElements(AsConst(target), dtype));
  if (target.shape != array.shape()) {
    return InvalidArgument("an array of shape ", ShapeText(array.shape()),
                           " cannot be gathered into one of shape ", ShapeText(target.shape));
  }
  TESSERA_RETURN_IF_ERROR(CheckWholeHere(array));
  return GatherLocal(array, platform, dtype, target, device::TargetMemory::kTouched);
}

absl::StatusOr<DType> HostDType(DType dtype, const ToHostOptions& options) {
  if (!options.float_dtype.has_value()) return dtype;
  if (!IsFloat(*options.float_dtype)) {
    return InvalidArgument("to_host: the float dtype is ", DTypeName(*options.float_dtype),
                           "; expected a floating dtype");
  }
  return IsFloat(dtype) ? *options.float_dtype : dtype;
}

absl::StatusOr<HostTarget> AllocateTarget(const ShapeDtype& array, const device::Platform& platform,
                                          bool pinned) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype, array.shape));
  const auto target = [&](std::byte* data, std::shared_ptr<const void> owner) -> HostTarget {
    return {std::move(owner), RowMajorView(data, array.shape, DTypeBytes(array.dtype)),
            array.dtype};
  };
  if (pinned && !platform.devices().empty()) {
    TESSERA_ASSIGN_OR_RETURN(auto buffer, platform.devices()[0]->AllocateStaging(bytes));
    std::byte* const data = buffer.data();
    return target(data, std::make_shared<const device::DeviceBuffer>(std::move(buffer).Publish()));
  }
  auto memory = AllocateHostMemory(bytes);
  if (bytes > 0 && memory == nullptr) {
    return ResourceExhausted("the system has no ", bytes, " bytes for a host array");
  }
  std::byte* const data = memory.get();
  return target(data, std::move(memory));
}

absl::StatusOr<HostArray> Finish(HostTarget target) {
  return HostArray::Borrow(AsConst(target.view), target.dtype, std::move(target.owner));
}

absl::StatusOr<HostArray> ToHost(const ShardedArray& array, const device::Platform& platform,
                                 const ToHostOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const DType dtype, HostDType(array.dtype(), options));
  if (options.share && dtype == array.dtype()) {
    for (const Shard& shard : array.shards()) {
      const bool whole = shard.box == Box::Whole(array.shape());
      if (!whole || !shard.buffer.placement().host_visible) continue;
      return HostArray::Borrow(shard.View(dtype), dtype, shard.buffer.owner());
    }
  }
  TESSERA_ASSIGN_OR_RETURN(HostTarget target,
                           AllocateTarget({array.shape(), dtype}, platform, options.cpu_offload));
  TESSERA_RETURN_IF_ERROR(GatherInto(array, platform, dtype, target.view));
  return Finish(std::move(target));
}

absl::StatusOr<HostArray> ToHost(const HostArray& array, const ToHostOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const DType dtype, HostDType(array.dtype(), options));
  if (dtype == array.dtype()) return array;
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(dtype, array.shape()));
  auto memory = AllocateHostMemory(bytes);
  if (bytes > 0 && memory == nullptr) {
    return ResourceExhausted("the system has no ", bytes, " bytes for a host array");
  }
  const StridedView target = RowMajorView(memory.get(), array.shape(), DTypeBytes(dtype));
  TESSERA_RETURN_IF_ERROR(ConvertStrided(array.dtype(), array.view(), dtype, target));
  return HostArray::Borrow(AsConst(target), dtype, std::move(memory));
}

}  // namespace tessera::array
