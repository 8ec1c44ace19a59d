// HostArray: a whole array in host memory.
#ifndef TESSERA_ARRAY_HOST_ARRAY_H_
#define TESSERA_ARRAY_HOST_ARRAY_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"
#include "tessera/core/strided.h"
#include "tessera/mesh/leaf.h"

namespace tessera::array {

// Immutable; copies share the elements.
class HostArray {
 public:
  // Looks at memory that `owner` keeps alive and nobody changes.  InvalidArgument when the view
  // does not look at elements of `dtype` or there is no owner.
  static absl::StatusOr<HostArray> Borrow(const ConstStridedView& view, DType dtype,
                                          std::shared_ptr<const void> owner);

  // A copy of dense elements in C order.  InvalidArgument unless they are as many bytes as the
  // array has.
  static absl::StatusOr<HostArray> CopyOf(const ShapeDtype& array,
                                          std::span<const std::byte> elements);

  ShapeDtype shape_dtype() const { return {view_.shape, dtype_}; }
  const Dims& shape() const { return view_.shape; }
  DType dtype() const { return dtype_; }
  const ConstStridedView& view() const { return view_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // Rows [begin, begin + rows) of the first dimension, as a view.  REQUIRES: they are there.
  HostArray Rows(int64_t begin, int64_t rows) const;

 private:
  HostArray(ConstStridedView view, DType dtype, std::shared_ptr<const void> owner)
      : view_(std::move(view)), dtype_(dtype), owner_(std::move(owner)) {}

  ConstStridedView view_;
  DType dtype_;
  std::shared_ptr<const void> owner_;
};

using ::tessera::IsDense;

// OK when the view looks at elements of `dtype`, in a shape that can be.
absl::Status CheckElements(const ConstStridedView& view, DType dtype);

// For the functions over trees.
mesh::LeafInfo DescribeLeaf(const HostArray& array);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_HOST_ARRAY_H_
