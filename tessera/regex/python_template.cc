#include "tessera/regex/python_template.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/regex/python_identifier.h"

namespace tessera::regex {
namespace {

// Python's own limit lies above the number of groups that a pattern may have here.
constexpr uint32_t kMostGroups = 1 << 24;

bool IsDigit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool IsOctal(char32_t c) { return c >= U'0' && c <= U'7'; }
bool IsLetter(char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z'); }

// What a backslash and this letter stand for.
std::optional<char32_t> SimpleEscape(char32_t c) {
  constexpr std::string_view kLetters = "abfnrtv\\";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\";
  if (c > 0x7F) return std::nullopt;
  const size_t place = kLetters.find(static_cast<char>(c));
  if (place == std::string_view::npos) return std::nullopt;
  return static_cast<char32_t>(kMeanings[place]);
}

class TemplateParser {
 public:
  TemplateParser(std::string_view text, const RegexSyntax& syntax)
      : text_(text), characters_(DecodeUtf8(text)), syntax_(syntax) {}

  absl::StatusOr<std::vector<TemplatePiece>> Parse() {
    while (next_ < characters_.size()) {
      const char32_t c = characters_[next_++];
      if (c != U'\\') {
        AddText(c);
        continue;
      }
      TESSERA_RETURN_IF_ERROR(ParseEscape());
    }
    return std::move(pieces_);
  }

 private:
  absl::Status ErrorAt(size_t position, std::string_view what) const {
    return InvalidArgument("replacement ", Quoted(text_), ": ", what, " at position ", position);
  }

  void AddText(char32_t c) {
    if (pieces_.empty() || !std::holds_alternative<std::string>(pieces_.back())) {
      pieces_.emplace_back(std::string());
    }
    AppendUtf8(c, std::get<std::string>(pieces_.back()));
  }

  absl::Status AddGroup(uint64_t group, size_t position) {
    if (group > syntax_.group_count) {
      return ErrorAt(position, Concat("invalid group reference ", group));
    }
    pieces_.emplace_back(static_cast<uint32_t>(group));
    return absl::OkStatus();
  }

  bool NextIs(bool (*is)(char32_t)) const {
    return next_ < characters_.size() && is(characters_[next_]);
  }

  // Behind the backslash, which stands at next_ - 1.
  absl::Status ParseEscape() {
    const size_t start = next_ - 1;
    if (next_ == characters_.size()) return ErrorAt(start, "bad escape (end of pattern)");
    const char32_t c = characters_[next_++];
    if (c == U'g') return ParseNamed();
    if (c == U'0') return ParseOctal();
    if (IsDigit(c)) return ParseNumber(start);
    if (const auto simple = SimpleEscape(c)) {
      AddText(*simple);
      return absl::OkStatus();
    }
    if (IsLetter(c)) {
      return ErrorAt(start, Concat("bad escape \\", static_cast<char>(c)));
    }
    AddText(U'\\');
    AddText(c);
    return absl::OkStatus();
  }

  // \0 and up to two more digits.
  absl::Status ParseOctal() {
    char32_t value = 0;
    for (int i = 0; i < 2 && NextIs(IsOctal); ++i) {
      value = value * 8 + (characters_[next_++] - U'0');
    }
    AddText(value & 0xFF);
    return absl::OkStatus();
  }

  // Three octal digits are a character, else one or two digits a group.
  absl::Status ParseNumber(size_t start) {
    const char32_t first = characters_[next_ - 1];
    uint64_t group = first - U'0';
    if (NextIs(IsDigit)) {
      const char32_t second = characters_[next_++];
      if (IsOctal(first) && IsOctal(second) && NextIs(IsOctal)) {
        const char32_t third = characters_[next_++];
        const char32_t value = (first - U'0') * 64 + (second - U'0') * 8 + (third - U'0');
        if (value > 0xFF) {
          return ErrorAt(start,
                         Concat("octal escape value ", ToText(start), " outside of range 0-0o377"));
        }
        AddText(value);
        return absl::OkStatus();
      }
      group = group * 10 + (second - U'0');
    }
    return AddGroup(group, start + 1);
  }

  std::string ToText(size_t start) const {
    std::string text;
    for (size_t i = start; i < next_; ++i) AppendUtf8(characters_[i], text);
    return text;
  }

  // \g<name> or \g<number>.
  absl::Status ParseNamed() {
    if (next_ == characters_.size() || characters_[next_] != U'<') {
      return ErrorAt(next_, "missing <");
    }
    const size_t start = ++next_;
    while (next_ < characters_.size() && characters_[next_] != U'>') ++next_;
    const std::string name = ToText(start);
    if (name.empty()) return ErrorAt(start, "missing group name");
    if (next_ == characters_.size()) return ErrorAt(start, "missing >, unterminated name");
    ++next_;
    if (IsPythonIdentifier(name)) {
      const auto found = syntax_.group_names.find(name);
      if (found != syntax_.group_names.end()) return AddGroup(found->second, start);
      return ErrorAt(start, Concat("unknown group name '", name, "'"));
    }
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return ErrorAt(start, Concat("bad character in group name '", name, "'"));
    }
    uint64_t group = 0;
    for (const char digit : name) {
      group = std::min<uint64_t>(group * 10 + static_cast<uint64_t>(digit - '0'), kMostGroups);
    }
    return AddGroup(group, start);
  }

  const std::string_view text_;
  const std::u32string characters_;
  const RegexSyntax& syntax_;
  size_t next_ = 0;
  std::vector<TemplatePiece> pieces_;
};

}  // namespace

absl::StatusOr<std::vector<TemplatePiece>> ParsePythonTemplate(std::string_view text,
                                                               const RegexSyntax& syntax) {
  if (const auto invalid = FirstInvalidUtf8(text)) {
    return InvalidArgument("replacement ", Quoted(text), ": byte ", *invalid, " is not UTF-8");
  }
  return TemplateParser(text, syntax).Parse();
}

}  // namespace tessera::regex
