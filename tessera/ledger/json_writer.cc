#include "tessera/ledger/json_writer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"

namespace tessera::ledger {
namespace {

bool IsPlain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

void AppendUnit(uint32_t unit, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 15];
}

void AppendEscaped(char32_t c, std::string& out) {
  static constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  static constexpr std::string_view kLetters = "\"\\bfnrt";
  const size_t found = c < 0x80 ? kShort.find(static_cast<char>(c)) : std::string_view::npos;
  if (found != std::string_view::npos) {
    out += '\\';
    out += kLetters[found];
  } else if (c < 0x10000) {
    AppendUnit(c, out);
  } else {
    AppendUnit(0xD800 + ((c - 0x10000) >> 10), out);
    AppendUnit(0xDC00 + ((c - 0x10000) & 0x3FF), out);
  }
}

}  // namespace

void JsonWriter::NewLine() {
  text_ += '\n';
  text_.append(static_cast<size_t>(2 * depth_), ' ');
}

void JsonWriter::Separate() {
  if (std::exchange(after_key_, false)) return;
  if (!std::exchange(fresh_, false)) text_ += style_ == JsonStyle::kOneLine ? ", " : ",";
  if (style_ == JsonStyle::kIndented && depth_ > 0) NewLine();
}

void JsonWriter::Begin(char bracket) {
  Separate();
  text_ += bracket;
  ++depth_;
  fresh_ = true;
}

void JsonWriter::End(char bracket) {
  --depth_;
  if (style_ == JsonStyle::kIndented && !fresh_) NewLine();
  text_ += bracket;
  fresh_ = false;
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  AppendString(key);
  text_ += style_ == JsonStyle::kCompact ? ":" : ": ";
  after_key_ = true;
}

void JsonWriter::String(std::string_view text) {
  Separate();
  AppendString(text);
}

void JsonWriter::AppendString(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    const auto special = std::find_if_not(text.begin(), text.end(), IsPlain);
    text_.append(text.begin(), special);
    text.remove_prefix(static_cast<size_t>(special - text.begin()));
    if (text.empty()) break;
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) {
      // Python's way to show such a byte: Finish() refuses it, a digest of the text still tells it
      // from others.
      if (first_bad_.empty()) first_bad_ = text;
      AppendUnit(0xDC00 + static_cast<unsigned char>(text[0]), text_);
    } else {
      AppendEscaped(DecodeUtf8(text.substr(0, length))[0], text_);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  text_ += '"';
}

void JsonWriter::Integer(int64_t value) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  Token({digits, static_cast<size_t>(end - digits)});
}

void JsonWriter::Unsigned(uint64_t value) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  Token({digits, static_cast<size_t>(end - digits)});
}

void JsonWriter::Integers(std::span<const int64_t> values) {
  BeginArray();
  for (const int64_t value : values) Integer(value);
  EndArray();
}

void JsonWriter::Strings(std::span<const std::string> values) {
  BeginArray();
  for (const std::string& value : values) String(value);
  EndArray();
}

void JsonWriter::Token(std::string_view token) {
  Separate();
  text_ += token;
}

void JsonWriter::Copy(JsonValue value) {
  if (value.is(JsonKind::kObject)) {
    BeginObject();
    bool key = true;
    for (const JsonValue item : value.items()) {
      // A key that was scanned has text.
      key ? Key(*item.Text()) : Copy(item);
      key = !key;
    }
    return EndObject();
  }
  if (value.is(JsonKind::kArray)) {
    BeginArray();
    for (const JsonValue item : value.items()) Copy(item);
    return EndArray();
  }
  const std::optional<std::string> text = value.Text();
  // Half a surrogate pair is no text; it is passed on as it stands.
  text.has_value() ? String(*text) : Token(value.raw());
}

absl::StatusOr<std::string> JsonWriter::Finish() {
  if (!first_bad_.empty()) {
    return InvalidArgument("text that is not UTF-8 cannot be written: ", Quoted(first_bad_));
  }
  return std::move(text_);
}

}  // namespace tessera::ledger
