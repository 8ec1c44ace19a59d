// Lint: what is wrong with partition rules for a checkpoint, all of it at once.
#ifndef TESSERA_EXPLAIN_LINT_H_
#define TESSERA_EXPLAIN_LINT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/rules.h"

namespace tessera::explain {

// Arrays with the same trouble share one problem.
struct LintProblem {
  // "bad_pattern"    the pattern is no regular expression, or backtracks without end
  // "unknown_axis"   the mesh lacks an axis of the spec
  // "duplicate_axis" the spec names an axis twice
  // "unconstrained"  the spec leaves a dimension to the runtime, which a load cannot
  // "indivisible"    an axis does not divide a dimension
  // "spec_too_long"  the spec splits a dimension that the array does not have
  // "unmatched_key"  no rule takes the key
  // "shadowed_rule"  earlier rules take all that it would match
  // "unused_rule"    the pattern is found in no key
  // "replicated"     a note: large arrays that every device holds whole
  std::string kind;
  std::optional<size_t> rule = {};
  std::string detail;
  std::string suggestion = {};         // what to try; may be empty
  std::vector<std::string> keys = {};  // dotted, all that it speaks of
  friend bool operator==(const LintProblem&, const LintProblem&) = default;

  bool is_note() const { return kind == "replicated"; }
};

// An array as rules see it.
struct LintArray {
  std::string name;       // dotted
  std::string rule_name;  // with slashes
  ShapeDtype about;
};
// In natural order.
std::vector<LintArray> LintArrays(const checkpoint::Checkpoint& checkpoint);

// In the order of the kinds above, then of the rules.  Without a mesh only what can be said without
// one.  InvalidArgument and ResourceExhausted for names that no pattern can be searched in
// (PythonRegex::CheckSubject).
absl::StatusOr<std::vector<LintProblem>> Lint(std::span<const LintArray> arrays,
                                              std::span<const mesh::PartitionRule> rules,
                                              const std::optional<mesh::Mesh>& mesh = {});

}  // namespace tessera::explain

#endif  // TESSERA_EXPLAIN_LINT_H_
