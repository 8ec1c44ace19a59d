#include "tessera/array/sharding_tree.h"

#include <utility>
#include <vector>

#include "tessera/array/to_host.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/mesh/mesh_scope.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/map.h"

namespace tessera::array {
namespace {

template <typename... Fns>
struct Overloaded : Fns... {
  using Fns::operator()...;
};
template <typename... Fns>
Overloaded(Fns...) -> Overloaded<Fns...>;

// Where None puts an array.
absl::StatusOr<Value> PlaceByDefault(const Value& value, const std::optional<mesh::Mesh>& mesh,
                                     const Mover& mover) {
  if (mesh.has_value()) return Place(value, mesh::NamedSharding::Replicated(*mesh), mover);
  if (mover.platform.devices().empty()) {
    return FailedPrecondition("there is no mesh, and process ", mover.platform.process(),
                              " has no device");
  }
  // Each process has a device of its own here, so that nothing is agreed with the others.
  const mesh::Device first = {mover.platform.devices()[0]->id(), mover.platform.process()};
  const auto on_host = [&]() -> absl::StatusOr<HostArray> {
    if (const auto* host = std::get_if<HostArray>(&value)) return *host;
    return ToHost(std::get<ShardedArray>(value), mover.platform, {.share = true});
  };
  TESSERA_ASSIGN_OR_RETURN(const HostArray host, on_host());
  return ShardedArray::FromHost(host.view(), host.dtype(), mesh::SingleDeviceSharding{first},
                                mover.platform, {.owner = host.owner()});
}

absl::StatusOr<Value> PlaceOn(const Value& value, const Target& target,
                              const std::optional<mesh::Mesh>& mesh, const Mover& mover) {
  using Result = absl::StatusOr<Value>;
  return std::visit(
      Overloaded{[&](const mesh::PartitionSpec& spec) -> Result {
                   TESSERA_ASSIGN_OR_RETURN(mesh::Mesh bound,
                                            mesh::MeshOrContext(mesh, "apply_sharding_tree"));
                   TESSERA_ASSIGN_OR_RETURN(auto sharding, mesh::NamedSharding::Make(bound, spec));
                   return Place(value, sharding, mover);
                 },
                 [&](const ChooseSharding& chooser) -> Result {
                   TESSERA_ASSIGN_OR_RETURN(const mesh::Sharding sharding,
                                            chooser.choose(DescribeLeaf(value)));
                   return Place(value, sharding, mover);
                 },
                 [&](const PlaceArray& placer) -> Result { return placer.place(value); },
                 [&](const auto& sharding) -> Result { return Place(value, sharding, mover); }},
      target);
}

absl::StatusOr<ValueTree> PlaceLeaf(const ValueTree& leaf, const tree::Tree<Target>& target,
                                    const std::optional<mesh::Mesh>& mesh, const Mover& mover) {
  if (leaf.is_none() || std::holds_alternative<Opaque>(leaf.leaf())) return leaf;
  TESSERA_ASSIGN_OR_RETURN(Value placed, target.is_none()
                                             ? PlaceByDefault(leaf.leaf(), mesh, mover)
                                             : PlaceOn(leaf.leaf(), target.leaf(), mesh, mover));
  return ValueTree::Leaf(std::move(placed));
}

// Leaves nullopt where there is none.
absl::Status TakeMeshInScope(std::optional<mesh::Mesh>& mesh) {
  TESSERA_ASSIGN_OR_RETURN(mesh::Mesh current, mesh::GetIncontextMesh(false));
  if (!current.empty()) mesh = std::move(current);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ValueTree> ApplyShardingTree(const ValueTree& arrays,
                                            const tree::Tree<Target>& targets, const Mover& mover,
                                            const ApplyShardingTreeOptions& options) {
  if (targets.is_none()) return arrays;
  const auto check = ValidateShardingTree(arrays, targets);
  if (!check.same) {
    LogWarning("apply_sharding_tree: arrays and shardings differ ", check.difference,
               "; nothing is placed");
    return arrays;
  }
  std::optional<mesh::Mesh> mesh = options.mesh;
  if (!mesh.has_value()) TESSERA_RETURN_IF_ERROR(TakeMeshInScope(mesh));
  tree::WalkOptions<Target> target_walk;
  target_walk.none_is_leaf = true;
  TESSERA_ASSIGN_OR_RETURN(const auto flat, tree::Flatten(targets, target_walk));
  tree::WalkOptions<Value> walk;
  walk.none_is_leaf = true;
  size_t next = 0;
  return tree::MapNodes(
      arrays, walk,
      [&](const tree::KeyPathView& path, const ValueTree& leaf) -> absl::StatusOr<ValueTree> {
        auto placed = PlaceLeaf(leaf, *flat.leaves[next++], mesh, mover);
        if (!placed.ok()) return Prefixed(placed.status(), path.ForMessage());
        return placed;
      });
}

absl::StatusOr<ValueTree> MakeItsharded(const ValueTree& tree,
                                        const std::optional<mesh::Mesh>& mesh, const Mover& mover) {
  const auto replicate = [&](const ShardedArray& array) -> absl::StatusOr<Value> {
    TESSERA_ASSIGN_OR_RETURN(mesh::Mesh chosen, mesh::MeshOrContext(mesh, "make_itsharded"));
    const mesh::Sharding sharding = mesh::NamedSharding::Replicated(std::move(chosen));
    if (mover.comm.size() == 1) return Place(array, sharding, mover);
    // Each process has an array of its own, which no other could read.
    TESSERA_ASSIGN_OR_RETURN(const HostArray host, ToHost(array, mover.platform, {.share = true}));
    return Place(host, sharding, mover);
  };
  return tree::MapWithPath(
      tree, [&](const tree::KeyPathView& path, const Value& value) -> absl::StatusOr<Value> {
        const auto* array = std::get_if<ShardedArray>(&value);
        if (array == nullptr || !array->IsFullyAddressable()) return value;
        auto replicated = replicate(*array);
        if (!replicated.ok()) return Prefixed(replicated.status(), path.ForMessage());
        return replicated;
      });
}

}  // namespace tessera::array
