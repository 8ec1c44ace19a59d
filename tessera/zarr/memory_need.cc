#include "tessera/zarr/memory_need.h"

#include <algorithm>
#include <limits>

#include "tessera/core/pieces.h"

namespace tessera::zarr {
namespace {

// Whether the view's elements follow one another in C order.
bool IsDense(const StridedView& view) {
  int64_t expected = view.element_bytes;
  for (int i = static_cast<int>(view.shape.size()) - 1; i >= 0; --i) {
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

// For a chunk as it is stored.
int64_t StoredNeed(const codec::ArrayCodec& codec, bool streams) {
  const int64_t most = codec.most_encoded_bytes();
  return streams && ReadsInPieces(codec) ? std::min<int64_t>(kPieceBytes, most) : most;
}

}  // namespace

int64_t SaturatingSum(std::initializer_list<int64_t> parts) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t sum = 0;
  for (const int64_t part : parts) sum = part > kMost - sum ? kMost : sum + part;
  return sum;
}

PlainRun PlainRunOf(const codec::ArrayCodec& codec, const Box& part, const StridedView& target) {
  PlainRun run{.strides = RowMajorStrides(codec.array().shape, target.element_bytes)};
  int64_t first = 0;
  int64_t last = 0;
  int64_t elements = 1;
  for (int i = 0; i < part.rank(); ++i) {
    first += part.begin(i) * run.strides[i];
    last += (part.end(i) - 1) * run.strides[i];
    elements *= part.shape()[i];
  }
  run.offset = first;
  run.length = last - first + target.element_bytes;
  run.direct =
      static_cast<int64_t>(run.length) == elements * target.element_bytes && IsDense(target);
  return run;
}

bool ReadsInPieces(const codec::ArrayCodec& codec) {
  constexpr int64_t kLarge = 1 << 20;
  return codec.decodes_pieces() && codec.decoded_bytes() >= kLarge;
}

int64_t ReadNeed(const ChunkCodec& codec, bool streams, const Box& part,
                 const StridedView& target) {
  if (codec.shard != nullptr) return MostReadNeed(codec, streams);
  if (codec.elements->plain()) {
    const PlainRun run = PlainRunOf(*codec.elements, part, target);
    return run.direct ? 0 : static_cast<int64_t>(run.length);
  }
  return SaturatingSum(
      {StoredNeed(*codec.elements, streams), codec.elements->DecodeScratchBytes(part, target)});
}

int64_t MostReadNeed(const ChunkCodec& codec, bool streams) {
  if (codec.shard != nullptr) {
    // The index as stored and as decoded, and then one chunk at a time.
    return SaturatingSum(
        {2 * codec.shard->index_bytes(), MostReadNeed(codec.shard->inner, streams)});
  }
  if (codec.elements->plain()) return codec.elements->decoded_bytes();
  return SaturatingSum(
      {StoredNeed(*codec.elements, streams), codec.elements->MostDecodeScratchBytes()});
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

int64_t MostWriteNeed(const ChunkCodec& codec, bool streams, DType dtype) {
  const int64_t chunk_bytes = NumBytes(dtype, codec.shape).value();
  const ConstStridedView chunk =
      RowMajorView<const std::byte>(nullptr, codec.shape, DTypeBytes(dtype));
  // A chunk to merge is read as a whole.
  const int64_t read = SaturatingSum({codec.most_encoded_bytes(), MostReadNeed(codec, false)});
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
