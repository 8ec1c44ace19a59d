// A tree of shardings for the arrays that an index lists.
#ifndef TESSERA_CHECKPOINT_SHARDING_TREE_H_
#define TESSERA_CHECKPOINT_SHARDING_TREE_H_

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "tessera/ledger/index_file.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/mesh/sharding.h"
#include "tessera/tree/tree.h"

namespace tessera::checkpoint {

// nullopt: no sharding was chosen.
using ChosenSharding = std::optional<mesh::Sharding>;
using ShardingTree = tree::Tree<ChosenSharding>;

// One sharding or spec for every array, or a choice by record.  Nothing: replicated on the mesh.
using DefaultSharding =
    std::variant<std::monostate, mesh::PartitionSpec, mesh::Sharding,
                 std::function<absl::StatusOr<ChosenSharding>(const ledger::ArrayRecord&)>>;

struct ShardingTreeOptions {
  std::optional<mesh::Mesh> mesh = {};
  std::string prefix = {};
  DefaultSharding default_sharding = {};
};

// Nested dicts in the order of the index, one leaf per array; a single array at the root is a bare
// leaf.  A later record of the same key replaces the earlier one.  InvalidArgument naming the key
// when a spec or sharding does not fit a recorded shape, when one key lies inside another, and as
// SelectArrays; kind no_mesh for a spec without a mesh.
absl::StatusOr<ShardingTree> CreateShardingTreeFromIndex(const ledger::TensorstoreIndex& index,
                                                         const ShardingTreeOptions& options = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SHARDING_TREE_H_
