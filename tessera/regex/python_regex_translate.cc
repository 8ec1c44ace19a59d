#include "tessera/regex/python_regex_translate.h"

#include <iterator>
#include <string_view>
#include <variant>

#include <fmt/format.h>

namespace tessera::regex {
namespace {

constexpr std::string_view kUnicodeWord = R"([\p{L}\p{N}_])";
constexpr std::string_view kAsciiWord = "[0-9A-Za-z_]";

class Writer {
 public:
  std::string Take() { return std::move(out_); }

  void Write(const std::vector<RegexSequence>& alternatives) {
    for (size_t i = 0; i < alternatives.size(); ++i) {
      if (i > 0) out_ += '|';
      Write(alternatives[i]);
    }
  }

  void Write(const RegexSequence& sequence) {
    for (const RegexNode& node : sequence) {
      std::visit([this](const auto& value) { Write(value); }, node.value);
    }
  }

 private:
  void Write(const RegexLiteral& literal) { WriteCharacter(literal.code_point); }
  void Write(const RegexAnyChar& any) { out_ += any.newline_too ? "(?s:.)" : "."; }
  void Write(const RegexCharClass& set);
  void Write(const RegexAnchor& anchor);
  void Write(const RegexGroup& group);
  void Write(const RegexLook& look);
  void Write(const RegexRepeat& repeat);
  void Write(const RegexBackreference& reference);
  void Write(const RegexConditional& conditional);

  void WriteCharacter(char32_t c);
  void WriteCategory(RegexCategory category);
  void WriteRepeatBody(const RegexNode& body, RegexRepeat::Mode mode);
  void WriteQuantifier(const RegexRepeat& repeat);

  std::string out_;
};

bool IsPlain(char32_t c) {
  const bool letter = (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
  return letter || (c >= U'0' && c <= U'9') || c == U'_' || c == U'/';
}

void Writer::WriteCharacter(char32_t c) {
  if (IsPlain(c)) {
    out_ += static_cast<char>(c);
  } else {
    fmt::format_to(std::back_inserter(out_), "\\x{{{:x}}}", static_cast<uint32_t>(c));
  }
}

// \W is listed by the general categories that it consists of, so that it can stand in a set
// among others.  Connector punctuation is all \W but the underscore.
void Writer::WriteCategory(RegexCategory category) {
  switch (category) {
    case RegexCategory::kDigit:
      out_ += R"(\p{Nd})";
      return;
    case RegexCategory::kNotDigit:
      out_ += R"(\P{Nd})";
      return;
    case RegexCategory::kWord:
      out_ += R"(\p{L}\p{N}_)";
      return;
    case RegexCategory::kNotWord:
      out_ += R"(\p{C}\p{M}\p{S}\p{Z}\p{Pd}\p{Pe}\p{Pf}\p{Pi}\p{Po}\p{Ps})"
              R"(\x{203f}\x{2040}\x{2054}\x{fe33}\x{fe34}\x{fe4d}-\x{fe4f}\x{ff3f})";
      return;
  }
}

void Writer::Write(const RegexCharClass& set) {
  const std::vector<CodePointRange> ranges = set.members.Ranges();
  if (ranges.empty() && set.categories.empty()) {
    // Only surrogates were listed, which no subject holds.
    out_ += set.negated ? "(?s:.)" : R"([^\x{0}-\x{10ffff}])";
    return;
  }
  out_ += set.negated ? "[^" : "[";
  for (const CodePointRange& range : ranges) {
    WriteCharacter(range.low);
    if (range.high == range.low) continue;
    out_ += '-';
    WriteCharacter(range.high);
  }
  for (RegexCategory category : set.categories) WriteCategory(category);
  out_ += ']';
}

void Writer::Write(const RegexAnchor& anchor) {
  const std::string_view word = anchor.ascii ? kAsciiWord : kUnicodeWord;
  const auto out = std::back_inserter(out_);
  switch (anchor.kind) {
    case RegexAnchor::Kind::kTextStart:
      out_ += R"(\A)";
      return;
    case RegexAnchor::Kind::kTextEnd:
      out_ += R"(\z)";
      return;
    case RegexAnchor::Kind::kTextEndOrLastNewline:
      out_ += R"(\Z)";
      return;
    case RegexAnchor::Kind::kLineStart:
      out_ += R"((?<![^\n]))";
      return;
    case RegexAnchor::Kind::kLineEnd:
      out_ += R"((?![^\n]))";
      return;
    case RegexAnchor::Kind::kWordBoundary:
      fmt::format_to(out, "(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word);
      return;
    case RegexAnchor::Kind::kNotWordBoundary:
      // Python finds \B nowhere in an empty text.
      fmt::format_to(out, "(?!\\A\\z)(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
      return;
  }
}

void Writer::Write(const RegexGroup& group) {
  switch (group.kind) {
    case RegexGroup::Kind::kPlain:
      out_ += "(?:";
      break;
    case RegexGroup::Kind::kCapture:
      out_ += "(";
      break;
    case RegexGroup::Kind::kAtomic:
      out_ += "(?>";
      break;
  }
  Write(group.alternatives);
  out_ += ')';
}

void Writer::Write(const RegexLook& look) {
  out_ += look.behind ? "(?<" : "(?";
  out_ += look.negated ? '!' : '=';
  Write(look.alternatives);
  out_ += ')';
}

// PCRE2 repeats an assertion at most once, unless it stands in a group.  In a possessive repeat
// Python gives nothing back between one turn and the next, PCRE2 only once the repeat is left.
void Writer::WriteRepeatBody(const RegexNode& body, RegexRepeat::Mode mode) {
  const bool one_character = std::holds_alternative<RegexLiteral>(body.value) ||
                             std::holds_alternative<RegexAnyChar>(body.value) ||
                             std::holds_alternative<RegexCharClass>(body.value);
  const bool possessive = mode == RegexRepeat::Mode::kPossessive;
  const bool wrap =
      !one_character && (possessive || !std::holds_alternative<RegexGroup>(body.value));
  if (wrap) out_ += possessive ? "(?>" : "(?:";
  std::visit([this](const auto& value) { Write(value); }, body.value);
  if (wrap) out_ += ')';
}

void Writer::Write(const RegexRepeat& repeat) {
  const RegexNode& body = repeat.body.front();
  if (const auto* any = std::get_if<RegexAnyChar>(&body.value); any && any->newline_too) {
    // With the quantifier inside the group PCRE2 repeats a character, not a group.
    out_ += "(?s:.";
    WriteQuantifier(repeat);
    out_ += ')';
    return;
  }
  WriteRepeatBody(body, repeat.mode);
  WriteQuantifier(repeat);
}

void Writer::WriteQuantifier(const RegexRepeat& repeat) {
  const auto out = std::back_inserter(out_);
  const bool bounded = repeat.max != RegexRepeat::kUnlimited;
  if (repeat.min == 0 && !bounded) {
    out_ += '*';
  } else if (repeat.min == 1 && !bounded) {
    out_ += '+';
  } else if (repeat.min == 0 && repeat.max == 1) {
    out_ += '?';
  } else if (!bounded) {
    fmt::format_to(out, "{{{},}}", repeat.min);
  } else {
    fmt::format_to(out, "{{{},{}}}", repeat.min, repeat.max);
  }
  if (repeat.mode == RegexRepeat::Mode::kLazy) out_ += '?';
  if (repeat.mode == RegexRepeat::Mode::kPossessive) out_ += '+';
}

void Writer::Write(const RegexBackreference& reference) {
  if (reference.ignore_case) out_ += "(?i:";
  fmt::format_to(std::back_inserter(out_), "\\g{{{}}}", reference.group);
  if (reference.ignore_case) out_ += ')';
}

void Writer::Write(const RegexConditional& conditional) {
  fmt::format_to(std::back_inserter(out_), "(?({})", conditional.group);
  Write(conditional.yes);
  if (conditional.no.has_value()) {
    out_ += '|';
    Write(*conditional.no);
  }
  out_ += ')';
}

}  // namespace

std::string TranslateToPcre2(const RegexSyntax& syntax) {
  Writer writer;
  writer.Write(syntax.alternatives);
  return writer.Take();
}

}  // namespace tessera::regex
