// Analysis of a sharding strategy: what each device would hold.
#ifndef TESSERA_MESH_ANALYSIS_H_
#define TESSERA_MESH_ANALYSIS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/dtype.h"
#include "tessera/core/json.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera::mesh {

// An array and the spec that it would get.
struct PlannedArray {
  std::string key;  // for messages
  Dims shape;
  DType dtype = DType::kFloat32;
  PartitionSpec spec;
};

// The arrays that share one spec.
struct SpecUse {
  int64_t arrays = 0;
  int64_t parameters = 0;
  int64_t bytes = 0;
  friend bool operator==(const SpecUse&, const SpecUse&) = default;
};

struct DeviceBytes {
  int64_t device = 0;
  int64_t bytes = 0;
  friend bool operator==(const DeviceBytes&, const DeviceBytes&) = default;
};

struct ShardingAnalysis {
  int64_t total_parameters = 0;                    // elements of all arrays
  int64_t sharded_parameters = 0;                  // elements of arrays that are split at all
  std::vector<DeviceBytes> memory_per_device;      // in device order
  double balance_score = 1.0;                      // mean / max of those bytes
  double efficiency = 1.0;                         // bytes of all arrays / (devices * max)
  std::map<std::string, SpecUse> partition_stats;  // by the spec's text
  int64_t skipped_leaves = 0;                      // leaves that are no arrays
  std::vector<std::string> unused_specs;           // spec keys that name no array
  friend bool operator==(const ShardingAnalysis&, const ShardingAnalysis&) = default;
};

// InvalidArgument naming the array when a spec does not fit it (kinds indivisible and
// duplicate_axis among others) or when totals do not fit 63 bits; kind no_mesh on the empty mesh.
absl::StatusOr<ShardingAnalysis> AnalyzeArrays(std::span<const PlannedArray> arrays,
                                               const Mesh& mesh);

Json ToJson(const ShardingAnalysis& analysis);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_ANALYSIS_H_
