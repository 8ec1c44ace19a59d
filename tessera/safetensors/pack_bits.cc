#include "tessera/safetensors/pack_bits.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera::safetensors {

void UnpackBits(std::span<const std::byte> stream, int bits, uint64_t first,
                std::span<std::byte> elements) {
  if (elements.empty()) return;
  const auto width = static_cast<uint64_t>(bits);
  TESSERA_CHECK((first + elements.size()) * width <= stream.size() * 8);
  const unsigned mask = (1u << bits) - 1;
  uint64_t at = first * width;
  for (std::byte& element : elements) {
    const size_t byte = at / 8;
    unsigned window = std::to_integer<unsigned>(stream[byte]);
    if (byte + 1 < stream.size()) window |= std::to_integer<unsigned>(stream[byte + 1]) << 8;
    element = static_cast<std::byte>(window >> (at % 8) & mask);
    at += width;
  }
}

void PackBits(std::span<const std::byte> elements, int bits, std::span<std::byte> stream) {
  TESSERA_CHECK(stream.size() == (elements.size() * static_cast<size_t>(bits) + 7) / 8);
  const unsigned mask = (1u << bits) - 1;
  unsigned window = 0;  // bits that are not stored yet
  int held = 0;
  size_t next = 0;
  for (const std::byte element : elements) {
    window |= (std::to_integer<unsigned>(element) & mask) << held;
    held += bits;
    if (held < 8) continue;
    stream[next++] = static_cast<std::byte>(window & 0xff);
    window >>= 8;
    held -= 8;
  }
  if (held > 0) stream[next] = static_cast<std::byte>(window);
}

}  // namespace tessera::safetensors
