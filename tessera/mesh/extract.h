// The shardings and specs that the leaves of a tree carry.
#ifndef TESSERA_MESH_EXTRACT_H_
#define TESSERA_MESH_EXTRACT_H_

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/mesh/leaf.h"
#include "tessera/mesh/mesh_scope.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/mesh/sharding.h"
#include "tessera/tree/map.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/walk.h"

namespace tessera::mesh {

// nullopt where a leaf has none.
using ShardingTree = tree::Tree<std::optional<NamedSharding>>;

// The named sharding of each device array; nullopt for every other leaf.
template <Describable T>
absl::StatusOr<ShardingTree> ExtractShardingStructure(const tree::Tree<T>& tree) {
  return tree::Map(tree, [](const T& leaf) -> std::optional<NamedSharding> {
    const LeafInfo info = DescribeLeaf(leaf);
    const auto* named = std::get_if<NamedSharding>(&info.sharding);
    if (info.kind != LeafKind::kArray || named == nullptr) return std::nullopt;
    return *named;
  });
}

template <Describable T>
absl::StatusOr<ShardingTree> GetShardingsWithStructure(const tree::Tree<T>& tree) {
  return ExtractShardingStructure(tree);
}

// As above for any leaf that carries a sharding, descriptors among them; a bare spec is bound to
// `mesh` or the one in scope, which is only looked up when a leaf needs it.  Errors name the leaf.
template <Describable T>
absl::StatusOr<ShardingTree> ExtractShardings(const tree::Tree<T>& tree,
                                              const std::optional<Mesh>& mesh = std::nullopt) {
  const auto bind = [&](const PartitionSpec& spec) -> absl::StatusOr<std::optional<NamedSharding>> {
    TESSERA_ASSIGN_OR_RETURN(Mesh chosen, MeshOrContext(mesh, "extract_shardings"));
    return NamedSharding::Make(std::move(chosen), spec);
  };
  return tree::MapWithPath(tree,
                           [&](const tree::KeyPathView& path,
                               const T& leaf) -> absl::StatusOr<std::optional<NamedSharding>> {
                             const LeafInfo info = DescribeLeaf(leaf);
                             if (const auto* named = std::get_if<NamedSharding>(&info.sharding)) {
                               return *named;
                             }
                             const auto* spec = std::get_if<PartitionSpec>(&info.sharding);
                             if (spec == nullptr) return std::nullopt;
                             auto bound = bind(*spec);
                             if (!bound.ok()) return Prefixed(bound.status(), path.Dotted());
                             return bound;
                           });
}

struct GetPartitionSpecOptions {
  // Refuse arrays that have no spec (on one device, in host memory) instead of giving them P().
  bool strict = false;
};

// The spec of one leaf: an array's own, P() for numbers.  InvalidArgument for any other leaf.
absl::StatusOr<PartitionSpec> SpecOfLeaf(const LeafInfo& info,
                                         const GetPartitionSpecOptions& options);

// The spec of each leaf; errors name the leaf's key path.
template <Describable T>
absl::StatusOr<tree::Tree<PartitionSpec>> GetPartitionSpec(
    const tree::Tree<T>& tree, const GetPartitionSpecOptions& options = {}) {
  return tree::MapWithPath(
      tree, [&](const tree::KeyPathView& path, const T& leaf) -> absl::StatusOr<PartitionSpec> {
        auto spec = SpecOfLeaf(DescribeLeaf(leaf), options);
        if (!spec.ok()) return Prefixed(spec.status(), path.Dotted());
        return spec;
      });
}

// The distinct axis names of the specs, in order of first appearance.
std::vector<std::string> GetNamesFromPartitionSpec(std::span<const PartitionSpec> specs);
std::vector<std::string> GetNamesFromPartitionSpec(const PartitionSpec& spec);
// In canonical leaf order.  InvalidArgument when the tree is too deep.
absl::StatusOr<std::vector<std::string>> GetNamesFromPartitionSpec(
    const tree::Tree<PartitionSpec>& specs);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_EXTRACT_H_
