// Shapes: sizes of each dimension, with products that cannot overflow unseen.
#ifndef TESSERA_CORE_SHAPE_H_
#define TESSERA_CORE_SHAPE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "tessera/core/dtype.h"

namespace tessera {

// Sizes, coordinates or strides, one per dimension.  A shape is Dims with no negative entry.
using Dims = absl::InlinedVector<int64_t, 6>;
using DimsView = std::span<const int64_t>;

// More dimensions than any array in the wild has, few enough that rank loops stay cheap.
inline constexpr int kMaxRank = 32;

// What is known of an array without its data.
struct ShapeDtype {
  Dims shape;
  DType dtype = DType::kFloat32;
  friend bool operator==(const ShapeDtype&, const ShapeDtype&) = default;
};

// OK when `shape` has at most kMaxRank dimensions, none negative.
absl::Status ValidateShape(DimsView shape);

// The product of the sizes: 1 for rank 0, 0 when any size is 0.  InvalidArgument when the shape is
// not valid or the product does not fit 63 bits.
absl::StatusOr<int64_t> NumElements(DimsView shape);

// Bytes of a dense array in memory, where an element under a byte takes a whole byte.
absl::StatusOr<int64_t> NumBytes(DType dtype, DimsView shape);

// Bytes when elements under a byte are packed next to each other: ceil(bits * n / 8).
absl::StatusOr<int64_t> NumBytesPacked(DType dtype, DimsView shape);

// Byte strides of a dense array.  REQUIRES: NumElements(shape) * element_bytes fits 63 bits.
Dims RowMajorStrides(DimsView shape, int64_t element_bytes);
Dims ColumnMajorStrides(DimsView shape, int64_t element_bytes);

// a * b; InvalidArgument when it does not fit.  REQUIRES: neither is negative.
absl::StatusOr<int64_t> CheckedProduct(int64_t a, int64_t b);

// "[8,16]", "[]".
std::string ShapeText(DimsView shape);

}  // namespace tessera

#endif  // TESSERA_CORE_SHAPE_H_
