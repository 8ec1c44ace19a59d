// rules: the first partition rule that is found in each key.
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "bench/ours/verbs.h"
#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/regex/rule_matcher.h"

namespace tessera::bench {
namespace {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(path, ": cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> LinesOf(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

// Of [[pattern, spec], ...] the patterns.
absl::StatusOr<std::vector<std::string>> PatternsOf(const std::string& text) {
  TESSERA_ASSIGN_OR_RETURN(const Json rules, ParseJson(text));
  if (!rules.is_array()) return InvalidArgument("the rules are no list");
  std::vector<std::string> patterns;
  for (const Json& rule : rules) {
    if (!rule.is_array() || rule.empty() || !rule[0].is_string()) {
      return InvalidArgument("rule ", patterns.size(), " is no [pattern, spec]");
    }
    patterns.push_back(rule[0].get<std::string>());
  }
  return patterns;
}

using Matches = std::vector<std::optional<size_t>>;

// InvalidArgument for a name that no rule takes.
absl::StatusOr<std::string> DigestOfMatches(std::span<const std::string_view> names,
                                            const Matches& matches) {
  Digest digest;
  for (size_t i = 0; i < matches.size(); ++i) {
    if (!matches[i].has_value()) return InvalidArgument("no rule for ", names[i]);
    if (i > 0) digest.Add("\n");
    digest.Add(std::to_string(*matches[i]));
  }
  return digest.Hex();
}

}  // namespace

absl::StatusOr<Result> MatchRules(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const bool wants_digest, arguments.digest());
  TESSERA_ASSIGN_OR_RETURN(const std::string names_text, ReadText(arguments.Text("names")));
  TESSERA_ASSIGN_OR_RETURN(const std::string rules_text, ReadText(arguments.Text("rules")));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> patterns, PatternsOf(rules_text));
  const std::vector<std::string> lines = LinesOf(names_text);
  const std::vector<std::string_view> names(lines.begin(), lines.end());
  // Compiled before, as in bench/peers: a program does that once and matches many trees.
  TESSERA_ASSIGN_OR_RETURN(const auto matcher, regex::RuleMatcher::Make(patterns));
  Matches matches;
  const auto drop = [&] {
    matches.clear();
    return absl::OkStatus();
  };
  Result result;
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, drop, [&]() -> absl::Status {
                             TESSERA_ASSIGN_OR_RETURN(matches, matcher.FirstMatches(names));
                             return absl::OkStatus();
                           }));
  result.bytes = static_cast<int64_t>(names_text.size());
  result.more = {{"names", static_cast<int64_t>(names.size())},
                 {"rules", static_cast<int64_t>(patterns.size())}};
  TESSERA_ASSIGN_OR_RETURN(std::string digest, DigestOfMatches(names, matches));
  if (wants_digest) result.digest = std::move(digest);
  return result;
}

}  // namespace tessera::bench
