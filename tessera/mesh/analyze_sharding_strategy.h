// analyze_sharding_strategy over a tree.
#ifndef TESSERA_MESH_ANALYZE_SHARDING_STRATEGY_H_
#define TESSERA_MESH_ANALYZE_SHARDING_STRATEGY_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/mesh/analysis.h"
#include "tessera/mesh/leaf.h"
#include "tessera/mesh/mesh_scope.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/map.h"
#include "tessera/tree/structure.h"
#include "tessera/tree/tree.h"

namespace tessera::mesh {

// The analysis of a tree whose specs stand in a tree of the same structure.
template <Describable T>
absl::StatusOr<ShardingAnalysis> AnalyzeShardingStrategy(
    const tree::Tree<T>& tree, const tree::Tree<PartitionSpec>& specs,
    const std::optional<Mesh>& mesh = std::nullopt) {
  TESSERA_ASSIGN_OR_RETURN(const Mesh chosen, MeshOrContext(mesh, "analyze_sharding_strategy"));
  TESSERA_RETURN_IF_ERROR(tree::CheckSameStructure(tree, specs));
  TESSERA_ASSIGN_OR_RETURN(const auto flat, tree::FlattenWithPath(tree));
  TESSERA_ASSIGN_OR_RETURN(const auto flat_specs, tree::Flatten(specs));
  std::vector<PlannedArray> arrays;
  int64_t skipped = 0;
  for (size_t i = 0; i < flat.leaves.size(); ++i) {
    const LeafInfo info = DescribeLeaf(flat.leaves[i]->leaf());
    if (!info.array.has_value()) {
      ++skipped;
      continue;
    }
    arrays.push_back({flat.paths[i].Dotted(), info.array->shape, info.array->dtype,
                      flat_specs.leaves[i]->leaf()});
  }
  TESSERA_ASSIGN_OR_RETURN(ShardingAnalysis analysis, AnalyzeArrays(arrays, chosen));
  analysis.skipped_leaves = skipped;
  return analysis;
}

// The analysis of a tree whose specs are given by dotted or slash path; a leaf without one gets
// P().  Keys that name no array come back as unused_specs.
template <Describable T>
absl::StatusOr<ShardingAnalysis> AnalyzeShardingStrategy(
    const tree::Tree<T>& tree, const std::map<std::string, PartitionSpec>& specs,
    const std::optional<Mesh>& mesh = std::nullopt) {
  std::set<std::string> unused;
  for (const auto& [key, spec] : specs) unused.insert(key);
  const auto look_up = [&](const tree::KeyPathView& path, const T& leaf) {
    auto found = specs.find(path.Dotted());
    if (found == specs.end()) found = specs.find(path.Slashed());
    if (found == specs.end()) return PartitionSpec();
    if (LeafInfo(DescribeLeaf(leaf)).array.has_value()) unused.erase(found->first);
    return found->second;
  };
  TESSERA_ASSIGN_OR_RETURN(const auto spec_tree, tree::MapWithPath(tree, look_up));
  TESSERA_ASSIGN_OR_RETURN(ShardingAnalysis analysis,
                           AnalyzeShardingStrategy(tree, spec_tree, mesh));
  analysis.unused_specs.assign(unused.begin(), unused.end());
  return analysis;
}

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_ANALYZE_SHARDING_STRATEGY_H_
