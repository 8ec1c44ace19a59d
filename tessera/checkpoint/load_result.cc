#include "tessera/checkpoint/load_result.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/core/status.h"
#include "tessera/tree/flat_map.h"
#include "tessera/tree/map.h"
#include "tessera/tree/walk.h"

namespace tessera::checkpoint {
namespace {

array::Opaque ValueOf(const ledger::SavedLeaf& leaf) {
  if (const auto* scalar = std::get_if<tree::Scalar>(&leaf)) return array::MakeScalar(*scalar);
  array::Opaque value;
  if (const auto* opaque = std::get_if<ledger::OpaqueLeaf>(&leaf)) {
    value.type_name = opaque->type_name;
  }
  return value;
}

// Values that are no arrays, by their names.
absl::StatusOr<absl::flat_hash_map<std::string, array::Opaque>> SavedValues(
    const Checkpoint& checkpoint) {
  absl::flat_hash_map<std::string, array::Opaque> values;
  if (!checkpoint.structure().has_value()) return values;
  TESSERA_RETURN_IF_ERROR(tree::ForEachLeaf(
      *checkpoint.structure(), [&](const tree::KeyPathView& path, const ledger::SavedLeaf& leaf) {
        if (!std::holds_alternative<tree::Scalar>(leaf)) return;
        values.emplace(path.ToKeyPath().Dotted(), ValueOf(leaf));
      }));
  return values;
}

absl::StatusOr<ResultTree> LikeTarget(const Checkpoint& checkpoint, const TargetTree& target,
                                      const LoadPlan& plan) {
  absl::flat_hash_map<std::string, size_t> places;
  for (size_t i = 0; i < plan.arrays.size(); ++i) places.emplace(plan.arrays[i].name, i);
  TESSERA_ASSIGN_OR_RETURN(const auto saved, SavedValues(checkpoint));
  return tree::MapWithPath(
      target,
      [&](const tree::KeyPathView& path, const TargetLeaf& leaf) -> absl::StatusOr<ResultLeaf> {
        const std::string name = path.ToKeyPath().Dotted();
        if (leaf.array.has_value()) {
          const auto place = places.find(name);
          if (place != places.end()) return ResultLeaf(place->second);
          return FailedPrecondition("the target's array ", name, " is not loaded");
        }
        const auto value = saved.find(name);
        return ResultLeaf(value == saved.end() ? leaf.value : value->second);
      });
}

absl::StatusOr<ResultTree> LikeSaved(const ledger::SavedTree& saved) {
  return tree::Map(saved, [](const ledger::SavedLeaf& leaf) -> ResultLeaf {
    if (const auto* array = std::get_if<ledger::ArrayLeaf>(&leaf)) {
      return static_cast<size_t>(array->record);
    }
    return ValueOf(leaf);
  });
}

absl::StatusOr<ResultTree> ByKeys(const Checkpoint& checkpoint, const LoadPlan& plan) {
  std::vector<tree::ComponentLeaf<ResultLeaf>> leaves;
  leaves.reserve(plan.arrays.size());
  for (size_t i = 0; i < plan.arrays.size(); ++i) {
    leaves.push_back({checkpoint.arrays()[plan.arrays[i].array].key, ResultLeaf(i)});
  }
  return tree::UnflattenComponents(std::move(leaves));
}

}  // namespace

absl::StatusOr<ResultTree> PlanResult(const Checkpoint& checkpoint, const LoadRequest& request,
                                      const LoadPlan& plan) {
  if (request.target.has_value()) return LikeTarget(checkpoint, *request.target, plan);
  const bool whole = plan.arrays.size() == checkpoint.arrays().size();
  if (whole && checkpoint.structure().has_value()) return LikeSaved(*checkpoint.structure());
  return ByKeys(checkpoint, plan);
}

absl::StatusOr<array::ValueTree> FillResult(const ResultTree& result,
                                            const std::vector<array::Value>& values) {
  return tree::Map(result, [&](const ResultLeaf& leaf) -> array::Value {
    if (const auto* place = std::get_if<size_t>(&leaf)) return values[*place];
    return std::get<array::Opaque>(leaf);
  });
}

}  // namespace tessera::checkpoint
