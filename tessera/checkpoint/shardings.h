// Where the arrays of a checkpoint go: shardings from all that a caller may say about it.
#ifndef TESSERA_CHECKPOINT_SHARDINGS_H_
#define TESSERA_CHECKPOINT_SHARDINGS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/sharding_tree.h"
#include "tessera/mesh/correction.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/rules.h"
#include "tessera/mesh/sharding.h"
#include "tessera/tree/tree.h"

namespace tessera::checkpoint {

// A choice by record; nullopt leaves it to what comes next.
using ShardingFunction =
    std::function<absl::StatusOr<ChosenSharding>(const ledger::ArrayRecord& record)>;

// What is said of one array: a sharding, a spec for the mesh, or a function.
using ShardingChoice = std::variant<mesh::NamedSharding, mesh::SingleDeviceSharding,
                                    mesh::PartitionSpec, ShardingFunction>;

// Nested by the components of the keys, flat under dotted names, or mixed.  A leaf at the root is
// for every array.  None says nothing.
using ShardingChoices = tree::Tree<ShardingChoice>;

// What a caller expects at a place of its tree: an array, or a value that is none.
struct TargetLeaf {
  std::optional<ShapeDtype> array = {};
  std::optional<mesh::Sharding> sharding = {};
  array::Opaque value = {};  // where there is no array
};
using TargetTree = tree::Tree<TargetLeaf>;

// The leaves of a state as they are; its arrays' elements are not looked at.
absl::StatusOr<TargetTree> TargetOf(const array::ValueTree& state);

// Who decided.
enum class PlacedBy { kSharding, kRule, kTarget, kMesh, kDevice };
std::string_view PlacedByText(PlacedBy by);

struct Placement {
  mesh::Sharding sharding = mesh::SingleDeviceSharding{};
  PlacedBy by = PlacedBy::kMesh;
  std::optional<size_t> rule = {};
  std::vector<mesh::Correction> corrections = {};  // of the spec that was asked for
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct PlacementRequest {
  std::optional<mesh::Mesh> mesh = {};
  std::optional<std::vector<mesh::PartitionRule>> rules = {};
  ShardingChoices shardings = {};
  // By name; where the target has a sharding of its own.
  absl::flat_hash_map<std::string, mesh::Sharding> targets = {};
  // Drops the axes of a spec that do not divide a dimension; else they are an error.
  bool auto_correct = false;
  // Where arrays go without a mesh.
  mesh::Device default_device = {};
};

// The placement of each array: by its own choice, else by the first rule that its name with slashes
// holds, else as the target has it, else whole on every device of a mesh of at most one axis, else
// whole on the default device.  Specs are cut to the rank.
//
// Errors name every array that has one, and have the code and kind of the first: InvalidArgument
// for an axis that the mesh lacks, for arrays that nothing above places, for arrays that no rule
// takes, kinds indivisible and duplicate_axis; kind no_mesh for a spec without a mesh;
// Unimplemented for a dimension that is left to the runtime.
absl::StatusOr<std::vector<Placement>> PlaceArrays(std::span<const CheckpointArray* const> arrays,
                                                   const PlacementRequest& request);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SHARDINGS_H_
