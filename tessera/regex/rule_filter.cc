#include "tessera/regex/rule_filter.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "tessera/core/text.h"

namespace tessera::regex {
namespace {

// Bounds on what is worth listing: a longer list filters less, a longer text not much more.
constexpr size_t kMostTexts = 64;
constexpr size_t kMostMembers = 16;
constexpr size_t kMostCopies = 4;
constexpr size_t kLongestText = 128;

// What is known of the texts that a node matches.
struct Facts {
  std::optional<TextSet> texts;   // every text that it can match, "" included; nullopt: too many
  bool exact = false;             // it matches each of `texts` wherever that stands
  std::vector<TextSet> required;  // the subject must hold one of each, here or elsewhere
};

Facts FactsOf(const RegexNode& node);
Facts FactsOf(const std::vector<RegexSequence>& alternatives);

bool HasEmpty(const TextSet& texts) {
  return std::any_of(texts.begin(), texts.end(), [](const auto& text) { return text.empty(); });
}

size_t ShortestOf(const TextSet& texts) {
  size_t shortest = texts.front().size();
  for (const std::string& text : texts) shortest = std::min(shortest, text.size());
  return shortest;
}

// Everything that the subject must hold for a node with these facts.
std::vector<TextSet> RequiredBy(const Facts& facts) {
  std::vector<TextSet> required = facts.required;
  if (facts.texts.has_value() && !HasEmpty(*facts.texts)) required.push_back(*facts.texts);
  return required;
}

// The set that is likely to be missing in most subjects.
std::optional<TextSet> BestOf(const std::vector<TextSet>& sets) {
  const auto better = [](const TextSet& a, const TextSet& b) {
    const size_t a_shortest = ShortestOf(a);
    const size_t b_shortest = ShortestOf(b);
    return a_shortest != b_shortest ? a_shortest > b_shortest : a.size() < b.size();
  };
  const auto best = std::min_element(sets.begin(), sets.end(), better);
  if (best == sets.end()) return std::nullopt;
  return *best;
}

// The facts of nodes that follow one another.  Texts that touch are joined into longer ones.
class SequenceFacts {
 public:
  void Add(const Facts& next) {
    std::copy(next.required.begin(), next.required.end(), std::back_inserter(required_));
    exact_ = exact_ && next.exact;
    if (next.texts.has_value() && run_.size() * next.texts->size() <= kMostTexts) {
      Join(*next.texts);
      return;
    }
    EndRun();
    if (next.texts.has_value()) run_ = *next.texts;
  }

  Facts Finish() {
    if (whole_) return {std::move(run_), exact_, std::move(required_)};
    EndRun();
    return {std::nullopt, false, std::move(required_)};
  }

 private:
  void Join(const TextSet& tails) {
    TextSet joined;
    joined.reserve(run_.size() * tails.size());
    for (const std::string& head : run_) {
      for (const std::string& tail : tails) joined.push_back(head + tail);
    }
    run_ = std::move(joined);
    if (ShortestOf(run_) >= kLongestText) EndRun();
  }

  void EndRun() {
    if (!HasEmpty(run_)) required_.push_back(std::move(run_));
    run_ = {""};
    whole_ = false;
  }

  TextSet run_ = {""};  // what was matched since the last unknown
  bool whole_ = true;   // `run_` is all there is
  bool exact_ = true;
  std::vector<TextSet> required_;
};

Facts FactsOf(const RegexSequence& sequence) {
  SequenceFacts facts;
  for (const RegexNode& node : sequence) facts.Add(FactsOf(node));
  return facts.Finish();
}

Facts Choice(const std::vector<Facts>& alternatives) {
  if (alternatives.size() == 1) return alternatives.front();
  Facts choice{TextSet(), true, {}};
  for (const Facts& facts : alternatives) {
    if (!choice.texts.has_value()) break;
    choice.exact = choice.exact && facts.exact;
    if (facts.texts.has_value() && choice.texts->size() + facts.texts->size() <= kMostTexts) {
      std::copy(facts.texts->begin(), facts.texts->end(), std::back_inserter(*choice.texts));
    } else {
      choice = {std::nullopt, false, {}};
    }
  }
  if (choice.texts.has_value()) return choice;
  TextSet any;
  for (const Facts& facts : alternatives) {
    const auto best = BestOf(RequiredBy(facts));
    if (!best.has_value() || any.size() + best->size() > kMostTexts) return choice;
    any.insert(any.end(), best->begin(), best->end());
  }
  choice.required.push_back(std::move(any));
  return choice;
}

Facts FactsOf(const std::vector<RegexSequence>& alternatives) {
  std::vector<Facts> facts;
  facts.reserve(alternatives.size());
  for (const RegexSequence& alternative : alternatives) {
    facts.push_back(FactsOf(alternative));
  }
  return Choice(facts);
}

Facts FactsOfValue(const RegexLiteral& literal) {
  std::string text;
  AppendUtf8(literal.code_point, text);
  return {TextSet{text}, true, {}};
}

Facts FactsOfValue(const RegexCharClass& set) {
  const size_t size = set.members.size();
  if (set.negated || !set.categories.empty() || size == 0 || size > kMostMembers) return {};
  TextSet texts;
  for (const CodePointRange& range : set.members.Ranges()) {
    for (char32_t c = range.low; c <= range.high; ++c) AppendUtf8(c, texts.emplace_back());
  }
  return {std::move(texts), true, {}};
}

Facts FactsOfValue(const RegexAnyChar&) { return {}; }
Facts FactsOfValue(const RegexBackreference&) { return {}; }
Facts FactsOfValue(const RegexConditional&) { return {}; }
Facts FactsOfValue(const RegexAnchor&) { return {TextSet{""}, false, {}}; }

Facts FactsOfValue(const RegexGroup& group) {
  Facts facts = FactsOf(group.alternatives);
  facts.exact = facts.exact && group.kind != RegexGroup::Kind::kAtomic;
  return facts;
}

Facts FactsOfValue(const RegexLook& look) {
  if (look.negated) return {TextSet{""}, false, {}};
  return {TextSet{""}, false, RequiredBy(FactsOf(look.alternatives))};
}

Facts FactsOfValue(const RegexRepeat& repeat) {
  Facts body = FactsOf(repeat.body.front());
  const bool possessive = repeat.mode == RegexRepeat::Mode::kPossessive;
  if (repeat.min == 0) {
    if (repeat.max > 1 || !body.texts.has_value()) return {};
    body.texts->emplace_back();
    return {std::move(body.texts), body.exact && !possessive, {}};
  }
  if (repeat.min != repeat.max || repeat.min > kMostCopies) {
    return {std::nullopt, false, RequiredBy(body)};
  }
  SequenceFacts copies;
  for (uint32_t i = 0; i < repeat.min; ++i) copies.Add(body);
  Facts facts = copies.Finish();
  facts.exact = facts.exact && !possessive;
  return facts;
}

Facts FactsOf(const RegexNode& node) {
  return std::visit([](const auto& value) { return FactsOfValue(value); }, node.value);
}

}  // namespace

RuleFilter FilterOf(const RegexSyntax& syntax) {
  RuleFilter filter;
  std::vector<Facts> alternatives;
  for (const RegexSequence& alternative : syntax.alternatives) {
    const Facts& facts = alternatives.emplace_back(FactsOf(alternative));
    filter.finds_everything |= facts.exact && facts.texts.has_value() && HasEmpty(*facts.texts);
  }
  if (filter.finds_everything) return filter;
  const Facts facts = Choice(alternatives);
  filter.required = RequiredBy(facts);
  filter.is_exact = facts.exact && facts.texts.has_value();
  return filter;
}

}  // namespace tessera::regex
