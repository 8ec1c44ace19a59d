// with_sharding_constraint: arrays on a spec that is fitted to each of them.
#ifndef TESSERA_ARRAY_CONSTRAINT_H_
#define TESSERA_ARRAY_CONSTRAINT_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/place.h"
#include "tessera/array/value.h"
#include "tessera/mesh/correction.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

// A spec takes the mesh in scope or by option, a named sharding brings its own.
using Constraint = std::variant<mesh::PartitionSpec, mesh::NamedSharding>;

struct WithShardingConstraintOptions {
  mesh::ConstraintOptions resolve = {};
  // Put host arrays on devices, too.
  bool place_host = false;
};

struct ConstrainedArray {
  ShardedArray array;
  std::vector<mesh::Correction> corrections;  // of the spec
};

// The array under the spec corrected to its shape; itself without a mesh.  Errors of
// ResolveShardingConstraint and of Place.  Collective.
absl::StatusOr<ConstrainedArray> WithShardingConstraint(
    const ShardedArray& array, const Constraint& constraint, const Mover& mover,
    const WithShardingConstraintOptions& options = {});

struct LeafCorrection {
  std::string path;  // dotted
  mesh::Correction correction;
  friend bool operator==(const LeafCorrection&, const LeafCorrection&) = default;
};

struct ConstrainedTree {
  ValueTree tree;
  std::vector<LeafCorrection> corrections;
};

// The same for every array of a tree; all else stays.  The errors of a leaf name its path.
absl::StatusOr<ConstrainedTree> WithShardingConstraint(
    const ValueTree& tree, const Constraint& constraint, const Mover& mover,
    const WithShardingConstraintOptions& options = {});

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_CONSTRAINT_H_
