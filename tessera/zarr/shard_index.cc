#include "tessera/zarr/shard_index.h"

#include <limits>

#include "tessera/core/status.h"
#include "tessera/core/strided.h"

namespace tessera::zarr {
namespace {

// Both words of a chunk that is not there.
constexpr uint64_t kMissing = std::numeric_limits<uint64_t>::max();

}  // namespace

ShardIndex::ShardIndex(int64_t chunk_count) : words_(2 * chunk_count, kMissing) {}

absl::StatusOr<ShardIndex> ShardIndex::Decode(const codec::ArrayCodec& codec,
                                              std::span<const std::byte> encoded,
                                              codec::Scratch& scratch) {
  ShardIndex index(codec.decoded_bytes() / (2 * sizeof(uint64_t)));
  const Dims& shape = codec.array().shape;
  const StridedView target =
      RowMajorView(reinterpret_cast<std::byte*>(index.words_.data()), shape, sizeof(uint64_t));
  const absl::Status status = codec.Decode(encoded, Box::Whole(shape), target, scratch);
  if (!status.ok()) return Prefixed(status, "shard index");
  return index;
}

absl::StatusOr<std::span<const std::byte>> ShardIndex::Encode(const codec::ArrayCodec& codec,
                                                              codec::Scratch& scratch) const {
  return codec.Encode(RowMajorView(reinterpret_cast<const std::byte*>(words_.data()),
                                   codec.array().shape, sizeof(uint64_t)),
                      scratch);
}

absl::StatusOr<std::optional<Extent>> ShardIndex::At(int64_t chunk, uint64_t shard_size) const {
  const Extent extent{words_[2 * chunk], words_[2 * chunk + 1]};
  if (extent.offset == kMissing && extent.size == kMissing) return std::nullopt;
  if (extent.size > shard_size || extent.offset > shard_size - extent.size) {
    return DataLoss("shard index: inner chunk ", chunk, " has ", extent.size, " bytes from ",
                    extent.offset, ", but the shard has ", shard_size);
  }
  return extent;
}

void ShardIndex::Set(int64_t chunk, const Extent& extent) {
  words_[2 * chunk] = extent.offset;
  words_[2 * chunk + 1] = extent.size;
}

}  // namespace tessera::zarr
