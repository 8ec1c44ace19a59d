// Elements under a byte: a byte each in memory, a stream of bits when they are stored.
//
// Element i of a stream is its bits [i * bits, (i + 1) * bits), counted from the lowest of the
// first byte on: FORMAT.md, "Elements under a byte".
#ifndef TESSERA_SAFETENSORS_PACK_BITS_H_
#define TESSERA_SAFETENSORS_PACK_BITS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::safetensors {

// Fills `elements` with those from number `first` on.  REQUIRES: 0 < bits < 8, and `stream` has
// them all.
void UnpackBits(std::span<const std::byte> stream, int bits, uint64_t first,
                std::span<std::byte> elements);

// The low bits of each element, from the first bit of `stream` on; bits of its last byte that are
// left over are zero.  REQUIRES: 0 < bits < 8; `stream` has as many bytes as the elements need.
void PackBits(std::span<const std::byte> elements, int bits, std::span<std::byte> stream);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_PACK_BITS_H_
