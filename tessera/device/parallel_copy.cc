#include "tessera/device/parallel_copy.h"

#include <algorithm>

#include "tessera/core/box.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/device/pieces.h"

namespace tessera::device {
namespace {

// Long enough that starting a task costs nothing beside it, short enough that cores end together.
constexpr int64_t kPieceBytes = int64_t{4} << 20;

}  // namespace

absl::Status CopyStridedInParallel(const ConstStridedView& source, const StridedView& target) {
  const bool alike = source.shape == target.shape && source.element_bytes == target.element_bytes;
  const auto elements = NumElements(target.shape);
  if (!alike || !elements.ok() || *elements < 2 * kPieceBytes / target.element_bytes) {
    return CopyStrided(source, target);
  }
  const int64_t per_piece = std::max<int64_t>(1, kPieceBytes / target.element_bytes);
  const PieceGrid pieces(target.shape, target.strides, *elements / per_piece);
  ParallelFor(pieces.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Box piece = pieces[i];
      TESSERA_CHECK(CopyStrided(SubView(source, piece), SubView(target, piece)).ok());
    }
  });
  return absl::OkStatus();
}

}  // namespace tessera::device
