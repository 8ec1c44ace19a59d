#include "tessera/regex/python_regex_parser.h"

#include <algorithm>
#include <limits>

#include "tessera/core/status.h"
#include "tessera/regex/python_regex_references.h"

namespace tessera::regex {
namespace {

// The most that PCRE2 can count to; Python's own limit lies at 2^32 - 2.
constexpr uint32_t kLargestCount = 65535;
constexpr uint64_t kPythonCountLimit = 4294967295;

// Python's int() reads no longer numbers.
constexpr size_t kMostDigits = 4300;

bool IsVerboseSpace(const RegexToken& token) { return token.IsOneOf(" \t\n\r\v\f"); }

}  // namespace

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > std::numeric_limits<uint64_t>::max() / b ? std::numeric_limits<uint64_t>::max()
                                                      : a * b;
}

RegexWidth WidthOf(const RegexSequence& sequence) {
  RegexWidth width;
  for (const RegexNode& node : sequence) {
    width.min = SaturatingAdd(width.min, node.width.min);
    width.max = SaturatingAdd(width.max, node.width.max);
  }
  return width;
}

RegexWidth WidthOf(const std::vector<RegexSequence>& alternatives) {
  RegexWidth width = WidthOf(alternatives.front());
  for (const RegexSequence& alternative : alternatives) {
    const RegexWidth other = WidthOf(alternative);
    width.min = std::min(width.min, other.min);
    width.max = std::max(width.max, other.max);
  }
  return width;
}

absl::StatusOr<RegexSyntax> PythonRegexParser::Parse() {
  Scope scope;
  scope.takes_global_flags = true;
  TESSERA_ASSIGN_OR_RETURN(syntax_.alternatives, ParseAlternatives(scope));
  if (scope.flags.ascii && scope.flags.unicode) {
    return cursor_.ErrorAt(0, "ASCII and UNICODE flags are incompatible");
  }
  TESSERA_RETURN_IF_ERROR(CheckAtEnd());
  syntax_.group_count = static_cast<uint32_t>(captures_.size() - 1);
  syntax_.group_names = std::move(names_);
  return std::move(syntax_);
}

absl::Status PythonRegexParser::CheckAtEnd() const {
  if (!cursor_.Peek().at_end()) return cursor_.ErrorHere("unbalanced parenthesis");
  for (const auto& [group, position] : condition_positions_) {
    if (group >= captures_.size()) {
      return cursor_.ErrorAt(position, Concat("invalid group reference ", group));
    }
  }
  if (late_error_.has_value()) return cursor_.ErrorAt(late_error_->first, late_error_->second);
  if (const auto unsafe = FindUnsafeReference(syntax_)) {
    return cursor_.ErrorAt(unsafe->position,
                           Concat("reference to group ", unsafe->group, ", which ", unsafe->reason,
                                  ", is not supported"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RegexSequence>> PythonRegexParser::ParseAlternatives(Scope& scope) {
  std::vector<RegexSequence> alternatives;
  do {
    TESSERA_ASSIGN_OR_RETURN(RegexSequence sequence, ParseSequence(scope));
    alternatives.push_back(std::move(sequence));
    scope.takes_global_flags = false;
  } while (cursor_.TakeIf('|'));
  return alternatives;
}

absl::StatusOr<RegexSequence> PythonRegexParser::ParseSequence(Scope& scope) {
  RegexSequence sequence;
  while (true) {
    const RegexToken token = cursor_.Peek();
    if (token.at_end() || token.IsOneOf("|)")) return sequence;
    cursor_.Take();
    if (scope.flags.verbose && SkipsInVerbose(token)) continue;
    TESSERA_RETURN_IF_ERROR(ParseItem(token, scope, sequence));
  }
}

// Whether `token` is white space or opens a comment, which is then skipped to its end.
bool PythonRegexParser::SkipsInVerbose(const RegexToken& token) {
  if (IsVerboseSpace(token)) return true;
  if (!token.Is('#')) return false;
  while (!cursor_.Peek().at_end() && !cursor_.Take().Is('\n')) {
  }
  return true;
}

absl::Status PythonRegexParser::ParseItem(const RegexToken& token, Scope& scope,
                                          RegexSequence& sequence) {
  using Anchor = RegexAnchor::Kind;
  if (token.is_escape()) return ParseEscape(token, scope, sequence);
  const size_t start = cursor_.position() - 1;
  switch (token.first) {
    case U'[':
      return ParseSet(scope, sequence);
    case U'(':
      return ParseGroup(scope, sequence);
    case U'{':
      return ParseCounter(scope, sequence);
    case U'*':
      return ParseRepeat(0, RegexRepeat::kUnlimited, start, scope, sequence);
    case U'+':
      return ParseRepeat(1, RegexRepeat::kUnlimited, start, scope, sequence);
    case U'?':
      return ParseRepeat(0, 1, start, scope, sequence);
    case U'.':
      sequence.push_back({RegexAnyChar{scope.flags.dot_all}, {1, 1}});
      return absl::OkStatus();
    case U'^':
      AddAnchor(scope.flags.multiline ? Anchor::kLineStart : Anchor::kTextStart, scope, sequence);
      return absl::OkStatus();
    case U'$':
      AddAnchor(scope.flags.multiline ? Anchor::kLineEnd : Anchor::kTextEndOrLastNewline, scope,
                sequence);
      return absl::OkStatus();
    default:
      return AddLiteral(token.first, scope, sequence);
  }
}

void PythonRegexParser::AddAnchor(RegexAnchor::Kind kind, const Scope& scope,
                                  RegexSequence& sequence) {
  const bool at_text_border = kind == RegexAnchor::Kind::kTextStart ||
                              kind == RegexAnchor::Kind::kTextEnd ||
                              kind == RegexAnchor::Kind::kTextEndOrLastNewline;
  syntax_.has_look |= !at_text_border;
  sequence.push_back({RegexAnchor{kind, scope.flags.ascii}, {}});
}

// After '{': a counter such as {2}, {2,}, {,3}, {2,3} or {,}; anything else is a plain '{'.
absl::Status PythonRegexParser::ParseCounter(const Scope& scope, RegexSequence& sequence) {
  const size_t here = cursor_.position();
  constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  if (cursor_.Peek().Is('}')) return AddLiteral(U'{', scope, sequence);
  const std::u32string low = cursor_.TakeWhile(kNoLimit, IsAsciiDigit);
  std::u32string high = low;
  if (cursor_.TakeIf(',')) high = cursor_.TakeWhile(kNoLimit, IsAsciiDigit);
  if (!cursor_.TakeIf('}')) {
    cursor_.Seek(here);
    return AddLiteral(U'{', scope, sequence);
  }
  uint32_t min = 0;
  uint32_t max = RegexRepeat::kUnlimited;
  if (!low.empty()) {
    TESSERA_ASSIGN_OR_RETURN(min, CounterValue(low, here));
  }
  if (!high.empty()) {
    TESSERA_ASSIGN_OR_RETURN(max, CounterValue(high, here));
  }
  if (max < min) return cursor_.ErrorAt(here, "min repeat greater than max repeat");
  return ParseRepeat(min, max, here - 1, scope, sequence);
}

absl::StatusOr<uint32_t> PythonRegexParser::CounterValue(const std::u32string& digits,
                                                         size_t start) const {
  uint64_t value = 0;
  for (char32_t digit : digits) {
    value = std::min(value * 10 + (digit - U'0'), kPythonCountLimit);
  }
  if (value >= kPythonCountLimit || digits.size() > kMostDigits) {
    return cursor_.ErrorAt(start, "the repetition number is too large");
  }
  return static_cast<uint32_t>(value);
}

// `start` is where the quantifier begins; a '?' or '+' that changes its mode may follow.
absl::Status PythonRegexParser::ParseRepeat(uint32_t min, uint32_t max, size_t start,
                                            const Scope& scope, RegexSequence& sequence) {
  if (sequence.empty() || std::holds_alternative<RegexAnchor>(sequence.back().value)) {
    return cursor_.ErrorAt(start, "nothing to repeat");
  }
  if (std::holds_alternative<RegexRepeat>(sequence.back().value)) {
    return cursor_.ErrorAt(start, "multiple repeat");
  }
  if (scope.flags.no_repeats && !late_error_.has_value()) {
    late_error_.emplace(start, "repeat under the flag 't', which allows none");
  }
  const bool bounded = max != RegexRepeat::kUnlimited;
  if (min > kLargestCount || (bounded && max > kLargestCount)) {
    return cursor_.ErrorAt(start, Concat("repeat count ", bounded ? max : min, " is above ",
                                         kLargestCount, ", the most that is supported,"));
  }
  RegexRepeat repeat{min, max, RegexRepeat::Mode::kGreedy, {}};
  if (cursor_.TakeIf('?')) {
    repeat.mode = RegexRepeat::Mode::kLazy;
  } else if (cursor_.TakeIf('+')) {
    repeat.mode = RegexRepeat::Mode::kPossessive;
    syntax_.has_atomic = true;
  }
  const RegexWidth once = sequence.back().width;
  const uint64_t most = bounded ? max : std::numeric_limits<uint64_t>::max();
  const RegexWidth width{SaturatingMultiply(once.min, min), SaturatingMultiply(once.max, most)};
  repeat.body.push_back(std::move(sequence.back()));
  sequence.back() = {std::move(repeat), width};
  return absl::OkStatus();
}

absl::StatusOr<RegexSyntax> ParsePythonRegex(std::string_view pattern) {
  TESSERA_ASSIGN_OR_RETURN(RegexCursor cursor, RegexCursor::Make(pattern));
  return PythonRegexParser(std::move(cursor)).Parse();
}

}  // namespace tessera::regex
