// What a codec is set to, as plain data: metadata can hold, compare and write it without any
// compression library.
#ifndef TESSERA_CODEC_SPEC_H_
#define TESSERA_CODEC_SPEC_H_

#include <string>
#include <variant>

namespace tessera::codec {

// Which byte of an element comes first.
enum class Endian { kLittle, kBig };

struct ZstdSpec {
  int level = 1;  // -131072 to 22; 0 is the library's default
  bool checksum = false;
  friend bool operator==(const ZstdSpec&, const ZstdSpec&) = default;
};

// A deflate stream in one of its two wrappings.
struct DeflateSpec {
  enum class Wrapping { kGzip, kZlib } wrapping = Wrapping::kGzip;
  int level = 1;  // 0 to 9
  friend bool operator==(const DeflateSpec&, const DeflateSpec&) = default;
};

struct Bz2Spec {
  int level = 1;  // 1 to 9
  friend bool operator==(const Bz2Spec&, const Bz2Spec&) = default;
};

struct BloscSpec {
  // kAuto: bits when an element is one byte, else bytes.
  enum class Shuffle { kNone, kBytes, kBits, kAuto };
  std::string compressor = "lz4";  // blosclz, lz4, lz4hc, snappy, zlib, zstd
  int level = 5;                   // 0 to 9
  Shuffle shuffle = Shuffle::kBytes;
  int element_bytes = 1;  // 1 to 255; what is shuffled
  int block_bytes = 0;    // 0: the library chooses
  friend bool operator==(const BloscSpec&, const BloscSpec&) = default;
};

// Four bytes of CRC-32C at the end.
struct Crc32cSpec {
  friend bool operator==(const Crc32cSpec&, const Crc32cSpec&) = default;
};

// A codec from bytes to bytes.
using BytesSpec = std::variant<ZstdSpec, DeflateSpec, Bz2Spec, BloscSpec, Crc32cSpec>;

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_SPEC_H_
