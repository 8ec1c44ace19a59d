#include <algorithm>

#include "tessera/core/status.h"
#include "tessera/regex/python_identifier.h"
#include "tessera/regex/python_regex_parser.h"

namespace tessera::regex {
namespace {

// Bounds the recursion of everything that walks the tree.
constexpr int kDeepestNesting = 250;

constexpr std::string_view kFlagLetters = "aiLmstux";

bool IsFlag(const RegexToken& token) { return token.IsOneOf(kFlagLetters); }

bool Contains(std::string_view letters, char letter) {
  return letters.find(letter) != letters.npos;
}

bool LooksLikeALetter(const RegexToken& token) {
  return token.length == 1 && (IsAsciiLetter(token.first) || token.first >= 0x80);
}

}  // namespace

absl::StatusOr<PythonRegexParser::Scope> PythonRegexParser::Nested(const Scope& scope,
                                                                   size_t start) const {
  if (scope.depth >= kDeepestNesting) {
    return cursor_.ErrorAt(start, Concat("groups nested deeper than ", kDeepestNesting));
  }
  Scope nested = scope;
  nested.depth += 1;
  nested.takes_global_flags = false;
  return nested;
}

absl::Status PythonRegexParser::CloseGroup(size_t start) {
  if (cursor_.TakeIf(')')) return absl::OkStatus();
  return cursor_.ErrorAt(start, "missing ), unterminated subpattern");
}

absl::Status PythonRegexParser::ParseGroup(Scope& scope, RegexSequence& sequence) {
  const size_t start = cursor_.position() - 1;
  if (cursor_.TakeIf('?')) return ParseExtension(start, scope, sequence);
  return ParseCapture(start, scope, "", 0, sequence);
}

absl::Status PythonRegexParser::ParseExtension(size_t start, Scope& scope,
                                               RegexSequence& sequence) {
  const RegexToken token = cursor_.Take();
  if (token.at_end()) return cursor_.ErrorHere("unexpected end of pattern");
  if (token.Is('P')) return ParsePythonExtension(start, scope, sequence);
  if (token.Is('#')) return ParseComment(start);
  if (token.Is('<')) return ParseLookBehind(start, scope, sequence);
  if (token.IsOneOf("=!")) return ParseLook(start, scope, token.Is('!'), sequence);
  if (token.Is('(')) return ParseConditional(start, scope, sequence);
  if (token.Is(':')) return ParsePlainGroup(start, scope, RegexGroup::Kind::kPlain, sequence);
  if (token.Is('>')) return ParsePlainGroup(start, scope, RegexGroup::Kind::kAtomic, sequence);
  if (IsFlag(token) || token.Is('-')) return ParseFlags(token, start, scope, sequence);
  return cursor_.ErrorAt(start + 1, Concat("unknown extension ", cursor_.TextSince(start + 1)));
}

absl::Status PythonRegexParser::ParsePythonExtension(size_t start, const Scope& scope,
                                                     RegexSequence& sequence) {
  const size_t name_start = cursor_.position() + 1;
  if (cursor_.TakeIf('<')) {
    TESSERA_ASSIGN_OR_RETURN(const std::string name, ParseGroupName('>'));
    return ParseCapture(start, scope, name, name_start, sequence);
  }
  if (cursor_.TakeIf('=')) {
    TESSERA_ASSIGN_OR_RETURN(const std::string name, ParseGroupName(')'));
    const auto found = names_.find(name);
    if (found == names_.end()) {
      return cursor_.ErrorAt(name_start, Concat("unknown group name '", name, "'"));
    }
    return AddReference(found->second, name_start, scope, sequence);
  }
  if (cursor_.Take().at_end()) return cursor_.ErrorHere("unexpected end of pattern");
  return cursor_.ErrorAt(start + 1, Concat("unknown extension ", cursor_.TextSince(start + 1)));
}

absl::StatusOr<std::string> PythonRegexParser::ParseGroupName(char terminator) {
  const size_t start = cursor_.position();
  TESSERA_ASSIGN_OR_RETURN(const std::u32string text, cursor_.TakeUntil(terminator, "group name"));
  std::string name = ToUtf8(text);
  if (!IsPythonIdentifier(name)) {
    return cursor_.ErrorAt(start, Concat("bad character in group name '", name, "'"));
  }
  return name;
}

absl::Status PythonRegexParser::ParseComment(size_t start) {
  while (!cursor_.Peek().at_end()) {
    if (cursor_.Take().Is(')')) return absl::OkStatus();
  }
  return cursor_.ErrorAt(start, "missing ), unterminated comment");
}

absl::Status PythonRegexParser::ParseCapture(size_t start, const Scope& scope,
                                             const std::string& name, size_t name_start,
                                             RegexSequence& sequence) {
  const auto number = static_cast<uint32_t>(captures_.size());
  captures_.emplace_back();
  if (!name.empty()) {
    const auto [entry, added] = names_.emplace(name, number);
    if (!added) {
      return cursor_.ErrorAt(name_start, Concat("redefinition of group name '", name, "' as group ",
                                                number, "; was group ", entry->second));
    }
  }
  TESSERA_RETURN_IF_ERROR(ParsePlainGroup(start, scope, RegexGroup::Kind::kCapture, sequence));
  captures_[number].width = sequence.back().width;
  return absl::OkStatus();
}

absl::Status PythonRegexParser::ParsePlainGroup(size_t start, const Scope& scope,
                                                RegexGroup::Kind kind, RegexSequence& sequence) {
  TESSERA_ASSIGN_OR_RETURN(Scope nested, Nested(scope, start));
  RegexGroup group{kind, {}};
  TESSERA_ASSIGN_OR_RETURN(group.alternatives, ParseAlternatives(nested));
  TESSERA_RETURN_IF_ERROR(CloseGroup(start));
  const RegexWidth width = WidthOf(group.alternatives);
  syntax_.has_atomic |= kind == RegexGroup::Kind::kAtomic;
  sequence.push_back({std::move(group), width});
  return absl::OkStatus();
}

absl::Status PythonRegexParser::ParseLook(size_t start, const Scope& scope, bool negated,
                                          RegexSequence& sequence) {
  TESSERA_ASSIGN_OR_RETURN(Scope nested, Nested(scope, start));
  RegexLook look{false, negated, {}};
  TESSERA_ASSIGN_OR_RETURN(look.alternatives, ParseAlternatives(nested));
  TESSERA_RETURN_IF_ERROR(CloseGroup(start));
  syntax_.has_look = true;
  sequence.push_back({std::move(look), {}});
  return absl::OkStatus();
}

absl::Status PythonRegexParser::ParseLookBehind(size_t start, const Scope& scope,
                                                RegexSequence& sequence) {
  const RegexToken token = cursor_.Take();
  if (token.at_end()) return cursor_.ErrorHere("unexpected end of pattern");
  if (!token.IsOneOf("=!")) {
    return cursor_.ErrorAt(start + 1, Concat("unknown extension ", cursor_.TextSince(start + 1)));
  }
  const auto outer = look_behind_first_capture_;
  if (!outer.has_value()) {
    look_behind_first_capture_ = static_cast<uint32_t>(captures_.size());
  }
  TESSERA_RETURN_IF_ERROR(ParseLook(start, scope, token.Is('!'), sequence));
  look_behind_first_capture_ = outer;
  auto& look = std::get<RegexLook>(sequence.back().value);
  look.behind = true;
  const RegexWidth width = WidthOf(look.alternatives);
  // The outermost of several comes first in the pattern, and Python complains about that one.
  if (width.min != width.max && (!late_error_.has_value() || late_error_->first > start)) {
    late_error_.emplace(start, "look-behind requires fixed-width pattern");
  }
  return absl::OkStatus();
}

absl::Status PythonRegexParser::ParseConditional(size_t start, const Scope& scope,
                                                 RegexSequence& sequence) {
  TESSERA_ASSIGN_OR_RETURN(const uint32_t group, ParseConditionGroup());
  TESSERA_RETURN_IF_ERROR(CheckLookBehindReference(group));
  TESSERA_ASSIGN_OR_RETURN(Scope nested, Nested(scope, start));
  RegexConditional conditional{group, {}, std::nullopt, start};
  TESSERA_ASSIGN_OR_RETURN(conditional.yes, ParseSequence(nested));
  RegexWidth width = WidthOf(conditional.yes);
  if (cursor_.TakeIf('|')) {
    TESSERA_ASSIGN_OR_RETURN(conditional.no, ParseSequence(nested));
    width = WidthOf(std::vector<RegexSequence>{conditional.yes, *conditional.no});
    if (cursor_.Peek().Is('|')) {
      return cursor_.ErrorHere("conditional backref with more than two branches");
    }
  } else {
    width.min = 0;
  }
  TESSERA_RETURN_IF_ERROR(CloseGroup(start));
  syntax_.has_references = true;
  sequence.push_back({std::move(conditional), width});
  return absl::OkStatus();
}

// After "(?(": the name or number of a group, and ')'.
absl::StatusOr<uint32_t> PythonRegexParser::ParseConditionGroup() {
  const size_t start = cursor_.position();
  TESSERA_ASSIGN_OR_RETURN(const std::u32string text, cursor_.TakeUntil(')', "group name"));
  const std::string name = ToUtf8(text);
  if (IsPythonIdentifier(name)) {
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    return cursor_.ErrorAt(start, Concat("unknown group name '", name, "'"));
  }
  constexpr uint64_t kMostGroups = 1u << 30;
  uint64_t number = 0;
  for (char32_t c : text) {
    if (!IsAsciiDigit(c)) {
      return cursor_.ErrorAt(start, Concat("bad character in group name '", name, "'"));
    }
    number = std::min(number * 10 + (c - U'0'), kMostGroups);
  }
  if (number == 0) return cursor_.ErrorAt(start, "bad group number");
  if (number >= kMostGroups) {
    return cursor_.ErrorAt(start, Concat("invalid group reference ", name));
  }
  condition_positions_.emplace(static_cast<uint32_t>(number), start);
  return static_cast<uint32_t>(number);
}

// `token` is the first flag letter or '-'.  Ends after ')' for global flags, else with the group.
absl::Status PythonRegexParser::ParseFlags(RegexToken token, size_t start, Scope& scope,
                                           RegexSequence& sequence) {
  std::string on;
  std::string off;
  if (!token.Is('-')) {
    TESSERA_ASSIGN_OR_RETURN(token, ParseFlagsOn(token, on));
  }
  if (!token.Is(')') && Contains(on, 't')) {
    return cursor_.ErrorAt(cursor_.position() - 1, "bad inline flags: cannot turn on global flag");
  }
  if (token.Is('-')) {
    TESSERA_ASSIGN_OR_RETURN(off, ParseFlagsOff());
  }
  for (char letter : off) {
    if (!Contains(on, letter)) continue;
    return cursor_.ErrorAt(cursor_.position() - 1, "bad inline flags: flag turned on and off");
  }
  const Flags flags = Combined(scope.flags, on, off, /*scoped=*/!token.Is(')'));
  if (token.Is(')')) {
    if (!scope.takes_global_flags || !sequence.empty()) {
      return cursor_.ErrorAt(start, "global flags not at the start of the expression");
    }
    scope.flags = flags;
    return absl::OkStatus();
  }
  Scope inner = scope;
  inner.flags = flags;
  return ParsePlainGroup(start, inner, RegexGroup::Kind::kPlain, sequence);
}

// A scoped 'a' or 'u' replaces the other one; global ones add up, to be refused together.
PythonRegexParser::Flags PythonRegexParser::Combined(Flags flags, const std::string& on,
                                                     const std::string& off, bool scoped) {
  if (scoped && (Contains(on, 'a') || Contains(on, 'u'))) flags.ascii = flags.unicode = false;
  const auto set = [&](char letter, bool& flag) {
    flag = (flag || Contains(on, letter)) && !Contains(off, letter);
  };
  set('a', flags.ascii);
  set('i', flags.ignore_case);
  set('m', flags.multiline);
  set('s', flags.dot_all);
  set('t', flags.no_repeats);
  set('u', flags.unicode);
  set('x', flags.verbose);
  return flags;
}

// Collects flag letters; returns the token that ends them: ')', '-' or ':'.
absl::StatusOr<RegexToken> PythonRegexParser::ParseFlagsOn(RegexToken token, std::string& letters) {
  while (true) {
    if (token.Is('L')) {
      return cursor_.ErrorHere("bad inline flags: cannot use 'L' flag with a str pattern");
    }
    letters.push_back(static_cast<char>(token.first));
    if (Contains(letters, 'a') && Contains(letters, 'u') && token.IsOneOf("au")) {
      return cursor_.ErrorHere("bad inline flags: flags 'a', 'u' and 'L' are incompatible");
    }
    const size_t position = cursor_.position();
    token = cursor_.Take();
    if (token.at_end()) return cursor_.ErrorHere("missing -, : or )");
    if (token.IsOneOf(")-:")) return token;
    if (!IsFlag(token)) {
      return cursor_.ErrorAt(position,
                             LooksLikeALetter(token) ? "unknown flag" : "missing -, : or )");
    }
  }
}

// After '-': the letters to turn off, and ':'.
absl::StatusOr<std::string> PythonRegexParser::ParseFlagsOff() {
  std::string letters;
  while (true) {
    const size_t position = cursor_.position();
    const std::string_view missing = letters.empty() ? "missing flag" : "missing :";
    const RegexToken token = cursor_.Take();
    if (token.at_end()) return cursor_.ErrorHere(missing);
    if (token.Is(':') && !letters.empty()) break;
    if (!IsFlag(token)) {
      return cursor_.ErrorAt(position, LooksLikeALetter(token) ? "unknown flag" : missing);
    }
    if (token.IsOneOf("auL")) {
      return cursor_.ErrorHere("bad inline flags: cannot turn off flags 'a', 'u' and 'L'");
    }
    letters.push_back(static_cast<char>(token.first));
  }
  if (Contains(letters, 't')) {
    return cursor_.ErrorAt(cursor_.position() - 1, "bad inline flags: cannot turn off global flag");
  }
  return letters;
}

bool PythonRegexParser::IsClosed(uint32_t group) const {
  return group < captures_.size() && captures_[group].width.has_value();
}

absl::Status PythonRegexParser::CheckLookBehindReference(uint32_t group) const {
  if (!look_behind_first_capture_.has_value()) return absl::OkStatus();
  if (!IsClosed(group)) return cursor_.ErrorHere("cannot refer to an open group");
  if (group >= *look_behind_first_capture_) {
    return cursor_.ErrorHere("cannot refer to group defined in the same lookbehind subpattern");
  }
  return absl::OkStatus();
}

// `group` exists; `start` is where the reference to it is written.
absl::Status PythonRegexParser::AddReference(uint32_t group, size_t start, const Scope& scope,
                                             RegexSequence& sequence) {
  if (!IsClosed(group)) return cursor_.ErrorAt(start, "cannot refer to an open group");
  TESSERA_RETURN_IF_ERROR(CheckLookBehindReference(group));
  syntax_.has_references = true;
  syntax_.has_caseless_reference |= scope.flags.ignore_case;
  sequence.push_back(
      {RegexBackreference{group, scope.flags.ignore_case, start}, *captures_[group].width});
  return absl::OkStatus();
}

}  // namespace tessera::regex
