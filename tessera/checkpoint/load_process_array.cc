#include "tessera/checkpoint/load_process_array.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/array/to_host.h"
#include "tessera/checkpoint/load_shards.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

bool IsCast(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

// The elements of a shard where host code can look at them.
absl::Status PutShard(const array::ShardedArray& array, const array::Shard& shard,
                      device::Platform& platform, ShardTargets& targets) {
  const ConstStridedView view = shard.View(array.dtype());
  if (shard.buffer.placement().host_visible) return targets.Put(shard.box, view);
  device::Device* const device = platform.Find(shard.device.id);
  if (device == nullptr) return NotFound("device ", shard.device.id, " is not on the platform");
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype(), shard.box.shape()));
  TESSERA_ASSIGN_OR_RETURN(const device::WritableBuffer staging, device->AllocateStaging(bytes));
  const StridedView staged =
      RowMajorView(staging.data(), shard.box.shape(), DTypeBytes(array.dtype()));
  TESSERA_RETURN_IF_ERROR(device->copies().CopyToHost(view, staged).Wait());
  return targets.Put(shard.box, AsConst(staged));
}

absl::StatusOr<array::Value> Cast(const array::ShardedArray& array, DType dtype,
                                  device::Platform& platform) {
  TESSERA_ASSIGN_OR_RETURN(const auto targets, ShardTargets::Make(array.shape_dtype(), dtype,
                                                                  array.sharding(), platform));
  std::vector<Box> done;
  for (const array::Shard& shard : array.shards()) {
    if (std::find(done.begin(), done.end(), shard.box) != done.end()) continue;
    TESSERA_RETURN_IF_ERROR(PutShard(array, shard, platform, *targets));
    done.push_back(shard.box);
  }
  TESSERA_ASSIGN_OR_RETURN(array::ShardedArray cast, targets->Finish());
  return array::Value(std::move(cast));
}

absl::StatusOr<array::Value> CastValue(array::Value value, DType dtype,
                                       device::Platform& platform) {
  if (const auto* sharded = std::get_if<array::ShardedArray>(&value)) {
    if (!IsCast(sharded->dtype()) || sharded->dtype() == dtype) return value;
    return Cast(*sharded, dtype, platform);
  }
  if (const auto* host = std::get_if<array::HostArray>(&value)) {
    if (!IsCast(host->dtype())) return value;
    TESSERA_ASSIGN_OR_RETURN(array::HostArray cast, array::ToHost(*host, {.float_dtype = dtype}));
    return array::Value(std::move(cast));
  }
  return value;
}

absl::StatusOr<ProcessedArray> Process(
    std::string_view key, const std::function<absl::StatusOr<array::Value>(std::string_view)>& read,
    std::optional<DType> dtype, device::Platform& platform,
    const ReadProcessArrayOptions& options) {
  const auto function = options.functions.find(std::string(key));
  const bool mismatch = !options.functions.empty() && function == options.functions.end();
  if (mismatch && !options.mismatch_allowed) return NotFound("no function is given for it");
  TESSERA_ASSIGN_OR_RETURN(array::Value value, read(key));
  if (function != options.functions.end()) {
    TESSERA_ASSIGN_OR_RETURN(value, function->second(std::move(value)));
  }
  if (options.callback != nullptr) {
    TESSERA_ASSIGN_OR_RETURN(value, options.callback(std::move(value), key));
  }
  if (dtype.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(value, CastValue(std::move(value), *dtype, platform));
  }
  return ProcessedArray{std::string(key), std::move(value), mismatch ? 1 : 0};
}

}  // namespace

absl::StatusOr<ProcessedArray> ReadProcessArray(
    std::string_view key, const std::function<absl::StatusOr<array::Value>(std::string_view)>& read,
    device::Platform& platform, const ReadProcessArrayOptions& options) {
  std::optional<DType> dtype;
  if (!options.dtype.empty()) {
    TESSERA_ASSIGN_OR_RETURN(dtype, ParseDTypeAlias(options.dtype));
    if (!IsFloat(*dtype)) {
      return InvalidArgument("dtype: expected a float, found ", DTypeName(*dtype));
    }
  }
  auto processed = Process(key, read, dtype, platform, options);
  if (!processed.ok()) return Prefixed(processed.status(), key);
  return processed;
}

}  // namespace tessera::checkpoint
