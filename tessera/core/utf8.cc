#include "tessera/core/utf8.h"

#include <cstdint>
#include <cstring>

namespace tessera {
namespace {

// A lead byte's sequence length and the range of its second byte.  Overlong forms, surrogates and
// code points past U+10FFFF all show in the second byte.
struct Lead {
  size_t length;
  uint8_t second_min;
  uint8_t second_max;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

bool StartsWithEightAscii(std::string_view text) {
  if (text.size() < 8) return false;
  uint64_t word;
  std::memcpy(&word, text.data(), sizeof(word));
  return (word & 0x8080808080808080u) == 0;
}

}  // namespace

size_t Utf8SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = LeadOf(static_cast<uint8_t>(text[0]));
  if (lead.length <= 1) return lead.length;
  if (text.size() < lead.length) return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  if (second < lead.second_min || second > lead.second_max) return 0;
  for (size_t i = 2; i < lead.length; ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) return 0;
  }
  return lead.length;
}

std::optional<size_t> FirstInvalidUtf8(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    const std::string_view rest = text.substr(position);
    const size_t length = StartsWithEightAscii(rest) ? 8 : Utf8SequenceLength(rest);
    if (length == 0) return position;
    position += length;
  }
  return std::nullopt;
}

}  // namespace tessera
