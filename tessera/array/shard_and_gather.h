// Functions that place an array on its spec, and that collect it again; one pair for each leaf.
#ifndef TESSERA_ARRAY_SHARD_AND_GATHER_H_
#define TESSERA_ARRAY_SHARD_AND_GATHER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/place.h"
#include "tessera/array/value.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/tree/tree.h"

namespace tessera::array {

// Both are collective and take device arrays and host arrays; InvalidArgument for anything else.
using ShardFn = std::function<absl::StatusOr<ShardedArray>(const Value&)>;
// To host memory, from one replica of each box, on every rank.
using GatherFn = std::function<absl::StatusOr<HostArray>(const Value&)>;

struct ShardAndGatherFns {
  tree::Tree<ShardFn> shard;
  tree::Tree<GatherFn> gather;
};

struct MakeShardAndGatherFnsOptions {
  std::optional<mesh::Mesh> mesh = {};  // else the one in scope
  // Fit the spec to the array instead of refusing one that does not divide.
  bool auto_correct = false;
};

// One function of each kind for every spec; None stays None.  Errors name the leaf: InvalidArgument
// for an axis that the mesh lacks, kind duplicate_axis, kind no_mesh.  The functions keep `mover`.
absl::StatusOr<ShardAndGatherFns> MakeShardAndGatherFns(
    const tree::Tree<mesh::PartitionSpec>& specs, const Mover& mover,
    const MakeShardAndGatherFnsOptions& options = {});

// A flat state: names and values, in an order that is kept.
using FlatState = std::vector<std::pair<std::string, Value>>;

struct GatherProgress {
  size_t done = 0;  // values, this one included
  size_t total = 0;
  std::string_view name;  // of this one
  int64_t bytes = 0;      // in host memory so far
};

struct ApplyGatherFunctionsOptions {
  // A value without a function stays as it is and is counted; else it is NotFound.
  bool mismatch_allowed = true;
  std::function<void(const GatherProgress&)> progress = nullptr;  // after each value
};

struct GatheredState {
  FlatState state;
  int64_t mismatches = 0;  // values without a function
};

// What gathers a state: functions in a mapping, nested or under dotted names; true: every array is
// brought to the host; false: nothing is done.
using GatherFunctions = std::variant<bool, tree::Tree<GatherFn>>;

// The error of a function names its value, and is never counted as a mismatch.  Collective.
absl::StatusOr<GatheredState> ApplyGatherFunctions(const FlatState& state,
                                                   const GatherFunctions& functions,
                                                   const Mover& mover,
                                                   const ApplyGatherFunctionsOptions& options = {});

struct GatheredTree {
  ValueTree tree;
  int64_t mismatches = 0;  // leaves without a function
};

// The same of a tree, whose leaves are called by their dotted paths.
absl::StatusOr<GatheredTree> GatherTree(const ValueTree& tree, const GatherFunctions& functions,
                                        const Mover& mover,
                                        const ApplyGatherFunctionsOptions& options = {});

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_SHARD_AND_GATHER_H_
