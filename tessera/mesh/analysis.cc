#include "tessera/mesh/analysis.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/mesh/sharding.h"

namespace tessera::mesh {
namespace {

absl::Status AddTo(int64_t& total, int64_t amount) {
  if (!__builtin_add_overflow(total, amount, &total)) return absl::OkStatus();
  return InvalidArgument("the total does not fit 63 bits");
}

// Adds one array to the totals; the bytes that it costs each device.
absl::StatusOr<int64_t> AddArray(const PlannedArray& array, const Mesh& mesh, int64_t& total_bytes,
                                 ShardingAnalysis& analysis) {
  TESSERA_ASSIGN_OR_RETURN(const NamedSharding sharding, NamedSharding::Make(mesh, array.spec));
  TESSERA_ASSIGN_OR_RETURN(const Dims shard_shape, ShardShape(sharding, array.shape));
  TESSERA_ASSIGN_OR_RETURN(const int64_t shard_bytes, NumBytes(array.dtype, shard_shape));
  TESSERA_ASSIGN_OR_RETURN(const int64_t parameters, NumElements(array.shape));
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype, array.shape));
  TESSERA_RETURN_IF_ERROR(AddTo(analysis.total_parameters, parameters));
  TESSERA_RETURN_IF_ERROR(AddTo(total_bytes, bytes));
  if (!IsFullyReplicated(sharding)) analysis.sharded_parameters += parameters;
  SpecUse& use = analysis.partition_stats[array.spec.Text()];
  ++use.arrays;
  use.parameters += parameters;
  use.bytes += bytes;
  return shard_bytes;
}

void ScoreMemory(int64_t total_bytes, ShardingAnalysis& analysis) {
  double sum = 0;
  double most = 0;
  for (const DeviceBytes& device : analysis.memory_per_device) {
    sum += static_cast<double>(device.bytes);
    most = std::max(most, static_cast<double>(device.bytes));
  }
  if (most == 0) return;
  const auto devices = static_cast<double>(analysis.memory_per_device.size());
  analysis.balance_score = sum / (devices * most);
  analysis.efficiency = static_cast<double>(total_bytes) / (devices * most);
}

}  // namespace

absl::StatusOr<ShardingAnalysis> AnalyzeArrays(std::span<const PlannedArray> arrays,
                                               const Mesh& mesh) {
  if (mesh.empty()) {
    return WithKind(FailedPrecondition("analyze_sharding_strategy: the mesh is empty"),
                    ErrorKind::kNoMesh);
  }
  ShardingAnalysis analysis;
  int64_t total_bytes = 0;
  // Shards of one array are all alike, so one sum serves every device of the mesh.
  int64_t device_bytes = 0;
  for (const PlannedArray& array : arrays) {
    const auto shard_bytes = AddArray(array, mesh, total_bytes, analysis);
    if (!shard_bytes.ok()) return Prefixed(shard_bytes.status(), array.key);
    TESSERA_RETURN_IF_ERROR(AddTo(device_bytes, *shard_bytes));
  }
  for (const Device& device : mesh.devices()) {
    analysis.memory_per_device.push_back({device.id, device_bytes});
  }
  ScoreMemory(total_bytes, analysis);
  return analysis;
}

Json ToJson(const ShardingAnalysis& analysis) {
  Json memory = Json::object();
  for (const auto& [device, bytes] : analysis.memory_per_device) {
    memory[std::to_string(device)] = bytes;
  }
  Json stats = Json::object();
  for (const auto& [spec, use] : analysis.partition_stats) {
    stats[spec] = {{"arrays", use.arrays}, {"parameters", use.parameters}, {"bytes", use.bytes}};
  }
  return {{"total_parameters", analysis.total_parameters},
          {"sharded_parameters", analysis.sharded_parameters},
          {"memory_per_device", memory},
          {"balance_score", analysis.balance_score},
          {"efficiency", analysis.efficiency},
          {"partition_stats", stats},
          {"skipped_leaves", analysis.skipped_leaves},
          {"unused_specs", analysis.unused_specs}};
}

}  // namespace tessera::mesh
