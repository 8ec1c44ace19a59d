// JsonCursor: reads JSON text token by token, each byte once.
//
// Headers and indexes have tens of thousands of members, most of whose text goes straight into its
// final place; a tree of values in between would cost several times what reading them does.
#ifndef TESSERA_SAFETENSORS_JSON_CURSOR_H_
#define TESSERA_SAFETENSORS_JSON_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/status.h"

namespace tessera::safetensors {

// Strict: what RFC 8259 does not have is refused, but for text that is not UTF-8, which is passed
// on as it is.  Every error is InvalidArgument and begins with the byte where reading stopped.
class JsonCursor {
 public:
  // `text` outlives the cursor.
  explicit JsonCursor(std::string_view text) : text_(text) {}

  // Whether `c` is next, after white space.
  bool NextIs(char c) {
    SkipSpace();
    return position_ < text_.size() && text_[position_] == c;
  }

  // The same, and passes over it.
  bool Take(char c) {
    if (!NextIs(c)) return false;
    ++position_;
    return true;
  }

  // Where the next token begins.
  size_t NextByte() {
    SkipSpace();
    return position_;
  }

  // An object: `read_member(key)` reads the value of each member.  The key is lost with the next
  // string.
  template <typename ReadMember>
  absl::Status Object(ReadMember read_member);

  // A list: `read_element()` reads each.
  template <typename ReadElement>
  absl::Status Array(ReadElement read_element);

  // A string, without its escapes; valid until the next one.
  absl::StatusOr<std::string_view> String();

  // An integer from 0 to 2^64 - 1: no sign, fraction or exponent.
  absl::StatusOr<uint64_t> Unsigned();

  // Any value; returns its text.
  absl::StatusOr<std::string_view> Any();

  // OK when nothing but white space is left.
  absl::Status End();

  // Of something that was met instead of what `expected` tells.
  absl::Status Unexpected(std::string_view expected);

 private:
  void SkipSpace() {
    while (position_ < text_.size() && IsSpace(text_[position_])) ++position_;
  }
  static bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

  absl::Status Open(char bracket, std::string_view expected);
  absl::Status Skip();
  absl::Status SkipWord(std::string_view word);
  absl::Status SkipNumber();
  bool SkipDigits();
  absl::StatusOr<std::string_view> StringWithEscapes(size_t begin);
  absl::Status AppendEscape();
  absl::StatusOr<char32_t> CodePoint();
  absl::StatusOr<uint32_t> FourHexDigits();

  const std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
  std::string unescaped_;
};

template <typename ReadMember>
absl::Status JsonCursor::Object(ReadMember read_member) {
  TESSERA_RETURN_IF_ERROR(Open('{', "an object"));
  if (!Take('}')) {
    do {
      TESSERA_ASSIGN_OR_RETURN(const std::string_view key, String());
      if (!Take(':')) return Unexpected("':'");
      TESSERA_RETURN_IF_ERROR(read_member(key));
    } while (Take(','));
    if (!Take('}')) return Unexpected("',' or '}'");
  }
  --depth_;
  return absl::OkStatus();
}

template <typename ReadElement>
absl::Status JsonCursor::Array(ReadElement read_element) {
  TESSERA_RETURN_IF_ERROR(Open('[', "a list"));
  if (!Take(']')) {
    do {
      TESSERA_RETURN_IF_ERROR(read_element());
    } while (Take(','));
    if (!Take(']')) return Unexpected("',' or ']'");
  }
  --depth_;
  return absl::OkStatus();
}

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_JSON_CURSOR_H_
