// LoadExplanation: what a load would do and why, before anything is read.
//
// The planner is the one that loads (checkpoint/plan_load.h); here its plan is held against the
// rules, the chunks and the memory there is, and what a person should know of it is put in words.
#ifndef TESSERA_EXPLAIN_EXPLAIN_LOAD_H_
#define TESSERA_EXPLAIN_EXPLAIN_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/plan_load.h"
#include "tessera/core/dtype.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/rules.h"

namespace tessera::explain {

struct ExplainRequest {
  mesh::Mesh mesh;
  std::vector<mesh::PartitionRule> rules;
  // Specs that do not divide and arrays that no rule takes are errors; else the specs are
  // corrected and the arrays replicated, with a warning.
  bool strict = false;
  // The most bytes that a device may hold.
  std::optional<int64_t> device_budget = {};
  // Of memory beside the result, per process.
  int64_t memory_budget = int64_t{1} << 30;
  // Only the arrays in whose dotted name the Python pattern is found.  Empty: all.
  std::string match = {};
  // Floating arrays become this.
  std::optional<DType> cast = {};
};

// What became of a rule.
struct RuleUse {
  int64_t arrays = 0;  // that it decides
  int64_t bytes = 0;   // of them, each counted once
  // It decides nothing, although its pattern is found: this earlier rule was there first.
  std::optional<size_t> shadowed_by = {};
  friend bool operator==(const RuleUse&, const RuleUse&) = default;
};

// What a person should know.  Arrays with the same trouble share one warning.
struct Warning {
  std::string kind;  // "corrected", "unmatched", "replicated", "over_budget", "amplification", ...
  std::string key;   // of the first array it speaks of; empty: it speaks of none
  std::string detail;
  int64_t arrays = 0;  // how many it speaks of
  friend bool operator==(const Warning&, const Warning&) = default;
};

struct LoadExplanation {
  mesh::Mesh mesh;
  int hosts = 1;
  std::vector<mesh::PartitionRule> rules;
  std::vector<RuleUse> rule_uses = {};  // of rules[i]
  // An array that no rule takes has placement.rule == nullopt.
  checkpoint::LoadPlan plan = {};
  std::optional<int64_t> device_budget = {};
  std::vector<int64_t> over_budget = {};  // ids of the devices that get more
  // Of all arrays, each counted once, with the dtypes of the result.
  int64_t nbytes = 0;
  // Of all processes together, as in checkpoint::ArrayPlan.
  int64_t read_bytes = 0;
  int64_t requests = 0;
  int64_t decoded_bytes = 0;
  int64_t wanted_bytes = 0;
  std::vector<Warning> warnings = {};

  // How often a wanted byte is decoded; 1 when none is wanted.
  double amplification() const {
    return wanted_bytes == 0
               ? 1
               : static_cast<double>(decoded_bytes) / static_cast<double>(wanted_bytes);
  }
};

// The mesh with its devices dealt to processes 0 .. hosts - 1, in order and as many to each.
// InvalidArgument unless `hosts` divides the number of devices.
absl::StatusOr<mesh::Mesh> DealToHosts(const mesh::Mesh& mesh, int64_t hosts);

// InvalidArgument, naming every rule that decides an array and has one, for axes that the mesh
// lacks or that stand twice in a spec; those of PlanLoad.
absl::StatusOr<LoadExplanation> ExplainLoad(const checkpoint::Checkpoint& checkpoint,
                                            const ExplainRequest& request);

}  // namespace tessera::explain

#endif  // TESSERA_EXPLAIN_EXPLAIN_LOAD_H_
