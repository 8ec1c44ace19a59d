#include "tessera/array/constraint.h"

#include <utility>

#include "tessera/core/status.h"
#include "tessera/tree/map.h"

namespace tessera::array {
namespace {

struct ConstrainedValue {
  Value value;
  std::vector<mesh::Correction> corrections;
};

absl::StatusOr<ConstrainedValue> Constrain(const Value& value, const Constraint& constraint,
                                           const Mover& mover,
                                           const WithShardingConstraintOptions& options) {
  const bool host = std::holds_alternative<HostArray>(value);
  const bool stays = std::holds_alternative<Opaque>(value) || (host && !options.place_host);
  if (stays) return ConstrainedValue{value, {}};
  const ShapeDtype array = *DescribeLeaf(value).array;
  TESSERA_ASSIGN_OR_RETURN(
      auto resolved, mesh::ResolveShardingConstraint(array.shape, constraint, options.resolve));
  if (!resolved.has_value()) return ConstrainedValue{value, {}};
  TESSERA_ASSIGN_OR_RETURN(ShardedArray placed, Place(value, resolved->sharding, mover));
  return ConstrainedValue{std::move(placed), std::move(resolved->corrections)};
}

}  // namespace

absl::StatusOr<ConstrainedArray> WithShardingConstraint(
    const ShardedArray& array, const Constraint& constraint, const Mover& mover,
    const WithShardingConstraintOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(ConstrainedValue result,
                           Constrain(Value(array), constraint, mover, options));
  return ConstrainedArray{std::get<ShardedArray>(std::move(result.value)),
                          std::move(result.corrections)};
}

absl::StatusOr<ConstrainedTree> WithShardingConstraint(
    const ValueTree& tree, const Constraint& constraint, const Mover& mover,
    const WithShardingConstraintOptions& options) {
  ConstrainedTree constrained;
  const auto leaf = [&](const tree::KeyPathView& path,
                        const Value& value) -> absl::StatusOr<Value> {
    auto result = Constrain(value, constraint, mover, options);
    if (!result.ok()) return Prefixed(result.status(), path.ForMessage());
    for (mesh::Correction& correction : result->corrections) {
      constrained.corrections.push_back({path.Dotted(), std::move(correction)});
    }
    return std::move(result->value);
  };
  TESSERA_ASSIGN_OR_RETURN(constrained.tree, tree::MapWithPath(tree, leaf));
  return constrained;
}

}  // namespace tessera::array
