#include "tessera/array/shard_and_gather.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "tessera/array/to_host.h"
#include "tessera/core/status.h"
#include "tessera/mesh/correction.h"
#include "tessera/mesh/mesh_scope.h"
#include "tessera/tree/flat_map.h"
#include "tessera/tree/map.h"
#include "tessera/tree/walk.h"

namespace tessera::array {
namespace {

absl::StatusOr<HostArray> GatherValue(const Value& value, const Mover& mover) {
  if (const auto* host = std::get_if<HostArray>(&value)) return *host;
  if (const auto* array = std::get_if<ShardedArray>(&value)) {
    return ToHost(*array, mover.platform, mover.comm,
                  {.budget_bytes = mover.options.budget_bytes, .limit = mover.options.limit});
  }
  return InvalidArgument("expected an array to gather, found ", std::get<Opaque>(value).type_name);
}

ShardFn MakeShardFn(mesh::NamedSharding sharding, bool auto_correct, const Mover& mover) {
  return [=](const Value& value) -> absl::StatusOr<ShardedArray> {
    const auto array = DescribeLeaf(value).array;
    if (!auto_correct || !array.has_value()) return Place(value, sharding, mover);
    TESSERA_ASSIGN_OR_RETURN(
        const auto corrected,
        mesh::GetCorrectedNamedSharding(array->shape, sharding.spec(), {.mesh = sharding.mesh()}));
    return Place(value, corrected.sharding, mover);
  };
}

// Functions by dotted name.
using FunctionsByName = absl::flat_hash_map<std::string, GatherFn>;

absl::StatusOr<FunctionsByName> ByName(const tree::Tree<GatherFn>& functions) {
  TESSERA_ASSIGN_OR_RETURN(const auto flat, tree::FlattenForBroadcast(functions));
  FunctionsByName by_name;
  for (const auto& [name, node] : flat) {
    if (node.is_leaf()) by_name.emplace(name, node.leaf());
  }
  return by_name;
}

// The available names, for a message; the first of them when they are many.
std::string SomeNames(const FunctionsByName& functions) {
  constexpr size_t kMost = 20;
  std::vector<std::string> names;
  for (const auto& [name, function] : functions) names.push_back(name);
  std::sort(names.begin(), names.end());
  std::string text;
  for (size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    text += Concat(i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kMost) text += Concat(" and ", names.size() - kMost, " more");
  return text.empty() ? "none" : text;
}

// What a state is gathered with, value by value.
class StateGatherer {
 public:
  StateGatherer(std::optional<FunctionsByName> functions, const Mover& mover,
                const ApplyGatherFunctionsOptions& options)
      : functions_(std::move(functions)), mover_(mover), options_(options) {}

  absl::StatusOr<GatheredState> Run(const FlatState& state) {
    for (const auto& [name, value] : state) {
      auto gathered = Gather(name, value);
      if (!gathered.ok()) return Prefixed(gathered.status(), name);
      if (const auto* host = std::get_if<HostArray>(&*gathered)) {
        TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(host->dtype(), host->shape()));
        bytes_ += bytes;
      }
      result_.state.emplace_back(name, *std::move(gathered));
      if (options_.progress) {
        options_.progress({result_.state.size(), state.size(), name, bytes_});
      }
    }
    return std::move(result_);
  }

 private:
  absl::StatusOr<Value> Gather(const std::string& name, const Value& value) {
    if (!functions_.has_value()) {
      if (std::holds_alternative<Opaque>(value)) return value;
      return GatherValue(value, mover_);
    }
    const auto found = functions_->find(name);
    if (found != functions_->end()) return found->second(value);
    if (!options_.mismatch_allowed) {
      return NotFound("no gather function; there are functions for ", SomeNames(*functions_));
    }
    ++result_.mismatches;
    return value;
  }

  const std::optional<FunctionsByName> functions_;  // nullopt: everything goes to the host
  const Mover& mover_;
  const ApplyGatherFunctionsOptions& options_;
  GatheredState result_;
  int64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<ShardAndGatherFns> MakeShardAndGatherFns(
    const tree::Tree<mesh::PartitionSpec>& specs, const Mover& mover,
    const MakeShardAndGatherFnsOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const mesh::Mesh mesh,
                           mesh::MeshOrContext(options.mesh, "make_shard_and_gather_fns"));
  ShardAndGatherFns fns;
  TESSERA_ASSIGN_OR_RETURN(
      fns.shard, tree::MapWithPath(specs,
                                   [&](const tree::KeyPathView& path,
                                       const mesh::PartitionSpec& spec) -> absl::StatusOr<ShardFn> {
                                     auto sharding = mesh::NamedSharding::Make(mesh, spec);
                                     if (!sharding.ok()) {
                                       return Prefixed(sharding.status(), path.ForMessage());
                                     }
                                     return MakeShardFn(*std::move(sharding), options.auto_correct,
                                                        mover);
                                   }));
  TESSERA_ASSIGN_OR_RETURN(fns.gather,
                           tree::Map(specs, [&](const mesh::PartitionSpec&) -> GatherFn {
                             return [=](const Value& value) { return GatherValue(value, mover); };
                           }));
  return fns;
}

absl::StatusOr<GatheredState> ApplyGatherFunctions(const FlatState& state,
                                                   const GatherFunctions& functions,
                                                   const Mover& mover,
                                                   const ApplyGatherFunctionsOptions& options) {
  std::optional<FunctionsByName> by_name;
  if (const auto* tree = std::get_if<tree::Tree<GatherFn>>(&functions)) {
    TESSERA_ASSIGN_OR_RETURN(by_name, ByName(*tree));
  } else if (!std::get<bool>(functions)) {
    return GatheredState{state, 0};
  }
  return StateGatherer(std::move(by_name), mover, options).Run(state);
}

absl::StatusOr<GatheredTree> GatherTree(const ValueTree& tree, const GatherFunctions& functions,
                                        const Mover& mover,
                                        const ApplyGatherFunctionsOptions& options) {
  FlatState state;
  TESSERA_RETURN_IF_ERROR(
      tree::ForEachLeaf(tree, [&](const tree::KeyPathView& path, const Value& value) {
        state.emplace_back(path.Dotted(), value);
      }));
  TESSERA_ASSIGN_OR_RETURN(const GatheredState gathered,
                           ApplyGatherFunctions(state, functions, mover, options));
  size_t next = 0;
  TESSERA_ASSIGN_OR_RETURN(
      ValueTree host, tree::Map(tree, [&](const Value&) { return gathered.state[next++].second; }));
  return GatheredTree{std::move(host), gathered.mismatches};
}

}  // namespace tessera::array
