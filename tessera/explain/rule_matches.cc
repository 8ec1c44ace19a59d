#include "tessera/explain/rule_matches.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tessera/core/nearest.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/regex/python_regex.h"
#include "tessera/regex/rule_matcher.h"

namespace tessera::explain {
namespace {

using Found = std::vector<std::optional<size_t>>;
using Names = std::span<const std::string_view>;

absl::StatusOr<Found> Search(std::vector<std::string> patterns, Names names) {
  TESSERA_ASSIGN_OR_RETURN(const auto matcher, regex::RuleMatcher::Make(patterns));
  return matcher.FirstMatches(names);
}

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// The rules that compile.
std::vector<size_t> GoodRules(std::span<const mesh::PartitionRule> rules, MatchedRules& matched) {
  std::vector<size_t> good;
  for (size_t i = 0; i < rules.size(); ++i) {
    const auto compiled = regex::PythonRegex::Compile(rules[i].pattern);
    if (compiled.ok()) {
      good.push_back(i);
    } else {
      matched.bad.emplace(i, compiled.status().message());
    }
  }
  return good;
}

absl::StatusOr<Found> FindFirst(std::span<const mesh::PartitionRule> rules,
                                std::span<const size_t> good, Names names) {
  std::vector<std::string> patterns;
  for (size_t rule : good) patterns.push_back(rules[rule].pattern);
  TESSERA_ASSIGN_OR_RETURN(Found found, Search(std::move(patterns), names));
  for (auto& rule : found) {
    if (rule.has_value()) rule = good[*rule];
  }
  return found;
}

// Takes out those that cannot be searched for in these names.
void DropEndless(std::span<const mesh::PartitionRule> rules, Names names, std::vector<size_t>& good,
                 MatchedRules& matched) {
  std::erase_if(good, [&](size_t rule) {
    const auto found = Search({rules[rule].pattern}, names);
    if (!found.ok()) matched.bad.emplace(rule, found.status().message());
    return !found.ok();
  });
}

// Components of names that are no numbers.
std::vector<std::string_view> PartsOf(Names names) {
  std::set<std::string_view> parts;
  for (std::string_view name : names) {
    for (size_t begin = 0; begin <= name.size();) {
      const size_t end = std::min(name.find('/', begin), name.size());
      const std::string_view part = name.substr(begin, end - begin);
      if (part.find_first_not_of("0123456789") != std::string_view::npos) parts.insert(part);
      begin = end + 1;
    }
  }
  return {parts.begin(), parts.end()};
}

// The pattern with one of its words made a part that is near it.
std::vector<std::string> OtherWords(const std::string& pattern, Names names) {
  const std::vector<std::string_view> parts = PartsOf(names);
  std::vector<std::string> others;
  for (size_t begin = 0; begin < pattern.size();) {
    size_t end = begin;
    while (end < pattern.size() && IsWord(pattern[end])) ++end;
    const std::string word = pattern.substr(begin, end - begin);
    const bool is_escape = begin > 0 && pattern[begin - 1] == '\\';
    if (word.size() > 2 && !is_escape &&
        !std::binary_search(parts.begin(), parts.end(), std::string_view(word))) {
      for (const std::string& near : NearestNames(word, parts, 3)) {
        others.push_back(Concat(pattern.substr(0, begin), near, pattern.substr(end)));
      }
    }
    begin = std::max(end, begin + 1);
  }
  return others;
}

// Common mistakes, undone: dots for slashes, anchors on a part of a key, letters.
std::vector<std::string> OtherPatterns(const std::string& pattern, Names names) {
  std::vector<std::string> others;
  std::string slashed;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const bool is_dot = pattern[i] == '\\' && i + 1 < pattern.size() && pattern[i + 1] == '.';
    slashed += is_dot ? '/' : pattern[i];
    if (is_dot) ++i;
  }
  if (slashed != pattern) others.push_back(slashed);
  if (pattern.starts_with('^')) others.push_back(pattern.substr(1));
  if (pattern.ends_with('$')) others.push_back(pattern.substr(0, pattern.size() - 1));
  for (std::string& other : OtherWords(pattern, names)) others.push_back(std::move(other));
  return others;
}

}  // namespace

absl::StatusOr<MatchedRules> MatchGoodRules(std::span<const mesh::PartitionRule> rules,
                                            Names names) {
  for (std::string_view name : names) {
    const absl::Status fit = regex::PythonRegex::CheckSubject(name);
    if (!fit.ok()) return Prefixed(fit, Concat("the key ", Quoted(name)));
  }
  MatchedRules matched;
  std::vector<size_t> good = GoodRules(rules, matched);
  auto found = FindFirst(rules, good, names);
  if (!found.ok()) {
    DropEndless(rules, names, good, matched);
    found = FindFirst(rules, good, names);
  }
  if (!found.ok()) return found.status();
  matched.rule_of = *std::move(found);
  return matched;
}

std::vector<size_t> NamesWith(const std::string& pattern, Names names) {
  std::vector<size_t> with;
  const auto found = Search({pattern}, names);
  for (size_t i = 0; found.ok() && i < found->size(); ++i) {
    if ((*found)[i].has_value()) with.push_back(i);
  }
  return with;
}

std::string MeantPattern(const std::string& pattern, Names names) {
  // Each is one more search in all names.
  constexpr size_t kMostTried = 8;
  const std::vector<std::string> others = OtherPatterns(pattern, names);
  for (size_t i = 0; i < others.size() && i < kMostTried; ++i) {
    const std::vector<size_t> found = NamesWith(others[i], names);
    if (found.empty() || others[i].empty()) continue;
    return Concat("did you mean ", Quoted(others[i]), ", which is found in ",
                  Quoted(names[found[0]]), "?");
  }
  return "";
}

}  // namespace tessera::explain
