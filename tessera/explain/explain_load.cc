#include "tessera/explain/explain_load.h"

#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "tessera/core/nearest.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/explain/warnings.h"
#include "tessera/mesh/sharding.h"
#include "tessera/regex/rule_matcher.h"

namespace tessera::explain {
namespace {

using checkpoint::ArrayPlan;
using checkpoint::Checkpoint;
using checkpoint::LoadPlan;

// Takes the arrays that no rule of the caller's takes.
const mesh::PartitionRule kReplicateTheRest{".*", {}};

// By rule: what is wrong with its spec on this mesh, whatever the array.
std::map<size_t, std::string> BadSpecs(const ExplainRequest& request) {
  std::map<size_t, std::string> bad;
  std::vector<std::string_view> known;
  for (const mesh::Axis& axis : request.mesh.axes()) known.push_back(axis.name);
  for (size_t i = 0; i < request.rules.size(); ++i) {
    const auto bound = mesh::NamedSharding::Make(request.mesh, request.rules[i].spec);
    if (bound.ok()) continue;
    bad[i] = std::string(bound.status().message());
    for (const mesh::SpecEntry& entry : request.rules[i].spec.entries()) {
      for (const std::string& axis : entry.axes()) {
        if (!request.mesh.FindAxis(axis).has_value()) bad[i] += DidYouMean(axis, known);
      }
    }
  }
  return bad;
}

checkpoint::LoadRequest LoadRequestOf(const ExplainRequest& request) {
  checkpoint::LoadRequest load{.mesh = request.mesh,
                               .rules = request.rules,
                               .auto_correct = !request.strict,
                               .select = request.match,
                               .cast = request.cast};
  if (!request.strict) load.rules->push_back(kReplicateTheRest);
  return load;
}

// An error for the bad specs that some array would get: others do no harm.
absl::Status CheckSpecs(const Checkpoint& checkpoint, ExplainRequest request) {
  const std::map<size_t, std::string> bad = BadSpecs(request);
  if (bad.empty()) return absl::OkStatus();
  for (const auto& [rule, problem] : bad) request.rules[rule].spec = {};
  request.strict = false;
  TESSERA_ASSIGN_OR_RETURN(const LoadPlan plan, PlanLoad(checkpoint, LoadRequestOf(request)));
  std::set<size_t> used;
  for (const ArrayPlan& array : plan.arrays) used.insert(*array.placement.rule);
  std::string text;
  for (const auto& [rule, problem] : bad) {
    if (!used.contains(rule)) continue;
    text += Concat(text.empty() ? "" : "; ", "rule ", rule, " ",
                   Quoted(request.rules[rule].pattern), ": ", problem);
  }
  return text.empty() ? absl::OkStatus() : InvalidArgument(text);
}

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// The plan's arrays were each counted by NumBytes, so that theirs fit.
int64_t BytesOf(const ArrayPlan& array) {
  return NumBytes(array.dtype, array.stored.shape).value_or(std::numeric_limits<int64_t>::max());
}

void AddUp(LoadExplanation& explanation) {
  explanation.rule_uses.resize(explanation.rules.size());
  for (ArrayPlan& array : explanation.plan.arrays) {
    const int64_t bytes = BytesOf(array);
    explanation.nbytes = Sum(explanation.nbytes, bytes);
    explanation.read_bytes = Sum(explanation.read_bytes, array.read_bytes);
    explanation.requests = Sum(explanation.requests, array.requests);
    explanation.decoded_bytes = Sum(explanation.decoded_bytes, array.decoded_bytes);
    explanation.wanted_bytes = Sum(explanation.wanted_bytes, array.wanted_bytes);
    if (array.placement.rule >= explanation.rules.size()) {
      array.placement.rule.reset();
      array.placement.by = checkpoint::PlacedBy::kMesh;
      continue;
    }
    RuleUse& use = explanation.rule_uses[*array.placement.rule];
    ++use.arrays;
    use.bytes = Sum(use.bytes, bytes);
  }
  for (const checkpoint::DevicePlan& device : explanation.plan.devices) {
    if (device.bytes > explanation.device_budget.value_or(std::numeric_limits<int64_t>::max())) {
      explanation.over_budget.push_back(device.device.id);
    }
  }
}

// For each rule that decides nothing: the one that took the first array in which it is found.
absl::Status FindShadows(const Checkpoint& checkpoint, LoadExplanation& explanation) {
  std::vector<std::string> names;
  for (size_t rule = 0; rule < explanation.rules.size(); ++rule) {
    if (explanation.rule_uses[rule].arrays > 0) continue;
    if (names.empty()) {
      for (const ArrayPlan& array : explanation.plan.arrays) {
        names.push_back(checkpoint.arrays()[array.array].RuleName());
      }
    }
    const std::vector<std::string> pattern{explanation.rules[rule].pattern};
    TESSERA_ASSIGN_OR_RETURN(const auto matcher, regex::RuleMatcher::Make(pattern));
    const std::vector<std::string_view> views(names.begin(), names.end());
    TESSERA_ASSIGN_OR_RETURN(const auto found, matcher.FirstMatches(views));
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i].has_value()) continue;
      explanation.rule_uses[rule].shadowed_by = explanation.plan.arrays[i].placement.rule;
      break;
    }
  }
  return absl::OkStatus();
}

int HostsOf(const mesh::Mesh& mesh) {
  std::set<int> processes;
  for (const mesh::Device& device : mesh.devices()) processes.insert(device.process);
  return static_cast<int>(processes.size());
}

}  // namespace

absl::StatusOr<mesh::Mesh> DealToHosts(const mesh::Mesh& mesh, int64_t hosts) {
  if (hosts < 1 || mesh.size() % hosts != 0) {
    return InvalidArgument("the ", mesh.size(), " devices of ", mesh.Text(),
                           " cannot be dealt evenly to ", hosts,
                           " hosts; the number of hosts must divide that of devices");
  }
  if (mesh.empty()) return mesh;
  std::vector<mesh::Device> devices(mesh.devices().begin(), mesh.devices().end());
  const int64_t each = mesh.size() / hosts;
  for (int64_t i = 0; i < mesh.size(); ++i) devices[i].process = static_cast<int>(i / each);
  return mesh::Mesh::Make({mesh.axes().begin(), mesh.axes().end()}, std::move(devices));
}

absl::StatusOr<LoadExplanation> ExplainLoad(const Checkpoint& checkpoint,
                                            const ExplainRequest& request) {
  TESSERA_RETURN_IF_ERROR(CheckSpecs(checkpoint, request));
  LoadExplanation explanation{.mesh = request.mesh,
                              .hosts = HostsOf(request.mesh),
                              .rules = request.rules,
                              .device_budget = request.device_budget};
  TESSERA_ASSIGN_OR_RETURN(explanation.plan, PlanLoad(checkpoint, LoadRequestOf(request),
                                                      {.budget_bytes = request.memory_budget}));
  AddUp(explanation);
  TESSERA_RETURN_IF_ERROR(FindShadows(checkpoint, explanation));
  explanation.warnings = FindWarnings(checkpoint, explanation, request.match.empty());
  return explanation;
}

}  // namespace tessera::explain
