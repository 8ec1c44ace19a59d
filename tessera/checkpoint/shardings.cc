#include "tessera/checkpoint/shardings.h"

#include <map>
#include <utility>

#include "absl/strings/cord.h"
#include "tessera/core/status.h"
#include "tessera/tree/flat_map.h"
#include "tessera/tree/map.h"

namespace tessera::checkpoint {
namespace {

using ChoiceMap = absl::flat_hash_map<std::string, ShardingChoice>;

absl::StatusOr<ChoiceMap> ByName(const ShardingChoices& choices) {
  ChoiceMap by_name;
  if (!choices.is_container()) return by_name;
  TESSERA_ASSIGN_OR_RETURN(const auto flat,
                           tree::FlattenForBroadcast(choices, {.mappings_only = false}));
  for (const auto& [name, node] : flat) {
    if (node.is_leaf()) by_name.emplace(name, node.leaf());
  }
  return by_name;
}

absl::Status NoMesh(const mesh::PartitionSpec& spec) {
  return WithKind(FailedPrecondition("the spec ", spec.Text(), " needs a mesh"),
                  ErrorKind::kNoMesh);
}

// Errors of many arrays as one.
class Complaints {
 public:
  void Add(std::string_view name, const absl::Status& status) {
    if (count_++ == 0) first_ = status;
    if (count_ > kMost) return;
    text_ += Concat(count_ == 1 ? "" : "; ", name.empty() ? "the root" : name, ": ",
                    std::string_view(status.message().data(), status.message().size()));
  }

  absl::Status Status() const {
    if (count_ == 0) return absl::OkStatus();
    std::string text = text_;
    if (count_ > 1) text = Concat(count_, " arrays cannot be placed: ", text);
    if (count_ > kMost) text += Concat("; and ", count_ - kMost, " others");
    absl::Status status(first_.code(), text);
    first_.ForEachPayload(
        [&](absl::string_view url, const absl::Cord& payload) { status.SetPayload(url, payload); });
    return status;
  }

 private:
  static constexpr int64_t kMost = 20;
  int64_t count_ = 0;
  absl::Status first_;
  std::string text_;
};

class Placer {
 public:
  static absl::StatusOr<Placer> Make(std::span<const CheckpointArray* const> arrays,
                                     const PlacementRequest& request) {
    Placer placer(request);
    TESSERA_ASSIGN_OR_RETURN(placer.choices_, ByName(request.shardings));
    TESSERA_RETURN_IF_ERROR(placer.MatchRules(arrays));
    return placer;
  }

  absl::StatusOr<Placement> Place(const CheckpointArray& array, size_t i) {
    TESSERA_ASSIGN_OR_RETURN(std::optional<Placement> chosen, ByChoice(array));
    if (chosen.has_value()) return *std::move(chosen);
    if (request_.rules.has_value()) return ByRule(array, i);
    const auto target = request_.targets.find(array.name);
    if (target != request_.targets.end()) {
      return Bound(array, target->second, PlacedBy::kTarget);
    }
    return ByDefault();
  }

 private:
  explicit Placer(const PlacementRequest& request) : request_(request) {}

  // Non-strict: the rules do not look at shapes, and every leaf needs one.
  absl::Status MatchRules(std::span<const CheckpointArray* const> arrays) {
    if (!request_.rules.has_value()) return absl::OkStatus();
    std::vector<mesh::NamedLeaf> leaves;
    leaves.reserve(arrays.size());
    for (const CheckpointArray* array : arrays) leaves.push_back({array->RuleName(), {}});
    const mesh::MatchOptions options{.strict = false,
                                     .on_unmatched = mesh::MatchOptions::OnUnmatched::kReplicate};
    TESSERA_ASSIGN_OR_RETURN(mesh::RuleMatches matches,
                             mesh::MatchLeaves(*request_.rules, leaves, options));
    matches_ = std::move(matches.leaves);
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Placement>> ByChoice(const CheckpointArray& array) {
    const ShardingChoice* choice = nullptr;
    if (request_.shardings.is_leaf()) choice = &request_.shardings.leaf();
    const auto own = choices_.find(array.name);
    if (own != choices_.end()) choice = &own->second;
    if (choice == nullptr) return std::nullopt;
    if (const auto* spec = std::get_if<mesh::PartitionSpec>(choice)) {
      return FromSpec(array, *spec, PlacedBy::kSharding);
    }
    if (const auto* function = std::get_if<ShardingFunction>(choice)) {
      TESSERA_ASSIGN_OR_RETURN(ChosenSharding chosen, (*function)(array.Record()));
      if (!chosen.has_value()) return std::nullopt;
      return Bound(array, *std::move(chosen), PlacedBy::kSharding);
    }
    const auto* named = std::get_if<mesh::NamedSharding>(choice);
    return Bound(array,
                 named != nullptr ? mesh::Sharding(*named)
                                  : mesh::Sharding(std::get<mesh::SingleDeviceSharding>(*choice)),
                 PlacedBy::kSharding);
  }

  absl::StatusOr<Placement> ByRule(const CheckpointArray& array, size_t i) {
    const mesh::LeafMatch& match = matches_[i];
    if (!match.rule.has_value()) return InvalidArgument("no partition rule matches");
    TESSERA_ASSIGN_OR_RETURN(Placement placed,
                             FromSpec(array, (*request_.rules)[*match.rule].spec, PlacedBy::kRule));
    placed.rule = match.rule;
    return placed;
  }

  absl::StatusOr<Placement> ByDefault() const {
    if (!request_.mesh.has_value()) {
      return Placement{mesh::SingleDeviceSharding{request_.default_device}, PlacedBy::kDevice};
    }
    if (request_.mesh->empty()) {
      return WithKind(FailedPrecondition("the mesh given is empty"), ErrorKind::kNoMesh);
    }
    if (request_.mesh->rank() > 1) {
      return InvalidArgument("no sharding is given, and ", request_.mesh->Text(),
                             " has more than one axis");
    }
    return Placement{mesh::NamedSharding::Replicated(*request_.mesh), PlacedBy::kMesh};
  }

  absl::StatusOr<Placement> FromSpec(const CheckpointArray& array, const mesh::PartitionSpec& spec,
                                     PlacedBy by) {
    if (!request_.mesh.has_value()) return NoMesh(spec);
    // Axes are looked for before the spec is cut: one that the mesh lacks is always a mistake.
    TESSERA_ASSIGN_OR_RETURN(mesh::NamedSharding asked,
                             mesh::NamedSharding::Make(*request_.mesh, spec));
    return Bound(array, std::move(asked), by);
  }

  // Cut to the rank and, if asked for, corrected; then held against the shape.
  absl::StatusOr<Placement> Bound(const CheckpointArray& array, mesh::Sharding sharding,
                                  PlacedBy by) {
    Placement placed{std::move(sharding), by};
    const Dims& shape = array.shape();
    if (auto* named = std::get_if<mesh::NamedSharding>(&placed.sharding)) {
      TESSERA_ASSIGN_OR_RETURN(mesh::NamedSharding fitted, Fitted(*named, shape, placed));
      placed.sharding = std::move(fitted);
    }
    TESSERA_RETURN_IF_ERROR(mesh::ShardShape(placed.sharding, shape));
    return placed;
  }

  absl::StatusOr<mesh::NamedSharding> Fitted(const mesh::NamedSharding& asked, DimsView shape,
                                             Placement& placed) {
    if (asked.mesh().empty()) {
      return WithKind(FailedPrecondition("nothing can be placed on the empty mesh"),
                      ErrorKind::kNoMesh);
    }
    const auto rank = static_cast<int>(shape.size());
    mesh::PartitionSpec spec = asked.spec();
    for (int d = rank; d < asked.spec().size(); ++d) {
      if (asked.spec()[d].replicated()) continue;
      placed.corrections.push_back(
          {d, asked.spec()[d], mesh::SpecEntry(), mesh::CorrectionReason::kPastTheRank});
    }
    if (spec.size() > rank) {
      spec =
          mesh::PartitionSpec(std::vector(spec.entries().begin(), spec.entries().begin() + rank));
    }
    if (request_.auto_correct) TESSERA_RETURN_IF_ERROR(Correct(asked.mesh(), shape, spec, placed));
    if (spec == asked.spec()) return asked;
    return mesh::NamedSharding::Make(asked.mesh(), std::move(spec), asked.memory_kind());
  }

  // Only what does not divide is dropped: a choice that is left to the runtime stays an error.
  static absl::Status Correct(const mesh::Mesh& mesh, DimsView shape, mesh::PartitionSpec& spec,
                              Placement& placed) {
    for (const mesh::SpecEntry& entry : spec.entries()) {
      if (entry.unconstrained()) return absl::OkStatus();
    }
    mesh::CorrectedSpec corrected = mesh::CorrectSpec(mesh, shape, spec);
    if (corrected.corrections.empty()) return absl::OkStatus();
    spec = std::move(corrected.spec);
    placed.corrections.insert(placed.corrections.end(), corrected.corrections.begin(),
                              corrected.corrections.end());
    return absl::OkStatus();
  }

  const PlacementRequest& request_;
  ChoiceMap choices_;
  std::vector<mesh::LeafMatch> matches_;
};

TargetLeaf TargetOfArray(const array::ShardedArray& array) {
  return {array.shape_dtype(), array.sharding(), {}};
}
TargetLeaf TargetOfArray(const array::HostArray& array) { return {array.shape_dtype(), {}, {}}; }
TargetLeaf TargetOfArray(const array::Opaque& value) { return {{}, {}, value}; }

}  // namespace

absl::StatusOr<TargetTree> TargetOf(const array::ValueTree& state) {
  return tree::Map(state, [](const array::Value& value) {
    return std::visit([](const auto& held) { return TargetOfArray(held); }, value);
  });
}

std::string_view PlacedByText(PlacedBy by) {
  switch (by) {
    case PlacedBy::kSharding:
      return "sharding";
    case PlacedBy::kRule:
      return "rule";
    case PlacedBy::kTarget:
      return "target";
    case PlacedBy::kMesh:
      return "mesh";
    case PlacedBy::kDevice:
      return "device";
  }
  return "";
}

absl::StatusOr<std::vector<Placement>> PlaceArrays(std::span<const CheckpointArray* const> arrays,
                                                   const PlacementRequest& request) {
  TESSERA_ASSIGN_OR_RETURN(Placer placer, Placer::Make(arrays, request));
  std::vector<Placement> placements;
  placements.reserve(arrays.size());
  Complaints complaints;
  for (size_t i = 0; i < arrays.size(); ++i) {
    auto placed = placer.Place(*arrays[i], i);
    if (placed.ok()) {
      placements.push_back(*std::move(placed));
    } else {
      complaints.Add(arrays[i]->name, placed.status());
    }
  }
  TESSERA_RETURN_IF_ERROR(complaints.Status());
  return placements;
}

}  // namespace tessera::checkpoint
