#include "tessera/device/pieces.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tessera::device {

PieceGrid::PieceGrid(DimsView shape, DimsView strides, int64_t wanted)
    : shape_(shape.begin(), shape.end()), parts_(shape.size(), 1) {
  absl::InlinedVector<size_t, 6> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(strides[a]) > std::abs(strides[b]); });
  for (const size_t d : order) {
    parts_[d] = std::min(shape[d], wanted);
    wanted = (wanted + parts_[d] - 1) / parts_[d];
    count_ *= parts_[d];
  }
}

Box PieceGrid::operator[](int64_t index) const {
  Dims origin(shape_.size());
  Dims size(shape_.size());
  for (size_t d = shape_.size(); d-- > 0;) {
    const int64_t part = index % parts_[d];
    index /= parts_[d];
    const int64_t least = shape_[d] / parts_[d];
    const int64_t longer = shape_[d] % parts_[d];
    origin[d] = part * least + std::min(part, longer);
    size[d] = least + (part < longer ? 1 : 0);
  }
  return *Box::Make(origin, size);
}

}  // namespace tessera::device
