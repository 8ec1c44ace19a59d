#include "tessera/ledger/pickle_base64.h"

#include <array>
#include <cstdint>

#include "tessera/core/status.h"

namespace tessera::ledger {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> DigitTable() {
  std::array<uint8_t, 256> table{};
  for (uint8_t& digit : table) digit = kNoDigit;
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    table[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return table;
}
constexpr std::array<uint8_t, 256> kDigits = DigitTable();

size_t PaddingOf(std::string_view text) {
  if (text.ends_with("==")) return 2;
  return text.ends_with('=') ? 1 : 0;
}

}  // namespace

std::string EncodeBase64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<uint32_t>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += j <= count ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

absl::StatusOr<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return InvalidArgument("expected Base64 in groups of 4 characters, found ", text.size(),
                           " characters");
  }
  const size_t digits = text.size() - PaddingOf(text);
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t pending = 0;
  int pending_bits = 0;
  for (size_t i = 0; i < digits; ++i) {
    const uint8_t digit = kDigits[static_cast<uint8_t>(text[i])];
    if (digit == kNoDigit) return InvalidArgument("character ", i, " is none of Base64");
    pending = (pending << 6 | digit) & 0xffff;
    pending_bits += 6;
    if (pending_bits < 8) continue;
    pending_bits -= 8;
    bytes.push_back(static_cast<std::byte>(pending >> pending_bits));
  }
  if ((pending & ((1u << pending_bits) - 1)) != 0) {
    return InvalidArgument("the Base64 has bits set behind its last byte");
  }
  return bytes;
}

}  // namespace tessera::ledger
