#include "tessera/zarr/read_method.h"

#include <algorithm>
#include <limits>

#include "tessera/core/pieces.h"
#include "tessera/zarr/memory_need.h"

namespace tessera::zarr {
namespace {

using Method = ReadPlan::Method;

// A decoder of pieces costs more to set up than a chunk of less to decode.
constexpr int64_t kLarge = 1 << 20;

// For what is read at a time.
int64_t PieceNeed(const codec::ArrayCodec& codec, const ReadTerms& terms) {
  const int64_t most = codec.most_encoded_bytes();
  return terms.streams ? std::min<int64_t>(kPieceBytes, most) : most;
}

ReadPlan WholePlan(const codec::ArrayCodec& codec, const Wanted& wanted) {
  if (wanted.target.has_value()) {
    return {Method::kWhole, SaturatingSum({codec.most_encoded_bytes(),
                                           codec.DecodeScratchBytes(wanted.part, *wanted.target)})};
  }
  const int64_t decode =
      codec.DecodeScratchBytes(Box::Whole(codec.array().shape), codec.StoredView(nullptr));
  return {Method::kWhole,
          SaturatingSum({codec.most_encoded_bytes(), codec.decoded_bytes(), decode})};
}

// Straight to memory that lies as the bytes are stored, without all of them at once.
ReadPlan DirectPlan(const codec::ArrayCodec& codec, const ReadTerms& terms, const Wanted& wanted) {
  if (codec.plain()) return {Method::kDirect, 0};
  if (!codec.decodes_pieces() || codec.decoded_bytes() < kLarge) return WholePlan(codec, wanted);
  return {Method::kDirect, SaturatingSum({PieceNeed(codec, terms),
                                          codec.DecodeScratchBytes(wanted.part, *wanted.target)})};
}

ReadPlan SlabPlan(const codec::ArrayCodec& codec, const ReadTerms& terms) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return {Method::kSlabs, SaturatingSum({PieceNeed(codec, terms), SlabBytes(codec),
                                         codec.StreamBytes().value_or(kMost)})};
}

}  // namespace

PlainRun PlainRunOf(const codec::ArrayCodec& codec, const Box& part) {
  const int64_t element_bytes = DTypeBytes(codec.array().dtype);
  PlainRun run{.strides = RowMajorStrides(codec.array().shape, element_bytes)};
  int64_t first = 0;
  int64_t last = 0;
  int64_t elements = 1;
  for (int i = 0; i < part.rank(); ++i) {
    first += part.begin(i) * run.strides[i];
    last += (part.end(i) - 1) * run.strides[i];
    elements *= part.shape()[i];
  }
  run.offset = first;
  run.length = last - first + element_bytes;
  run.dense = static_cast<int64_t>(run.length) == elements * element_bytes;
  return run;
}

int64_t SlabBytes(const codec::ArrayCodec& codec) {
  // Without compression a slab is handed on from where it was read.
  return codec.SlabBytes(codec.uncompressed() ? kPieceBytes : 2 * kPieceBytes);
}

ReadPlan PlanRead(const codec::ArrayCodec& codec, const ReadTerms& terms, const Wanted& wanted) {
  const auto& target = wanted.target;
  if (codec.plain() && !terms.verify) {
    const PlainRun run = PlainRunOf(codec, wanted.part);
    if (target.has_value() && run.dense && IsDense(AsConst(*target))) return {Method::kRun, 0};
    const auto length = static_cast<int64_t>(run.length);
    if (!terms.streams || length <= SlabBytes(codec)) return {Method::kRun, length};
    return SlabPlan(codec, terms);
  }
  if (target.has_value() && codec.DecodesDirectly(wanted.part, *target)) {
    return DirectPlan(codec, terms, wanted);
  }
  const ReadPlan whole = WholePlan(codec, wanted);
  if (!codec.StreamBytes().has_value() || codec.decoded_bytes() < kLarge) return whole;
  const ReadPlan slabs = SlabPlan(codec, terms);
  return slabs.need < whole.need ? slabs : whole;
}

int64_t WholeNeed(const codec::ArrayCodec& codec, const Wanted& wanted) {
  return WholePlan(codec, wanted).need;
}

bool HoldsShard(const ReadTerms& terms, uint64_t size) {
  // A store that does not stream would take the memory anyway, each time.
  return !terms.streams || size <= static_cast<uint64_t>(terms.most_held);
}

int64_t ReadNeed(const ChunkCodec& codec, const ReadTerms& terms, const StoredChunk& stored,
                 const Wanted& wanted) {
  if (codec.shard == nullptr) return PlanRead(*codec.elements, terms, wanted).need;
  if (!stored.expected.has_value()) return MostReadNeed(codec, terms);
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  const uint64_t size = std::min(stored.expected->size, kMost);
  const int64_t held =
      HoldsShard(terms, size) ? static_cast<int64_t>(size) : static_cast<int64_t>(kPieceBytes);
  return SaturatingSum({held, MostReadNeed(codec, {.streams = terms.streams})});
}

int64_t MostReadNeed(const ChunkCodec& codec, const ReadTerms& terms) {
  if (codec.shard != nullptr) {
    // The index as stored and as decoded, and then one chunk at a time.
    return SaturatingSum({2 * codec.shard->index_bytes(), MostReadNeed(codec.shard->inner, terms)});
  }
  // A part that is put takes no less than one that goes to memory.
  return PlanRead(*codec.elements, terms, WantedOf(Box::Whole(codec.shape), std::nullopt)).need;
}

}  // namespace tessera::zarr
