#include "tessera/zarr/memory_need.h"

#include <algorithm>
#include <limits>

namespace tessera::zarr {

int64_t SaturatingSum(std::initializer_list<int64_t> parts) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t sum = 0;
  for (const int64_t part : parts) sum = part > kMost - sum ? kMost : sum + part;
  return sum;
}

int64_t EncodeNeed(const ChunkCodec& codec, bool streams, const ConstStridedView& source) {
  const int64_t value = streams ? 0 : codec.most_written_bytes();
  if (codec.shard != nullptr) return SaturatingSum({value, InnerEncodeNeed(codec, source)});
  return SaturatingSum({value, codec.elements->EncodeToScratchBytes(source)});
}

int64_t InnerEncodeNeed(const ChunkCodec& codec, const ConstStridedView& source) {
  if (codec.shard == nullptr) return codec.elements->EncodeScratchBytes(source);
  ConstStridedView inner = Permuted(source, codec.shard->order);
  inner.shape = codec.shard->inner.shape;
  // The shard as it grows, its index in memory and encoded, and then one chunk at a time.
  return SaturatingSum({codec.most_written_bytes(), 2 * codec.shard->index_bytes(),
                        InnerEncodeNeed(codec.shard->inner, inner)});
}

namespace {

// To decode a chunk that is in memory.
int64_t MostDecodeNeed(const ChunkCodec& codec) {
  if (codec.shard == nullptr) return codec.elements->MostDecodeScratchBytes();
  return SaturatingSum({2 * codec.shard->index_bytes(), MostDecodeNeed(codec.shard->inner)});
}

}  // namespace

int64_t MostWriteNeed(const ChunkCodec& codec, bool streams, DType dtype) {
  const int64_t chunk_bytes = NumBytes(dtype, codec.shape).value();
  const ConstStridedView chunk =
      RowMajorView<const std::byte>(nullptr, codec.shape, DTypeBytes(dtype));
  // A chunk to merge is read as a whole.
  const int64_t read = SaturatingSum({codec.most_encoded_bytes(), MostDecodeNeed(codec)});
  return SaturatingSum({chunk_bytes, read, EncodeNeed(codec, streams, chunk)});
}

int64_t MostOver(int64_t count, int64_t bound, absl::FunctionRef<int64_t(int64_t)> need) {
  constexpr int64_t kMostAsked = 4096;
  if (count > kMostAsked) return bound;
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, need(i));
  return most;
}

}  // namespace tessera::zarr
