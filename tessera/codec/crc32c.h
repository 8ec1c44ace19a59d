// CRC-32C, the checksum of zarr's crc32c codec and of many stores.
#ifndef TESSERA_CODEC_CRC32C_H_
#define TESSERA_CODEC_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::codec {

// Castagnoli polynomial, reflected, with initial and final complement; 0xE3069283 for "123456789".
uint32_t Crc32c(std::span<const std::byte> data);

// Of data that goes on after some whose checksum is `before`, 0 if there was none.
uint32_t Crc32c(uint32_t before, std::span<const std::byte> data);

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_CRC32C_H_
