#include "tessera/regex/python_regex_trim.h"

#include <algorithm>
#include <variant>

namespace tessera::regex {
namespace {

bool CanBeSkipped(const RegexNode& node);

bool CanBeSkipped(const RegexSequence& sequence) {
  return std::all_of(sequence.begin(), sequence.end(),
                     [](const RegexNode& node) { return CanBeSkipped(node); });
}

// Whether the node can match nothing at all, at any place, once the search backtracks into it.
bool CanBeSkipped(const RegexNode& node) {
  if (const auto* repeat = std::get_if<RegexRepeat>(&node.value)) {
    if (repeat->mode == RegexRepeat::Mode::kPossessive) return false;
    return repeat->min == 0 || CanBeSkipped(repeat->body);
  }
  if (const auto* group = std::get_if<RegexGroup>(&node.value)) {
    if (group->kind == RegexGroup::Kind::kAtomic) return false;
    return std::any_of(group->alternatives.begin(), group->alternatives.end(),
                       [](const RegexSequence& sequence) { return CanBeSkipped(sequence); });
  }
  return false;
}

void Trim(RegexSequence& sequence) {
  const auto is_needed = [](const RegexNode& node) { return !CanBeSkipped(node); };
  const auto first = std::find_if(sequence.begin(), sequence.end(), is_needed);
  sequence.erase(sequence.begin(), first);
  while (!sequence.empty() && CanBeSkipped(sequence.back())) sequence.pop_back();
}

}  // namespace

RegexSyntax TrimForSearch(RegexSyntax syntax) {
  if (syntax.has_references) return syntax;
  for (RegexSequence& alternative : syntax.alternatives) Trim(alternative);
  return syntax;
}

}  // namespace tessera::regex
