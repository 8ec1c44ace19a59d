// match_partition_rules over a tree.
#ifndef TESSERA_MESH_MATCH_PARTITION_RULES_H_
#define TESSERA_MESH_MATCH_PARTITION_RULES_H_

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/mesh/leaf.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/mesh/rules.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/tree.h"

namespace tessera::mesh {

struct MatchedTree {
  tree::Tree<PartitionSpec> specs;  // the tree with each leaf replaced by its spec
  std::vector<NamedLeaf> leaves;    // in canonical order
  RuleMatches matches;              // of leaves[i]
};

// The spec of each leaf: that of the first rule whose pattern is found in its slash path (a leaf
// at the root has the name "").  Dicts keep the order of their items.  Errors as MatchLeaves.
template <Describable T>
absl::StatusOr<MatchedTree> MatchPartitionRules(std::span<const PartitionRule> rules,
                                                const tree::Tree<T>& tree,
                                                const MatchOptions& options = {}) {
  TESSERA_ASSIGN_OR_RETURN(const auto flat, tree::FlattenWithPath(tree));
  MatchedTree result;
  result.leaves.reserve(flat.leaves.size());
  for (size_t i = 0; i < flat.leaves.size(); ++i) {
    const LeafInfo info = DescribeLeaf(flat.leaves[i]->leaf());
    result.leaves.push_back({flat.paths[i].Slashed(), std::nullopt});
    if (info.array.has_value()) result.leaves.back().shape = info.array->shape;
  }
  TESSERA_ASSIGN_OR_RETURN(result.matches, MatchLeaves(rules, result.leaves, options));
  std::vector<PartitionSpec> specs;
  specs.reserve(result.matches.leaves.size());
  for (const LeafMatch& leaf : result.matches.leaves) specs.push_back(leaf.spec);
  TESSERA_ASSIGN_OR_RETURN(result.specs, tree::Unflatten(flat.structure, std::move(specs)));
  return result;
}

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_MATCH_PARTITION_RULES_H_
