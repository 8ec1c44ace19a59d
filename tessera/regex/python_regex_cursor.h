// A position in the text of a regular expression that moves token by token.
//
// As in Python, a token is one character, or a backslash together with the character after it,
// also inside comments and names.
#ifndef TESSERA_REGEX_PYTHON_REGEX_CURSOR_H_
#define TESSERA_REGEX_PYTHON_REGEX_CURSOR_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::regex {

struct RegexToken {
  char32_t first = 0;
  char32_t second = 0;  // what follows a backslash
  size_t length = 0;    // in characters; 0 at the end of the pattern

  bool at_end() const { return length == 0; }
  bool is_escape() const { return length == 2; }
  bool Is(char c) const { return length == 1 && first == static_cast<char32_t>(c); }
  bool IsOneOf(std::string_view chars) const;
};

class RegexCursor {
 public:
  // InvalidArgument unless `pattern` is UTF-8 and ends with a whole token.
  static absl::StatusOr<RegexCursor> Make(std::string_view pattern);

  RegexToken Peek() const;
  RegexToken Take();
  bool TakeIf(char c);

  // Takes up to `limit` characters for which `accepts` holds.
  std::u32string TakeWhile(size_t limit, bool (*accepts)(char32_t));

  // Takes all up to `terminator`, and that too.  `what` is being read ("group name").
  absl::StatusOr<std::u32string> TakeUntil(char terminator, std::string_view what);

  // Index, in code points, of the next token.
  size_t position() const { return position_; }
  void Seek(size_t position) { position_ = position; }

  // The pattern's text from `start` up to the next token.
  std::string TextSince(size_t start) const;

  absl::Status ErrorAt(size_t position, std::string_view what) const;
  absl::Status ErrorHere(std::string_view what) const { return ErrorAt(position_, what); }

 private:
  RegexCursor(std::string_view pattern, std::u32string text)
      : pattern_(pattern), text_(std::move(text)) {}

  std::string pattern_;
  std::u32string text_;
  size_t position_ = 0;
};

bool IsAsciiDigit(char32_t c);
bool IsOctalDigit(char32_t c);
bool IsHexDigit(char32_t c);
bool IsAsciiLetter(char32_t c);

// The characters in UTF-8.  REQUIRES: none is a surrogate.
std::string ToUtf8(std::u32string_view text);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_REGEX_CURSOR_H_
