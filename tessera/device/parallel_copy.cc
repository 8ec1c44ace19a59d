#include "tessera/device/parallel_copy.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tessera/core/box.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"

namespace tessera::device {
namespace {

// Long enough that starting a task costs nothing beside it, short enough that cores end together.
constexpr int64_t kPieceBytes = int64_t{4} << 20;

// How many parts each dimension is cut into for `wanted` pieces: first the dimension along which
// the target's addresses run slowest, so that each piece writes a range of its own.
Dims PartsOf(const StridedView& target, int64_t wanted) {
  absl::InlinedVector<int, 6> order(target.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(target.strides[a]) > std::abs(target.strides[b]);
  });
  Dims parts(target.shape.size(), 1);
  for (const int d : order) {
    parts[d] = std::min(target.shape[d], wanted);
    wanted = (wanted + parts[d] - 1) / parts[d];
  }
  return parts;
}

// Piece number `index` of an array whose dimensions are cut into `parts`.
Box PieceOf(DimsView shape, DimsView parts, int64_t index) {
  Dims origin(shape.size());
  Dims size(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t part = index % parts[d];
    index /= parts[d];
    const int64_t least = shape[d] / parts[d];
    const int64_t longer = shape[d] % parts[d];
    origin[d] = part * least + std::min(part, longer);
    size[d] = least + (part < longer ? 1 : 0);
  }
  return *Box::Make(origin, size);
}

void CopyPieces(const ConstStridedView& source, const StridedView& target, DimsView parts) {
  const int64_t count =
      std::accumulate(parts.begin(), parts.end(), int64_t{1}, std::multiplies<>());
  ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Box piece = PieceOf(target.shape, parts, i);
      TESSERA_CHECK(CopyStrided(SubView(source, piece), SubView(target, piece)).ok());
    }
  });
}

}  // namespace

absl::Status CopyStridedInParallel(const ConstStridedView& source, const StridedView& target) {
  const bool alike = source.shape == target.shape && source.element_bytes == target.element_bytes;
  const auto elements = NumElements(target.shape);
  if (!alike || !elements.ok() || *elements < 2 * kPieceBytes / target.element_bytes) {
    return CopyStrided(source, target);
  }
  const int64_t per_piece = std::max<int64_t>(1, kPieceBytes / target.element_bytes);
  CopyPieces(source, target, PartsOf(target, *elements / per_piece));
  return absl::OkStatus();
}

}  // namespace tessera::device
