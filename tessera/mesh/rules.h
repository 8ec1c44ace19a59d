// Partition rules: the spec of each leaf is that of the first rule whose pattern its name holds.
#ifndef TESSERA_MESH_RULES_H_
#define TESSERA_MESH_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/json.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera::mesh {

// `pattern` is a Python regular expression, searched anywhere in a leaf's slash path.
struct PartitionRule {
  std::string pattern;
  PartitionSpec spec;
  friend bool operator==(const PartitionRule&, const PartitionRule&) = default;
};

// [pattern, spec].  InvalidArgument starting with `path` when the value is no rule.
absl::StatusOr<PartitionRule> PartitionRuleFromJson(const Json& value, std::string_view path);

// An ordered list of them, as a rules file holds it (rules_file.h).
absl::StatusOr<std::vector<PartitionRule>> PartitionRulesFromJson(const Json& value);
Json ToJson(std::span<const PartitionRule> rules);

struct MatchOptions {
  // Arrays of fewer elements get P(); nullopt takes MIN_SHARDING_SIZE.  Only when strict.
  std::optional<int64_t> min_size = 0;
  // Look at shapes: leaves without one and scalars get P() and need no rule; specs are cut to the
  // rank.  Otherwise the rule's spec goes as written to every leaf.
  bool strict = true;
  // What a leaf that no rule takes comes to: an error that lists all such leaves, or P().
  enum class OnUnmatched { kError, kReplicate } on_unmatched = OnUnmatched::kError;
  // When given, and strict: every spec must be bindable to this mesh and divide its array.
  std::optional<Mesh> mesh = {};
};

// A leaf to match: its slash path, and its shape if it has one.
struct NamedLeaf {
  std::string name;
  std::optional<Dims> shape;
};

// What became of a leaf.
struct LeafMatch {
  PartitionSpec spec;
  // The rule whose pattern was found, even if size or rank then changed its spec; nullopt when
  // none was or none was asked.
  std::optional<size_t> rule;
  friend bool operator==(const LeafMatch&, const LeafMatch&) = default;
};

struct RuleMatches {
  std::vector<LeafMatch> leaves;       // in the order given
  std::vector<size_t> unused_rules;    // decided no leaf
  std::vector<std::string> unmatched;  // names of leaves that no rule took
};

// InvalidArgument for a pattern that is no regular expression, for unmatched leaves (unless
// replicated by option) and for specs that do not fit the mesh given; ResourceExhausted for a
// pattern that backtracks without end.
absl::StatusOr<RuleMatches> MatchLeaves(std::span<const PartitionRule> rules,
                                        std::span<const NamedLeaf> leaves,
                                        const MatchOptions& options = {});

// Of the rules that decided no leaf, those whose pattern is found in some name all the same: an
// earlier rule was there first.
absl::StatusOr<std::vector<size_t>> FindShadowedRules(std::span<const PartitionRule> rules,
                                                      std::span<const NamedLeaf> leaves,
                                                      const RuleMatches& matches);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_RULES_H_
