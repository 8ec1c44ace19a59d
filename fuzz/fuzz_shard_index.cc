// An index of up to 64 inner chunks: whatever is read says where chunks lie inside of the shard,
// and is written back as it was.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/core/status.h"
#include "tessera/zarr/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const int64_t chunks = 1 + data[0] % 64;
  codec::ArraySpec spec{.array = {{chunks, 2}, DType::kUint64}};
  // Without a checksum the fuzzer gets to the entries.
  if ((data[0] & 64) != 0) spec.compression.push_back(codec::Crc32cSpec{});
  if ((data[0] & 128) != 0) spec.endian = codec::Endian::kBig;
  const auto codec = codec::ArrayCodec::Make(spec);
  TESSERA_CHECK(codec.ok());
  const auto encoded = std::as_bytes(std::span(data + 1, size - 1));
  codec::Scratch scratch;
  const auto index = zarr::ShardIndex::Decode(*codec, encoded, scratch);
  if (!index.ok()) return 0;
  constexpr uint64_t kShardSize = 4096;
  for (int64_t i = 0; i < chunks; ++i) {
    const auto extent = index->At(i, kShardSize);
    if (!extent.ok() || !extent->has_value()) continue;
    TESSERA_CHECK((*extent)->size <= kShardSize &&
                  (*extent)->offset <= kShardSize - (*extent)->size);
  }
  const auto again = index->Encode(*codec, scratch);
  TESSERA_CHECK(again.ok() && std::ranges::equal(*again, encoded));
  return 0;
}
