#include "tessera/checkpoint/sharding_tree.h"

#include <map>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/tree/flat_map.h"

namespace tessera::checkpoint {
namespace {

absl::StatusOr<ChosenSharding> BindSpec(const mesh::PartitionSpec& spec,
                                        const ShardingTreeOptions& options) {
  if (!options.mesh.has_value()) {
    return WithKind(FailedPrecondition("create_sharding_tree_from_index: the default spec ",
                                       spec.Text(), " needs a mesh"),
                    ErrorKind::kNoMesh);
  }
  return mesh::NamedSharding::Make(*options.mesh, spec);
}

absl::StatusOr<ChosenSharding> Choose(const ledger::ArrayRecord& record,
                                      const ShardingTreeOptions& options) {
  if (const auto* spec = std::get_if<mesh::PartitionSpec>(&options.default_sharding)) {
    return BindSpec(*spec, options);
  }
  if (const auto* sharding = std::get_if<mesh::Sharding>(&options.default_sharding)) {
    return *sharding;
  }
  if (const auto* choose = std::get_if<3>(&options.default_sharding)) return (*choose)(record);
  if (!options.mesh.has_value()) return std::nullopt;
  return mesh::NamedSharding::Replicated(*options.mesh);
}

absl::StatusOr<ChosenSharding> ChooseChecked(const ledger::ArrayRecord& record,
                                             const ShardingTreeOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(ChosenSharding chosen, Choose(record, options));
  if (chosen.has_value()) TESSERA_RETURN_IF_ERROR(mesh::ShardShape(*chosen, record.shape));
  return chosen;
}

}  // namespace

absl::StatusOr<ShardingTree> CreateShardingTreeFromIndex(const ledger::TensorstoreIndex& index,
                                                         const ShardingTreeOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const ledger::SelectedArrays selected,
                           ledger::SelectArrays(index, options.prefix));
  std::vector<tree::ComponentLeaf<ChosenSharding>> leaves;
  std::map<std::vector<std::string>, size_t> position;
  for (const ledger::ArrayRecord& record : selected.arrays) {
    auto chosen = ChooseChecked(record, options);
    if (!chosen.ok()) return Prefixed(chosen.status(), record.path);
    std::vector<std::string> key = ledger::KeyWithoutPrefix(record, selected.prefix);
    const auto [known, is_new] = position.try_emplace(key, leaves.size());
    if (is_new) {
      leaves.push_back({std::move(key), *std::move(chosen)});
    } else {
      leaves[known->second].value = *std::move(chosen);
    }
  }
  return tree::UnflattenComponents(std::move(leaves));
}

}  // namespace tessera::checkpoint
