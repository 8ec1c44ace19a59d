#include "tessera/core/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "tessera/core/utf8.h"

namespace tessera {
namespace {

constexpr size_t kLongestQuoted = 200;

uint8_t ByteAt(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

void AppendQuotedByte(uint8_t byte, std::string& text) {
  if (byte < 0x20 || byte >= 0x7F) {
    fmt::format_to(std::back_inserter(text), "\\x{:02x}", byte);
  } else {
    text.push_back(static_cast<char>(byte));
  }
}

}  // namespace

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

std::u32string DecodeUtf8(std::string_view text) {
  std::u32string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = ByteAt(text, i);
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t c = length == 1 ? lead : lead & (0x7F >> length);
    for (size_t k = 1; k < length; ++k) c = (c << 6) | (ByteAt(text, i + k) & 0x3F);
    decoded.push_back(c);
    i += length;
  }
  return decoded;
}

void AppendUtf8(char32_t c, std::string& text) {
  const auto put = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  size_t i = 0;
  while (i < text.size() && i < kLongestQuoted) {
    const size_t length = Utf8SequenceLength(text.substr(i));
    if (length <= 1) {
      AppendQuotedByte(ByteAt(text, i), quoted);
      ++i;
    } else {
      quoted.append(text.substr(i, length));
      i += length;
    }
  }
  quoted += i < text.size() ? "'..." : "'";
  return quoted;
}

}  // namespace tessera
