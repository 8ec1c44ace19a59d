#include "tessera/regex/rule_matcher.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "tessera/core/mutex.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/regex/literal_scanner.h"
#include "tessera/regex/python_regex.h"
#include "tessera/regex/python_regex_syntax.h"
#include "tessera/regex/python_regex_trim.h"
#include "tessera/regex/rule_filter.h"

namespace tessera::regex {
namespace {

// All literals together; rules beyond it are matched without a filter.
constexpr size_t kMostLiteralBytes = size_t{1} << 16;

// Fewer names are not worth another thread.
constexpr int64_t kNamesPerTask = 1024;

// Some bits of one word of a bit set.
struct WordMask {
  uint32_t word = 0;
  uint64_t bits = 0;
};
using LiteralMask = std::vector<WordMask>;  // one of these literals

using FoundLiterals = absl::InlinedVector<uint64_t, 16>;

bool Meets(const LiteralMask& mask, const FoundLiterals& found) {
  return std::any_of(mask.begin(), mask.end(),
                     [&](const WordMask& part) { return (found[part.word] & part.bits) != 0; });
}

struct Rule {
  PythonRegex regex;
  bool finds_everything = false;
  bool is_exact = false;
  std::vector<LiteralMask> required;

  bool IsCandidate(const FoundLiterals& found) const {
    return std::all_of(required.begin(), required.end(),
                       [&](const LiteralMask& mask) { return Meets(mask, found); });
  }

  // Whether the rule is found in every name of which it is a candidate.
  bool is_decided() const { return finds_everything || is_exact; }
};

// Numbers the literals of all rules.
class LiteralTable {
 public:
  // nullopt: there is no more room.
  std::optional<LiteralMask> MaskOf(const TextSet& texts) {
    LiteralMask mask;
    for (const std::string& text : texts) {
      const auto number = NumberOf(text);
      if (!number.has_value()) return std::nullopt;
      AddBit(*number, mask);
    }
    return mask;
  }

  const std::vector<std::string>& literals() const { return literals_; }

 private:
  std::optional<size_t> NumberOf(const std::string& text) {
    const auto known = numbers_.find(text);
    if (known != numbers_.end()) return known->second;
    if (text.size() > kMostLiteralBytes - bytes_) return std::nullopt;
    bytes_ += text.size();
    literals_.push_back(text);
    numbers_.emplace(text, literals_.size() - 1);
    return literals_.size() - 1;
  }

  static void AddBit(size_t number, LiteralMask& mask) {
    const auto word = static_cast<uint32_t>(number / 64);
    const uint64_t bit = uint64_t{1} << (number % 64);
    for (WordMask& part : mask) {
      if (part.word != word) continue;
      part.bits |= bit;
      return;
    }
    mask.push_back({word, bit});
  }

  std::unordered_map<std::string, size_t> numbers_;
  std::vector<std::string> literals_;
  size_t bytes_ = 0;
};

absl::StatusOr<Rule> MakeRule(const std::string& pattern, LiteralTable& table) {
  TESSERA_ASSIGN_OR_RETURN(RegexSyntax syntax, ParsePythonRegex(pattern));
  TESSERA_ASSIGN_OR_RETURN(PythonRegex regex, PythonRegex::Compile(pattern));
  const RuleFilter filter = FilterOf(TrimForSearch(std::move(syntax)));
  Rule rule{std::move(regex), filter.finds_everything, filter.is_exact, {}};
  for (const TextSet& texts : filter.required) {
    if (auto mask = table.MaskOf(texts)) {
      rule.required.push_back(*std::move(mask));
    } else {
      rule.is_exact = false;
    }
  }
  return rule;
}

// The error of the first of many names, found in any order.
class FirstError {
 public:
  void Add(size_t name, absl::Status status) {
    MutexLock lock(mutex_);
    if (name >= name_.load(std::memory_order_relaxed)) return;
    name_.store(name, std::memory_order_relaxed);
    status_ = std::move(status);
  }

  // Names from here on need no answer any more.
  size_t name() const { return name_.load(std::memory_order_relaxed); }

  absl::Status status() const {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  std::atomic<size_t> name_ = std::numeric_limits<size_t>::max();
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

struct RuleMatcher::Rules {
  std::vector<Rule> rules;
  LiteralScanner scanner;
  size_t literal_words = 0;
};

absl::StatusOr<RuleMatcher> RuleMatcher::Make(std::span<const std::string> patterns) {
  LiteralTable table;
  std::vector<Rule> rules;
  rules.reserve(patterns.size());
  for (size_t i = 0; i < patterns.size(); ++i) {
    auto rule = MakeRule(patterns[i], table);
    if (!rule.ok()) return Prefixed(rule.status(), Concat("rule ", i));
    rules.push_back(*std::move(rule));
  }
  return RuleMatcher(std::make_shared<const Rules>(
      Rules{std::move(rules), LiteralScanner(table.literals()), table.literals().size() / 64 + 1}));
}

absl::StatusOr<std::optional<size_t>> RuleMatcher::FirstMatch(std::string_view name) const {
  const std::vector<Rule>& rules = rules_->rules;
  if (!rules.empty()) TESSERA_RETURN_IF_ERROR(PythonRegex::CheckSubject(name));
  FoundLiterals found(rules_->literal_words, 0);
  rules_->scanner.Scan(name, found);
  for (size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    if (!rule.IsCandidate(found)) continue;
    if (rule.is_decided()) return i;
    const auto matches = rule.regex.Search(name);
    if (!matches.ok()) return Prefixed(matches.status(), Concat("rule ", i));
    if (*matches) return i;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<std::optional<size_t>>> RuleMatcher::FirstMatches(
    std::span<const std::string_view> names) const {
  std::vector<std::optional<size_t>> matches(names.size());
  FirstError error;
  const auto match_range = [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (i >= error.name()) return;
      auto match = FirstMatch(names[i]);
      if (match.ok()) {
        matches[i] = *match;
      } else {
        error.Add(i, std::move(match).status());
      }
    }
  };
  ParallelFor(static_cast<int64_t>(names.size()), kNamesPerTask, match_range);
  TESSERA_RETURN_IF_ERROR(error.status());
  return matches;
}

size_t RuleMatcher::size() const { return rules_->rules.size(); }

}  // namespace tessera::regex
