#include "tessera/mesh/rules.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/mesh/settings.h"
#include "tessera/mesh/sharding.h"
#include "tessera/regex/python_regex.h"
#include "tessera/regex/rule_matcher.h"

namespace tessera::mesh {
namespace {

// As many names as a message can hold and a person will read.
constexpr size_t kMaxListed = 20;

std::string ListNames(std::span<const std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMaxListed; ++i) {
    text += Concat(i > 0 ? ", " : "", "'", names[i], "'");
  }
  if (names.size() > kMaxListed) text += Concat(" and ", names.size() - kMaxListed, " more");
  return text;
}

// Rules speak of leaves with dimensions; without strictness, of every leaf.
bool NeedsRule(const NamedLeaf& leaf, const MatchOptions& options) {
  return !options.strict || (leaf.shape.has_value() && !leaf.shape->empty());
}

absl::StatusOr<std::vector<std::optional<size_t>>> FindRules(std::span<const PartitionRule> rules,
                                                             std::span<const NamedLeaf> leaves,
                                                             const MatchOptions& options) {
  std::vector<std::string> patterns;
  for (const PartitionRule& rule : rules) patterns.push_back(rule.pattern);
  TESSERA_ASSIGN_OR_RETURN(const regex::RuleMatcher matcher, regex::RuleMatcher::Make(patterns));
  std::vector<std::string_view> names;
  for (const NamedLeaf& leaf : leaves) {
    if (NeedsRule(leaf, options)) names.push_back(leaf.name);
  }
  TESSERA_ASSIGN_OR_RETURN(const auto found, matcher.FirstMatches(names));
  std::vector<std::optional<size_t>> result(leaves.size());
  size_t next = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (NeedsRule(leaves[i], options)) result[i] = found[next++];
  }
  return result;
}

PartitionSpec CutToRank(const PartitionSpec& spec, size_t rank) {
  if (static_cast<size_t>(spec.size()) <= rank) return spec;
  return PartitionSpec(std::vector(spec.entries().begin(), spec.entries().begin() + rank));
}

absl::StatusOr<PartitionSpec> SpecFor(const NamedLeaf& leaf, const PartitionSpec& spec,
                                      const MatchOptions& options, int64_t min_size) {
  if (!options.strict) return spec;
  const auto elements = NumElements(*leaf.shape);
  if (!elements.ok()) return Prefixed(elements.status(), leaf.name);
  if (*elements < min_size) return PartitionSpec();
  PartitionSpec cut = CutToRank(spec, leaf.shape->size());
  if (!options.mesh.has_value()) return cut;
  const auto sharding = NamedSharding::Make(*options.mesh, cut);
  if (!sharding.ok()) return Prefixed(sharding.status(), leaf.name);
  const auto shard = ShardShape(*sharding, *leaf.shape);
  if (!shard.ok()) return Prefixed(shard.status(), leaf.name);
  return cut;
}

}  // namespace

absl::StatusOr<PartitionRule> PartitionRuleFromJson(const Json& value, std::string_view path) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_string()) {
    return InvalidArgument(path, ": expected [pattern, spec], found ", value.dump());
  }
  TESSERA_ASSIGN_OR_RETURN(PartitionSpec spec,
                           PartitionSpecFromJson(value[1], Concat(path, "[1]")));
  return PartitionRule{value[0].get<std::string>(), std::move(spec)};
}

absl::StatusOr<std::vector<PartitionRule>> PartitionRulesFromJson(const Json& value) {
  if (!value.is_array()) {
    return InvalidArgument("rules: expected a list of [pattern, spec], found ", value.type_name());
  }
  std::vector<PartitionRule> rules;
  for (size_t i = 0; i < value.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(PartitionRule rule,
                             PartitionRuleFromJson(value[i], Concat("rules[", i, "]")));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Json ToJson(std::span<const PartitionRule> rules) {
  Json list = Json::array();
  for (const PartitionRule& rule : rules) {
    list.push_back(Json::array({rule.pattern, ToJson(rule.spec)}));
  }
  return list;
}

absl::StatusOr<RuleMatches> MatchLeaves(std::span<const PartitionRule> rules,
                                        std::span<const NamedLeaf> leaves,
                                        const MatchOptions& options) {
  int64_t min_size = options.min_size.value_or(0);
  if (!options.min_size.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(min_size, MinShardingSize());
  }
  TESSERA_ASSIGN_OR_RETURN(const auto found, FindRules(rules, leaves, options));
  RuleMatches result;
  result.leaves.resize(leaves.size());
  std::vector<bool> used(rules.size(), false);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!NeedsRule(leaves[i], options)) continue;
    if (!found[i].has_value()) {
      result.unmatched.push_back(leaves[i].name);
      continue;
    }
    used[*found[i]] = true;
    TESSERA_ASSIGN_OR_RETURN(PartitionSpec spec,
                             SpecFor(leaves[i], rules[*found[i]].spec, options, min_size));
    result.leaves[i] = {std::move(spec), found[i]};
  }
  if (!result.unmatched.empty() && options.on_unmatched == MatchOptions::OnUnmatched::kError) {
    return InvalidArgument("match_partition_rules: no rule takes ", ListNames(result.unmatched),
                           "; add one, for example ['.*', []] at the end");
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!used[i]) result.unused_rules.push_back(i);
  }
  return result;
}

absl::StatusOr<std::vector<size_t>> FindShadowedRules(std::span<const PartitionRule> rules,
                                                      std::span<const NamedLeaf> leaves,
                                                      const RuleMatches& matches) {
  std::vector<size_t> shadowed;
  for (size_t rule : matches.unused_rules) {
    TESSERA_ASSIGN_OR_RETURN(const regex::PythonRegex pattern,
                             regex::PythonRegex::Compile(rules[rule].pattern));
    for (const NamedLeaf& leaf : leaves) {
      TESSERA_ASSIGN_OR_RETURN(const bool found, pattern.Search(leaf.name));
      if (!found) continue;
      shadowed.push_back(rule);
      break;
    }
  }
  return shadowed;
}

}  // namespace tessera::mesh
