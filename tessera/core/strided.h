// Strided views of memory, and the copy between two of them.
#ifndef TESSERA_CORE_STRIDED_H_
#define TESSERA_CORE_STRIDED_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"

namespace tessera {

// Elements of `element_bytes` each; index i lies at data + sum(i[d] * strides[d]).  Strides are in
// bytes and may be zero (a broadcast, for sources) or negative.  The memory belongs to the caller.
template <typename Byte>
struct BasicStridedView {
  Byte* data = nullptr;
  Dims shape;
  Dims strides;
  int64_t element_bytes = 1;
};
using StridedView = BasicStridedView<std::byte>;
using ConstStridedView = BasicStridedView<const std::byte>;

// A dense array in C order.
template <typename Byte>
BasicStridedView<Byte> RowMajorView(Byte* data, DimsView shape, int64_t element_bytes) {
  return {data, Dims(shape.begin(), shape.end()), RowMajorStrides(shape, element_bytes),
          element_bytes};
}

inline ConstStridedView AsConst(const StridedView& view) {
  return {view.data, view.shape, view.strides, view.element_bytes};
}

// The part of `view` inside `box`, which counts from the view's first element.
// REQUIRES: Contains(Box::Whole(view.shape), box), or box is empty.
template <typename Byte>
BasicStridedView<Byte> SubView(const BasicStridedView<Byte>& view, const Box& box) {
  BasicStridedView<Byte> part = view;
  part.shape = box.shape();
  if (box.empty()) return part;
  for (int i = 0; i < box.rank(); ++i) part.data += box.begin(i) * view.strides[i];
  return part;
}

// The elements lie next to each other in C order.
bool IsDense(const ConstStridedView& view);

// Copies every element of `source` to the same index of `target`, in one pass over the bytes.
// Runs that are contiguous on both sides go by memcpy; transposed ones by cache-sized tiles.
// InvalidArgument when shapes or element sizes differ.  REQUIRES: the views do not overlap, and no
// two indices of `target` share a byte.
absl::Status CopyStrided(const ConstStridedView& source, const StridedView& target);

}  // namespace tessera

#endif  // TESSERA_CORE_STRIDED_H_
