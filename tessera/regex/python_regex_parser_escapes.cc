#include "tessera/core/status.h"
#include "tessera/regex/python_case.h"
#include "tessera/regex/python_char_names.h"
#include "tessera/regex/python_regex_parser.h"

namespace tessera::regex {
namespace {

constexpr char32_t kLastOfTheBasicPlane = 0xFFFF;

// \a \f \n \r \t \v and \\, in sets and outside.
std::optional<char32_t> SimpleEscape(char32_t letter) {
  switch (letter) {
    case U'a':
      return 0x07;
    case U'f':
      return 0x0C;
    case U'n':
      return 0x0A;
    case U'r':
      return 0x0D;
    case U't':
      return 0x09;
    case U'v':
      return 0x0B;
    case U'\\':
      return U'\\';
    default:
      return std::nullopt;
  }
}

std::optional<RegexCategory> CategoryEscape(char32_t letter) {
  switch (letter) {
    case U'd':
      return RegexCategory::kDigit;
    case U'D':
      return RegexCategory::kNotDigit;
    case U'w':
      return RegexCategory::kWord;
    case U'W':
      return RegexCategory::kNotWord;
    default:
      return std::nullopt;
  }
}

std::optional<RegexAnchor::Kind> AnchorEscape(char32_t letter) {
  switch (letter) {
    case U'A':
      return RegexAnchor::Kind::kTextStart;
    case U'Z':
      return RegexAnchor::Kind::kTextEnd;
    case U'b':
      return RegexAnchor::Kind::kWordBoundary;
    case U'B':
      return RegexAnchor::Kind::kNotWordBoundary;
    default:
      return std::nullopt;
  }
}

CodePointSet AsciiCategory(RegexCategory category) {
  CodePointSet set;
  set.Add(U'0', U'9');
  if (category == RegexCategory::kWord || category == RegexCategory::kNotWord) {
    set.Add(U'A', U'Z');
    set.Add(U'a', U'z');
    set.Add(U'_', U'_');
  }
  const bool negated = category == RegexCategory::kNotDigit || category == RegexCategory::kNotWord;
  return negated ? set.Complement() : set;
}

// str.isspace, which also takes the separators U+001C to U+001F; in ASCII, C's isspace.
CodePointSet Spaces(bool ascii) {
  CodePointSet set;
  set.Add(0x09, 0x0D);
  set.Add(0x20, 0x20);
  if (ascii) return set;
  constexpr CodePointRange kBeyond[] = {{0x1C, 0x1F},     {0x85, 0x85},     {0xA0, 0xA0},
                                        {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                                        {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
  for (const CodePointRange& range : kBeyond) set.Add(range.low, range.high);
  return set;
}

}  // namespace

absl::Status PythonRegexParser::ParseEscape(const RegexToken& token, const Scope& scope,
                                            RegexSequence& sequence) {
  const char32_t letter = token.second;
  if (const auto anchor = AnchorEscape(letter)) {
    AddAnchor(*anchor, scope, sequence);
    return absl::OkStatus();
  }
  if (letter >= U'1' && letter <= U'9') return ParseDigitEscape(token, scope, sequence);
  if (CategoryEscape(letter).has_value() || letter == U's' || letter == U'S') {
    RegexCharClass set;
    TESSERA_ASSIGN_OR_RETURN(const ClassItem item, ParseSetItem(token));
    TESSERA_RETURN_IF_ERROR(AddToSet(item, scope, set));
    sequence.push_back({std::move(set), {1, 1}});
    return absl::OkStatus();
  }
  TESSERA_ASSIGN_OR_RETURN(const char32_t c, ParseCodedCharacter(token, cursor_.position() - 2));
  return AddLiteral(c, scope, sequence);
}

// \1 to \99 refer to groups; three octal digits are a character.
absl::Status PythonRegexParser::ParseDigitEscape(const RegexToken& token, const Scope& scope,
                                                 RegexSequence& sequence) {
  const size_t start = cursor_.position() - 2;
  uint32_t group = token.second - U'0';
  if (cursor_.Peek().length == 1 && IsAsciiDigit(cursor_.Peek().first)) {
    const char32_t second = cursor_.Take().first;
    group = group * 10 + (second - U'0');
    const RegexToken third = cursor_.Peek();
    if (IsOctalDigit(token.second) && IsOctalDigit(second) && third.length == 1 &&
        IsOctalDigit(third.first)) {
      cursor_.Take();
      TESSERA_ASSIGN_OR_RETURN(const char32_t c, OctalValue(start));
      return AddLiteral(c, scope, sequence);
    }
  }
  if (group < captures_.size()) return AddReference(group, start, scope, sequence);
  return cursor_.ErrorAt(start + 1, Concat("invalid group reference ", group));
}

// The value of the octal escape that was just read.
absl::StatusOr<char32_t> PythonRegexParser::OctalValue(size_t start) {
  const std::string text = cursor_.TextSince(start);
  char32_t value = 0;
  for (char digit : text.substr(1)) value = value * 8 + static_cast<char32_t>(digit - '0');
  if (value <= 0377) return value;
  return cursor_.ErrorAt(start, Concat("octal escape value ", text, " outside of range 0-0o377"));
}

// An escape that stands for one character, the same in sets and outside.
absl::StatusOr<char32_t> PythonRegexParser::ParseCodedCharacter(const RegexToken& token,
                                                                size_t start) {
  const char32_t letter = token.second;
  if (const auto simple = SimpleEscape(letter)) return *simple;
  if (letter == U'x') return ParseHex(2, start);
  if (letter == U'u') return ParseHex(4, start);
  if (letter == U'U') return ParseHex(8, start);
  if (letter == U'N') return ParseNamedCharacter(start);
  if (IsOctalDigit(letter)) {
    cursor_.TakeWhile(2, IsOctalDigit);
    return OctalValue(start);
  }
  if (IsAsciiLetter(letter) || IsAsciiDigit(letter)) {
    return cursor_.ErrorAt(start, Concat("bad escape ", cursor_.TextSince(start)));
  }
  return letter;
}

absl::StatusOr<char32_t> PythonRegexParser::ParseHex(size_t digits, size_t start) {
  const std::u32string text = cursor_.TakeWhile(digits, IsHexDigit);
  if (text.size() != digits) {
    return cursor_.ErrorAt(start, Concat("incomplete escape ", cursor_.TextSince(start)));
  }
  char32_t value = 0;
  for (char32_t c : text) {
    const char32_t digit = IsAsciiDigit(c) ? c - U'0' : (c | 0x20) - U'a' + 10;
    value = value * 16 + digit;
  }
  if (value <= kLastCodePoint) return value;
  return cursor_.ErrorAt(start, Concat("bad escape ", cursor_.TextSince(start)));
}

absl::StatusOr<char32_t> PythonRegexParser::ParseNamedCharacter(size_t start) {
  if (!cursor_.TakeIf('{')) return cursor_.ErrorHere("missing {");
  TESSERA_ASSIGN_OR_RETURN(const std::u32string text, cursor_.TakeUntil('}', "character name"));
  const std::string name = ToUtf8(text);
  if (const auto c = CharacterNamed(name)) return *c;
  return cursor_.ErrorAt(start, Concat("undefined character name '", name,
                                       "' (only common names are known; \\uXXXX writes any)"));
}

absl::Status PythonRegexParser::AddLiteral(char32_t c, const Scope& scope,
                                           RegexSequence& sequence) const {
  RegexCharClass variants;
  TESSERA_RETURN_IF_ERROR(AddToSet(c, scope, variants));
  if (variants.members.size() == 1) {
    sequence.push_back({RegexLiteral{c}, {1, 1}});
  } else {
    sequence.push_back({std::move(variants), {1, 1}});
  }
  return absl::OkStatus();
}

// After '['.  A ']' that comes first is a member.
absl::Status PythonRegexParser::ParseSet(const Scope& scope, RegexSequence& sequence) {
  const size_t start = cursor_.position() - 1;
  RegexCharClass set;
  set.negated = cursor_.TakeIf('^');
  bool closed = false;
  for (bool first = true; !closed; first = false) {
    const size_t item_start = cursor_.position();
    const RegexToken token = cursor_.Take();
    if (token.at_end()) return cursor_.ErrorAt(start, "unterminated character set");
    if (token.Is(']') && !first) break;
    TESSERA_ASSIGN_OR_RETURN(const ClassItem item, ParseSetItem(token));
    if (cursor_.TakeIf('-')) {
      TESSERA_RETURN_IF_ERROR(ParseSetRange(item, item_start, start, scope, set, closed));
    } else {
      TESSERA_RETURN_IF_ERROR(AddToSet(item, scope, set));
    }
  }
  sequence.push_back({std::move(set), {1, 1}});
  return absl::OkStatus();
}

absl::StatusOr<PythonRegexParser::ClassItem> PythonRegexParser::ParseSetItem(
    const RegexToken& token) {
  if (!token.is_escape()) return ClassItem(token.first);
  const char32_t letter = token.second;
  if (letter == U'b') return ClassItem(char32_t{0x08});
  if (letter == U's' || letter == U'S') return ClassItem(Space{letter == U'S'});
  if (const auto category = CategoryEscape(letter)) return ClassItem(*category);
  TESSERA_ASSIGN_OR_RETURN(const char32_t c, ParseCodedCharacter(token, cursor_.position() - 2));
  return ClassItem(c);
}

// After "x-": the end of a range, or the ']' that makes the '-' a member and closes the set.
absl::Status PythonRegexParser::ParseSetRange(const ClassItem& low, size_t item_start,
                                              size_t set_start, const Scope& scope,
                                              RegexCharClass& set, bool& closed) {
  const RegexToken token = cursor_.Take();
  if (token.at_end()) return cursor_.ErrorAt(set_start, "unterminated character set");
  if (token.Is(']')) {
    closed = true;
    TESSERA_RETURN_IF_ERROR(AddToSet(low, scope, set));
    return AddToSet(char32_t{U'-'}, scope, set);
  }
  TESSERA_ASSIGN_OR_RETURN(const ClassItem high, ParseSetItem(token));
  const char32_t* first = std::get_if<char32_t>(&low);
  const char32_t* last = std::get_if<char32_t>(&high);
  if (first == nullptr || last == nullptr || *last < *first) {
    return cursor_.ErrorAt(item_start,
                           Concat("bad character range ", cursor_.TextSince(item_start)));
  }
  return AddRangeToSet(*first, *last, scope, set);
}

absl::Status PythonRegexParser::AddToSet(const ClassItem& item, const Scope& scope,
                                         RegexCharClass& set) const {
  if (const auto* space = std::get_if<Space>(&item)) {
    const CodePointSet spaces = Spaces(scope.flags.ascii);
    set.members.Add(space->negated ? spaces.Complement() : spaces);
    return absl::OkStatus();
  }
  if (const auto* category = std::get_if<RegexCategory>(&item)) {
    if (scope.flags.ascii) {
      set.members.Add(AsciiCategory(*category));
    } else {
      set.categories.push_back(*category);
    }
    return absl::OkStatus();
  }
  const char32_t c = std::get<char32_t>(item);
  // Python itself folds these letters outside of sets and not within them.
  if (scope.flags.ignore_case && !scope.flags.ascii && IsAstralCapital(c)) {
    return cursor_.ErrorHere("capital letter above U+FFFF is not supported under flag 'i'");
  }
  return AddRangeToSet(c, c, scope, set);
}

absl::Status PythonRegexParser::AddRangeToSet(char32_t low, char32_t high, const Scope& scope,
                                              RegexCharClass& set) const {
  if (!scope.flags.ignore_case) {
    set.members.Add(low, high);
    return absl::OkStatus();
  }
  // Python takes other characters for variants as soon as a range leaves the basic plane.
  const bool leaves = high > kLastOfTheBasicPlane && low != high;
  if (leaves && (scope.flags.ascii || low <= kLastOfTheBasicPlane)) {
    return cursor_.ErrorHere("range that ends above U+FFFF is not supported under flag 'i'");
  }
  if (!scope.flags.ascii) {
    AddCaseVariants(low, high, set.members);
    return absl::OkStatus();
  }
  set.members.Add(low, high);
  for (char32_t c = U'a'; c <= U'z'; ++c) {
    const char32_t upper = c - 0x20;
    if ((c < low || c > high) && (upper < low || upper > high)) continue;
    set.members.Add(c, c);
    set.members.Add(upper, upper);
  }
  return absl::OkStatus();
}

}  // namespace tessera::regex
