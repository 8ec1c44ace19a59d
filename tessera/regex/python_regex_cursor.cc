#include "tessera/regex/python_regex_cursor.h"

#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"

namespace tessera::regex {
namespace {

absl::Status PatternError(std::string_view pattern, size_t position, std::string_view what) {
  return InvalidArgument("pattern ", Quoted(pattern), ": ", what, " at position ", position);
}

bool EndsInHalfAToken(std::u32string_view text) {
  size_t backslashes = 0;
  while (backslashes < text.size() && text[text.size() - 1 - backslashes] == U'\\') ++backslashes;
  return backslashes % 2 == 1;
}

}  // namespace

bool RegexToken::IsOneOf(std::string_view chars) const {
  return length == 1 && first < 0x80 && chars.find(static_cast<char>(first)) != chars.npos;
}

absl::StatusOr<RegexCursor> RegexCursor::Make(std::string_view pattern) {
  if (const auto invalid = FirstInvalidUtf8(pattern)) {
    return PatternError(pattern, DecodeUtf8(pattern.substr(0, *invalid)).size(),
                        "byte that is not UTF-8");
  }
  std::u32string text = DecodeUtf8(pattern);
  if (EndsInHalfAToken(text)) {
    return PatternError(pattern, text.size() - 1, "bad escape (end of pattern)");
  }
  return RegexCursor(pattern, std::move(text));
}

RegexToken RegexCursor::Peek() const {
  if (position_ >= text_.size()) return {};
  if (text_[position_] != U'\\') return {text_[position_], 0, 1};
  return {U'\\', text_[position_ + 1], 2};
}

RegexToken RegexCursor::Take() {
  const RegexToken token = Peek();
  position_ += token.length;
  return token;
}

bool RegexCursor::TakeIf(char c) {
  if (!Peek().Is(c)) return false;
  ++position_;
  return true;
}

std::u32string RegexCursor::TakeWhile(size_t limit, bool (*accepts)(char32_t)) {
  std::u32string taken;
  while (taken.size() < limit && Peek().length == 1 && accepts(Peek().first)) {
    taken.push_back(Take().first);
  }
  return taken;
}

absl::StatusOr<std::u32string> RegexCursor::TakeUntil(char terminator, std::string_view what) {
  const size_t start = position_;
  while (!Peek().at_end() && !Peek().Is(terminator)) Take();
  const std::u32string taken = text_.substr(start, position_ - start);
  if (taken.empty()) return ErrorAt(start, Concat("missing ", what));
  if (!TakeIf(terminator)) {
    return ErrorAt(start,
                   Concat("missing ", std::string_view(&terminator, 1), ", unterminated name"));
  }
  return taken;
}

std::string RegexCursor::TextSince(size_t start) const {
  return ToUtf8(std::u32string_view(text_).substr(start, position_ - start));
}

absl::Status RegexCursor::ErrorAt(size_t position, std::string_view what) const {
  return PatternError(pattern_, position, what);
}

bool IsAsciiDigit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool IsOctalDigit(char32_t c) { return c >= U'0' && c <= U'7'; }
bool IsHexDigit(char32_t c) {
  return IsAsciiDigit(c) || (c >= U'a' && c <= U'f') || (c >= U'A' && c <= U'F');
}
bool IsAsciiLetter(char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z'); }

std::string ToUtf8(std::u32string_view text) {
  std::string encoded;
  for (char32_t c : text) AppendUtf8(c, encoded);
  return encoded;
}

}  // namespace tessera::regex
