// The tree that a load makes, before its arrays are there.
#ifndef TESSERA_CHECKPOINT_LOAD_RESULT_H_
#define TESSERA_CHECKPOINT_LOAD_RESULT_H_

#include <cstddef>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/plan_load.h"
#include "tessera/tree/tree.h"

namespace tessera::checkpoint {

// An array by its place in the plan, or a value that is known already.
using ResultLeaf = std::variant<size_t, array::Opaque>;
using ResultTree = tree::Tree<ResultLeaf>;

// Made before anything is read, so that keys that fit into no tree are told at once:
// InvalidArgument, naming both, for one that lies inside another.
absl::StatusOr<ResultTree> PlanResult(const Checkpoint& checkpoint, const LoadRequest& request,
                                      const LoadPlan& plan);

// REQUIRES: one value for each array of the plan.
absl::StatusOr<array::ValueTree> FillResult(const ResultTree& result,
                                            const std::vector<array::Value>& values);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_RESULT_H_
