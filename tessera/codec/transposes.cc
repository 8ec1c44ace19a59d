#include "tessera/codec/transposes.h"

#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

absl::Status CheckPermutation(DimsView order, size_t rank) {
  uint64_t seen = 0;
  for (const int64_t dimension : order) {
    if (dimension >= 0 && dimension < static_cast<int64_t>(rank)) seen |= uint64_t{1} << dimension;
  }
  if (order.size() == rank && std::popcount(seen) == static_cast<int>(rank)) {
    return absl::OkStatus();
  }
  return InvalidArgument("transpose ", ShapeText(order), ": expected each of ", rank,
                         " dimensions once");
}

}  // namespace

absl::StatusOr<Dims> Composed(const std::vector<Dims>& transposes, size_t rank) {
  Dims composed(rank);
  std::iota(composed.begin(), composed.end(), 0);
  for (const Dims& order : transposes) {
    TESSERA_RETURN_IF_ERROR(CheckPermutation(order, rank));
    Dims next(rank);
    for (size_t i = 0; i < rank; ++i) next[i] = composed[static_cast<size_t>(order[i])];
    composed = std::move(next);
  }
  return composed;
}

}  // namespace tessera::codec
