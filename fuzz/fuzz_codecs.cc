// Any bytes as encoded data: each decoder refuses them or fills exactly what it was given.
//
// Input: one byte that picks the codec, two for the size of the target, then the encoded data.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "tessera/codec/bytes_codec.h"
#include "tessera/core/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::codec;
  static const BytesSpec kSpecs[] = {ZstdSpec{},
                                     DeflateSpec{DeflateSpec::Wrapping::kGzip, 1},
                                     DeflateSpec{DeflateSpec::Wrapping::kZlib, 1},
                                     Bz2Spec{},
                                     BloscSpec{},
                                     Crc32cSpec{}};
  if (size < 3) return 0;
  const auto codec = MakeBytesCodec(kSpecs[data[0] % std::size(kSpecs)]);
  TESSERA_CHECK(codec.ok());
  // A copy of its own size, so that a read past its end shows.
  const std::vector<uint8_t> copy(data + 3, data + size);
  const auto encoded = std::as_bytes(std::span(copy));
  std::vector<std::byte> target(static_cast<size_t>(data[1]) * 256 + data[2]);
  const absl::Status decoded = (*codec)->Decode(encoded, target);
  TESSERA_CHECK(decoded.ok() || absl::IsDataLoss(decoded));
  tessera::Buffer buffer;
  const auto free = (*codec)->DecodeUpTo(encoded, target.size(), buffer);
  TESSERA_CHECK(free.ok() || absl::IsDataLoss(free.status()));
  TESSERA_CHECK(buffer.size() <= target.size());
  if (decoded.ok()) TESSERA_CHECK(free.ok() && std::ranges::equal(*free, target));
  return 0;
}
