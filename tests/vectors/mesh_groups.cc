#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/mesh/axis_queries.h"
#include "tessera/mesh/correction.h"
#include "tessera/mesh/extract.h"
#include "tessera/mesh/mesh_scope.h"
#include "tessera/mesh/sharding.h"
#include "tests/vectors/case_values.h"
#include "tests/vectors/groups.h"

namespace tessera::vectors {
namespace {

using mesh::Mesh;
using mesh::NamedSharding;
using mesh::PartitionSpec;

// What is wrong with our placement of the case's array; empty when nothing is.
std::string ComparePlacement(const NamedSharding& sharding, const Dims& shape,
                             const OrderedJson& ok) {
  const auto shard_shape = mesh::ShardShape(sharding, shape);
  if (!shard_shape.ok()) return shard_shape.status().ToString();
  if (*shard_shape != ShapeOf(ok["shard_shape"])) {
    return "shard shape is " + ShapeText(*shard_shape);
  }
  if (mesh::IsFullyReplicated(sharding) != ok["fully_replicated"].get<bool>()) {
    return "fully_replicated differs";
  }
  const auto shards = mesh::PlaceShards(sharding, shape);
  if (!shards.ok()) return shards.status().ToString();
  if (shards->size() != ok["index_map"].size()) return "number of devices differs";
  for (const mesh::DeviceShard& shard : *shards) {
    const std::string id = std::to_string(shard.device.id);
    const OrderedJson& box = ok["index_map"][id];
    for (int d = 0; d < shard.box.rank(); ++d) {
      if (shard.box.begin(d) != box[d][0] || shard.box.end(d) != box[d][1]) {
        return Concat("device ", id, " holds ", shard.box.Text());
      }
    }
    // The original cannot tell replica ids of arrays without elements; ours are then not compared.
    if (!ok["replica_ids"].is_null() && shard.replica_id != ok["replica_ids"][id]) {
      return Concat("device ", id, " has replica id ", shard.replica_id);
    }
  }
  return "";
}

// True when `status` is this case's error; false, too, when the case expects a result.
bool IsExpectedError(const absl::Status& status, const OrderedJson& outcome) {
  return outcome.contains("error") && IsErrorOf(status, outcome["error"].get<std::string>());
}

void CheckConstraint(const OrderedJson& test_case, const Mesh& mesh, Report& report) {
  const Dims shape = ShapeOf(test_case["shape"]);
  const PartitionSpec spec = SpecOf(test_case["spec"]);
  const OrderedJson& expected = test_case["constraint_result_spec"];
  const auto ours = mesh::ResolveShardingConstraint(shape, spec, {.mesh = mesh});
  if (!ours.ok()) {
    return report.Check(IsExpectedError(ours.status(), expected), test_case,
                        "constraint: " + ours.status().ToString());
  }
  if (expected.value("error", "") == "AttributeError" && spec.empty()) {
    // The original leaves the array on its one device, which has no spec; ours replicates it, and
    // leaves it by option.
    const auto left = mesh::ResolveShardingConstraint(
        shape, spec, {.mesh = mesh, .empty_spec = mesh::ConstraintOptions::EmptySpec::kLeave});
    if ((*ours)->sharding.spec().empty() && left.ok() && !left->has_value()) {
      return report.Differs("empty-spec-replicates");
    }
  }
  report.Check(expected.contains("ok") && (*ours)->sharding.spec() == SpecOf(expected["ok"]),
               test_case, "constraint gives " + (*ours)->sharding.Text());
}

}  // namespace

Report RunNamedSharding(const OrderedJson& document) {
  Report report("named_sharding");
  for (const OrderedJson& test_case : document["named_sharding"]) {
    const Dims shape = ShapeOf(test_case["shape"]);
    auto sharding = [&]() -> absl::StatusOr<NamedSharding> {
      TESSERA_ASSIGN_OR_RETURN(Mesh mesh, MeshOf(test_case["mesh"]));
      TESSERA_ASSIGN_OR_RETURN(NamedSharding made,
                               NamedSharding::Make(std::move(mesh), SpecOf(test_case["spec"])));
      TESSERA_RETURN_IF_ERROR(mesh::ShardShape(made, shape));
      return made;
    }();
    if (!sharding.ok() || test_case.contains("error")) {
      report.Check(IsExpectedError(sharding.status(), test_case), test_case,
                   sharding.status().ToString());
      continue;
    }
    const std::string problem = ComparePlacement(*sharding, shape, test_case["ok"]);
    report.Check(problem.empty(), test_case, problem);
  }
  return report;
}

Report RunCorrectedNamedSharding(const OrderedJson& document) {
  Report report("corrected_named_sharding");
  for (const OrderedJson& test_case : document["corrected_named_sharding"]) {
    const auto mesh = MeshOf(test_case["mesh"]);
    if (!mesh.ok()) {
      report.Failed(test_case, mesh.status().ToString());
      continue;
    }
    const mesh::MeshScope scope(*mesh);
    const auto ours =
        mesh::GetCorrectedNamedSharding(ShapeOf(test_case["shape"]), SpecOf(test_case["spec"]));
    const OrderedJson& expected = test_case["corrected"];
    const bool agrees =
        ours.ok() ? expected.contains("ok") && ours->sharding.spec() == SpecOf(expected["ok"])
                  : IsExpectedError(ours.status(), expected);
    report.Check(agrees, test_case, ours.ok() ? ours->sharding.Text() : ours.status().ToString());
    CheckConstraint(test_case, *mesh, report);
  }
  return report;
}

Report RunNamesFromPartitionSpec(const OrderedJson& document) {
  Report report("names_from_partition_spec");
  for (const OrderedJson& test_case : document["names_from_partition_spec"]) {
    std::vector<PartitionSpec> specs;
    for (const auto& [name, spec] : test_case["specs"].items()) specs.push_back(SpecOf(spec));
    std::vector<std::string> ours = mesh::GetNamesFromPartitionSpec(specs);
    // The original's order is that of a hash set, recorded sorted.
    std::sort(ours.begin(), ours.end());
    report.Check(OrderedJson(ours) == test_case["names"]["ok"], test_case,
                 OrderedJson(ours).dump());
  }
  return report;
}

Report RunMeshQueries(const OrderedJson& document) {
  Report report("mesh_queries");
  for (const OrderedJson& test_case : document["mesh_queries"]) {
    const auto mesh = MeshOf(test_case["mesh"]);
    if (!mesh.ok()) {
      report.Failed(test_case, mesh.status().ToString());
      continue;
    }
    const mesh::MeshScope scope(*mesh);
    std::vector<std::string> names;
    if (test_case["axes"].is_string()) {
      names.push_back(test_case["axes"]);
    } else {
      names = test_case["axes"].get<std::vector<std::string>>();
    }
    const OrderedJson& size = test_case["size"];
    const auto our_size = mesh::GetAxesSizeInMesh(names);
    report.Check(our_size.ok() ? size.contains("ok") && size["ok"] == *our_size &&
                                     *mesh::GetMeshAxisSize(names) == *our_size
                               : IsExpectedError(our_size.status(), size),
                 test_case, "size: " + our_size.status().ToString());
    report.Check(test_case["in_mesh"]["ok"] == mesh::NamesInCurrentMesh(names), test_case,
                 "in_mesh differs");
    report.Check(test_case["axis_names"]["ok"] == OrderedJson(*mesh::GetMeshAxisNames()), test_case,
                 "axis_names differ");
    std::vector<int64_t> indices;
    const absl::Status walked =
        mesh::ForEachDevice(*mesh, [&](const mesh::Device&) -> absl::Status {
          TESSERA_ASSIGN_OR_RETURN(const int64_t index, mesh::GetSubmeshDeviceIndex(names));
          indices.push_back(index);
          return absl::OkStatus();
        });
    const OrderedJson& expected = test_case["submesh_index_by_mesh_position"];
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    if (KindOf(walked) == ErrorKind::kDuplicateAxis &&
        std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      report.Differs("repeated-axis");
      continue;
    }
    report.Check(walked.ok() ? expected.contains("ok") && expected["ok"] == OrderedJson(indices)
                             : IsExpectedError(walked, expected),
                 test_case, "submesh index: " + walked.ToString());
  }
  return report;
}

}  // namespace tessera::vectors
