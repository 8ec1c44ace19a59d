#include "tessera/checkpoint/chunk_shape.h"

#include <algorithm>
#include <vector>

#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

// A chunk may be this many times smaller than allowed, for the sake of an even cut.
constexpr int64_t kMostTooSmall = 8;
// The same, where the shard would otherwise stay in one piece.
constexpr int64_t kMostFarTooSmall = 1024;

// From 1 to `size`, ascending.  Of a size past any array's, not all in the middle.
std::vector<int64_t> DivisorsOf(int64_t size) {
  constexpr int64_t kMostTried = int64_t{1} << 20;
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d <= size / d && d <= kMostTried; ++d) {
    if (size % d != 0) continue;
    low.push_back(d);
    if (d != size / d) high.push_back(size / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// Cuts one dimension after the other until the chunk is small enough.
class Cutter {
 public:
  Cutter(DimsView array_shape, DimsView shard_shape, int64_t bytes, int64_t most)
      : array_(array_shape), shard_(shard_shape), most_(most) {
    chunk_.bytes = bytes;
    for (const int64_t size : shard_shape) chunk_.shape.push_back(std::max<int64_t>(1, size));
  }

  ChunkChoice Cut() {
    for (size_t i = 0; i < chunk_.shape.size() && !Fits(); ++i) CutDimension(i);
    if (!Fits()) CutAtAnyCost();
    if (!Fits()) chunk_.reason = ChunkReason::kIndivisible;
    return chunk_;
  }

 private:
  bool Fits() const { return chunk_.bytes <= most_; }
  bool Good(int64_t parts, int64_t too_small) const {
    const int64_t bytes = chunk_.bytes / parts;
    return bytes <= most_ && bytes >= most_ / too_small;
  }
  void Divide(size_t dimension, int64_t parts) {
    if (parts == 1) return;
    chunk_.shape[dimension] /= parts;
    chunk_.bytes /= parts;
    if (chunk_.reason == ChunkReason::kShard) chunk_.reason = ChunkReason::kDivided;
  }

  void CutDimension(size_t dimension) {
    int64_t most_that_is_too_few = 1;
    for (const int64_t parts : DivisorsOf(chunk_.shape[dimension])) {
      if (Good(parts, kMostTooSmall)) return Divide(dimension, parts);
      if (chunk_.bytes / parts > most_) most_that_is_too_few = parts;
    }
    if (shard_[dimension] == array_[dimension] && CutUnevenly(dimension)) return;
    Divide(dimension, most_that_is_too_few);
  }

  bool CutUnevenly(size_t dimension) {
    const int64_t size = chunk_.shape[dimension];
    const int64_t slice = chunk_.bytes / size;
    if (slice > most_ / 2) return false;  // too few in a chunk to be worth a shorter one
    const int64_t chunks = (size + most_ / slice - 1) / (most_ / slice);
    chunk_.shape[dimension] = (size + chunks - 1) / chunks;
    chunk_.bytes = chunk_.shape[dimension] * slice;
    chunk_.reason = ChunkReason::kUneven;
    return true;
  }

  void CutAtAnyCost() {
    size_t best = 0;
    int64_t least = 0;
    for (size_t i = 0; i < chunk_.shape.size(); ++i) {
      for (const int64_t parts : DivisorsOf(chunk_.shape[i])) {
        if (!Good(parts, kMostFarTooSmall)) continue;
        if (least == 0 || parts < least) {
          least = parts;
          best = i;
        }
        break;
      }
    }
    if (least > 0) Divide(best, least);
  }

  const DimsView array_;
  const DimsView shard_;
  const int64_t most_;
  ChunkChoice chunk_;
};

}  // namespace

std::string_view ChunkReasonName(ChunkReason reason) {
  static constexpr std::string_view kNames[] = {"shard", "divided", "uneven", "indivisible",
                                                "block"};
  return kNames[static_cast<size_t>(reason)];
}

std::string ChunkChoice::Text() const {
  return Concat(ShapeText(shape), " (", ChunkReasonName(reason), ", ", bytes, " bytes)");
}

ChunkChoice ChooseChunkShape(DimsView array_shape, DimsView shard_shape, DType dtype,
                             int64_t most_bytes) {
  Dims chunk;
  for (const int64_t size : shard_shape) chunk.push_back(std::max<int64_t>(1, size));
  const auto bytes = NumBytes(dtype, chunk);
  // An array without elements may have a shape whose other sizes multiply to anything.
  if (!bytes.ok()) return {Dims(chunk.size(), 1), ChunkReason::kDivided, DTypeBytes(dtype)};
  return Cutter(array_shape, shard_shape, *bytes, std::max<int64_t>(1, most_bytes)).Cut();
}

}  // namespace tessera::checkpoint
