// The index of one zarr v3 shard: where each inner chunk lies in the shard.
//
// Layout: FORMAT.md, "Shards".  Pure: bytes in, values out, no I/O.
#ifndef TESSERA_ZARR_SHARD_INDEX_H_
#define TESSERA_ZARR_SHARD_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/array_codec.h"

namespace tessera::zarr {

// Bytes [offset, offset + size) of a shard.
struct Extent {
  uint64_t offset = 0;
  uint64_t size = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

// Kept as stored, two words per inner chunk in C order: an index may be as large as the budget
// allows, and is looked into at few places.
class ShardIndex {
 public:
  // Of `chunk_count` chunks, all missing.
  explicit ShardIndex(int64_t chunk_count);

  // Reads an index.  `codec` is that of a uint64 array of shape grid + [2].  DataLoss when
  // `encoded` has another length or fails its checksum.
  static absl::StatusOr<ShardIndex> Decode(const codec::ArrayCodec& codec,
                                           std::span<const std::byte> encoded,
                                           codec::Scratch& scratch);

  absl::StatusOr<std::span<const std::byte>> Encode(const codec::ArrayCodec& codec,
                                                    codec::Scratch& scratch) const;

  int64_t chunk_count() const { return static_cast<int64_t>(words_.size() / 2); }

  // Where a chunk lies; nullopt: it was never written.  DataLoss when that is not inside of a
  // shard of `shard_size` bytes.
  absl::StatusOr<std::optional<Extent>> At(int64_t chunk, uint64_t shard_size) const;
  void Set(int64_t chunk, const Extent& extent);

 private:
  std::vector<uint64_t> words_;
};

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_SHARD_INDEX_H_
