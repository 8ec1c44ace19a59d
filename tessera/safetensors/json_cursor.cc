#include "tessera/safetensors/json_cursor.h"

#include <cstring>

#include "tessera/core/json.h"
#include "tessera/core/text.h"

namespace tessera::safetensors {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What may stand in a string as it is.
bool IsPlain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; }

// Whether the eight bytes that `text` begins with are all plain.  What the subtractions borrow can
// only make a plain byte look like another kind, never the other way round.
bool StartsWithEightPlain(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  if (text.size() < 8) return false;
  uint64_t word;
  std::memcpy(&word, text.data(), sizeof(word));
  const auto has_zero = [](uint64_t x) { return (x - kOnes) & ~x; };
  const uint64_t control = (word - kOnes * 0x20) & ~word;
  return ((control | has_zero(word ^ (kOnes * '"')) | has_zero(word ^ (kOnes * '\\'))) &
          (kOnes * 0x80)) == 0;
}

bool IsHighSurrogate(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLowSurrogate(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// The value of a hexadecimal digit, or 16.
uint32_t HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

// What `\c` stands for, or NUL when it stands for nothing.
char SimpleEscape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

}  // namespace

absl::Status JsonCursor::Unexpected(std::string_view expected) {
  SkipSpace();
  if (position_ == text_.size()) {
    return InvalidArgument("byte ", position_, ": expected ", expected, ", found the end");
  }
  constexpr size_t kShown = 12;
  return InvalidArgument("byte ", position_, ": expected ", expected, ", found ",
                         Quoted(text_.substr(position_, kShown)));
}

absl::Status JsonCursor::Open(char bracket, std::string_view expected) {
  if (!Take(bracket)) return Unexpected(expected);
  if (++depth_ > kMaxJsonDepth) {
    return InvalidArgument("byte ", position_ - 1, ": values nest deeper than ", kMaxJsonDepth);
  }
  return absl::OkStatus();
}

absl::Status JsonCursor::End() {
  if (NextByte() != text_.size()) return Unexpected("nothing more");
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> JsonCursor::String() {
  if (!Take('"')) return Unexpected("a string");
  const size_t begin = position_;
  while (StartsWithEightPlain(text_.substr(position_))) position_ += 8;
  while (position_ < text_.size() && IsPlain(text_[position_])) ++position_;
  if (position_ == text_.size() || text_[position_] != '"') return StringWithEscapes(begin);
  return text_.substr(begin, position_++ - begin);
}

absl::StatusOr<std::string_view> JsonCursor::StringWithEscapes(size_t begin) {
  unescaped_.assign(text_.substr(begin, position_ - begin));
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '"') {
      ++position_;
      return unescaped_;
    }
    if (c == '\\') {
      TESSERA_RETURN_IF_ERROR(AppendEscape());
    } else if (IsPlain(c)) {
      unescaped_ += c;
      ++position_;
    } else {
      return InvalidArgument("byte ", position_, ": a control character in a string");
    }
  }
  return InvalidArgument("byte ", begin - 1, ": a string without an end");
}

absl::Status JsonCursor::AppendEscape() {
  const size_t begin = position_++;
  const char kind = position_ < text_.size() ? text_[position_] : '\0';
  ++position_;
  if (kind == 'u') {
    position_ = begin;
    TESSERA_ASSIGN_OR_RETURN(const char32_t c, CodePoint());
    AppendUtf8(c, unescaped_);
    return absl::OkStatus();
  }
  const char simple = SimpleEscape(kind);
  if (simple == '\0') return InvalidArgument("byte ", begin, ": no such escape in a string");
  unescaped_ += simple;
  return absl::OkStatus();
}

absl::StatusOr<char32_t> JsonCursor::CodePoint() {
  const size_t begin = position_;
  TESSERA_ASSIGN_OR_RETURN(const uint32_t first, FourHexDigits());
  if (!IsHighSurrogate(first) && !IsLowSurrogate(first)) return first;
  if (IsHighSurrogate(first) && text_.substr(position_).starts_with("\\u")) {
    TESSERA_ASSIGN_OR_RETURN(const uint32_t second, FourHexDigits());
    if (IsLowSurrogate(second)) return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }
  return InvalidArgument("byte ", begin, ": half of a surrogate pair in a string");
}

absl::StatusOr<uint32_t> JsonCursor::FourHexDigits() {
  const std::string_view digits = text_.substr(position_).substr(2, 4);
  uint32_t value = 0;
  for (const char c : digits) {
    const uint32_t digit = HexValue(c);
    if (digit > 15) return InvalidArgument("byte ", position_, ": \\u without four hex digits");
    value = value * 16 + digit;
  }
  if (digits.size() < 4)
    return InvalidArgument("byte ", position_, ": \\u without four hex digits");
  position_ += 6;
  return value;
}

absl::StatusOr<uint64_t> JsonCursor::Unsigned() {
  constexpr std::string_view kExpected = "an integer from 0 up";
  const size_t begin = NextByte();
  uint64_t value = 0;
  while (position_ < text_.size() && IsDigit(text_[position_])) {
    const uint64_t digit = text_[position_++] - '0';
    if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
        __builtin_add_overflow(value, digit, &value)) {
      return InvalidArgument("byte ", begin, ": the number does not fit 64 bits");
    }
  }
  const char next = position_ < text_.size() ? text_[position_] : '\0';
  const bool zero_first = position_ - begin > 1 && text_[begin] == '0';
  if (position_ == begin || zero_first || next == '.' || next == 'e' || next == 'E') {
    position_ = begin;
    return Unexpected(kExpected);
  }
  return value;
}

absl::StatusOr<std::string_view> JsonCursor::Any() {
  const size_t begin = NextByte();
  TESSERA_RETURN_IF_ERROR(Skip());
  return text_.substr(begin, position_ - begin);
}

absl::Status JsonCursor::Skip() {
  SkipSpace();
  switch (position_ < text_.size() ? text_[position_] : '\0') {
    case '{':
      return Object([this](std::string_view) { return Skip(); });
    case '[':
      return Array([this] { return Skip(); });
    case '"':
      return String().status();
    case 't':
      return SkipWord("true");
    case 'f':
      return SkipWord("false");
    case 'n':
      return SkipWord("null");
    default:
      return SkipNumber();
  }
}

absl::Status JsonCursor::SkipWord(std::string_view word) {
  if (!text_.substr(position_).starts_with(word)) return Unexpected("a JSON value");
  position_ += word.size();
  return absl::OkStatus();
}

bool JsonCursor::SkipDigits() {
  const size_t begin = position_;
  while (position_ < text_.size() && IsDigit(text_[position_])) ++position_;
  return position_ > begin;
}

absl::Status JsonCursor::SkipNumber() {
  const size_t begin = position_;
  const auto take = [this](std::string_view any_of) {
    if (position_ == text_.size() || any_of.find(text_[position_]) == std::string_view::npos) {
      return false;
    }
    ++position_;
    return true;
  };
  take("-");
  // After a zero that comes first no digit may follow.
  bool good = take("0") || SkipDigits();
  if (good && take(".")) good = SkipDigits();
  if (good && take("eE")) {
    take("+-");
    good = SkipDigits();
  }
  if (good) return absl::OkStatus();
  position_ = begin;
  return Unexpected("a JSON value");
}

}  // namespace tessera::safetensors
