// Trees of arrays and trees of shardings, held side by side.
#ifndef TESSERA_ARRAY_SHARDING_TREE_H_
#define TESSERA_ARRAY_SHARDING_TREE_H_

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "tessera/array/place.h"
#include "tessera/array/value.h"
#include "tessera/mesh/leaf.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/mesh/sharding.h"
#include "tessera/tree/structure.h"
#include "tessera/tree/tree.h"

namespace tessera::array {

// Two ways of a function to say where a leaf goes: it names the sharding, or it makes the array.
struct ChooseSharding {
  std::function<absl::StatusOr<mesh::Sharding>(const mesh::LeafInfo&)> choose;
};
struct PlaceArray {
  std::function<absl::StatusOr<Value>(const Value&)> place;
};

// Where a leaf goes; a spec is bound to the mesh.
using Target = std::variant<mesh::NamedSharding, mesh::SingleDeviceSharding, mesh::PartitionSpec,
                            ChooseSharding, PlaceArray>;

struct ApplyShardingTreeOptions {
  // For specs and for None; else the mesh in scope.  Without any, None is the first device of this
  // process.
  std::optional<mesh::Mesh> mesh = {};
};

// Each array on the target at the same place of the other tree; None takes the default.  What is no
// array stays, and so does everything when `targets` is None.  Trees that differ in structure are a
// warning, and nothing is placed.  The errors of a leaf name its path.  Collective.
absl::StatusOr<ValueTree> ApplyShardingTree(const ValueTree& arrays,
                                            const tree::Tree<Target>& targets, const Mover& mover,
                                            const ApplyShardingTreeOptions& options = {});

// Every array that is whole in this process becomes one that each device of `mesh`, or of the mesh
// in scope, holds whole.  All else stays.  Kind no_mesh when there is an array and no mesh.
// Collective.
absl::StatusOr<ValueTree> MakeItsharded(const ValueTree& tree,
                                        const std::optional<mesh::Mesh>& mesh, const Mover& mover);

struct ShardingTreeCheck {
  bool same = true;
  std::string difference = {};  // the first one, with its path
  friend bool operator==(const ShardingTreeCheck&, const ShardingTreeCheck&) = default;
};

// Whether two trees have the same structure.  None counts as a leaf unless `null_is_leaf` is false.
template <typename A, typename B>
ShardingTreeCheck ValidateShardingTree(const tree::Tree<A>& a, const tree::Tree<B>& b,
                                       bool null_is_leaf = true) {
  const auto difference = tree::FirstDifference(a, b, {.null_is_leaf = null_is_leaf});
  return {!difference.has_value(), difference.value_or("")};
}

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_SHARDING_TREE_H_
