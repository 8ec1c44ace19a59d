// Box: a half-open n-dimensional interval of array indices.
#ifndef TESSERA_CORE_BOX_H_
#define TESSERA_CORE_BOX_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"

namespace tessera {

// The indices i with origin[d] <= i[d] < origin[d] + shape[d] in every dimension d.  A box of
// rank 0 holds exactly one index, the empty tuple.
class Box {
 public:
  // Rank 0.
  Box() = default;

  // InvalidArgument when the ranks differ, a size is negative or an end does not fit 63 bits.
  static absl::StatusOr<Box> Make(DimsView origin, DimsView shape);

  // All indices of an array.  REQUIRES: no size is negative.
  static Box Whole(DimsView shape);

  int rank() const { return static_cast<int>(origin_.size()); }
  const Dims& origin() const { return origin_; }
  const Dims& shape() const { return shape_; }
  int64_t begin(int dimension) const { return origin_[dimension]; }
  int64_t end(int dimension) const { return origin_[dimension] + shape_[dimension]; }

  // True when no index lies inside.
  bool empty() const;

  // The number of indices inside; 0 when empty.  InvalidArgument when it does not fit 63 bits.
  absl::StatusOr<int64_t> num_elements() const { return NumElements(shape_); }

  // "[0:4,8:16]", "[]".
  std::string Text() const;

  friend bool operator==(const Box&, const Box&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Box& box) {
    return H::combine(std::move(state), box.origin_, box.shape_);
  }

 private:
  friend Box Intersect(const Box& a, const Box& b);
  friend Box Cover(const Box& a, const Box& b);
  friend absl::StatusOr<Box> Translate(const Box& box, DimsView offset);
  friend Box RelativeTo(const Box& box, DimsView origin);

  Dims origin_;
  Dims shape_;
};

// REQUIRES for all below: equal ranks.

// The indices in both.  Where there are none, a box of size 0 in some dimension.
Box Intersect(const Box& a, const Box& b);

// The smallest box that holds both.  An empty box adds nothing.
Box Cover(const Box& a, const Box& b);

// The box moved by `offset`.  InvalidArgument when an end would not fit 63 bits.
absl::StatusOr<Box> Translate(const Box& box, DimsView offset);

// The same indices counted from `origin`: where `box` lies inside a buffer that starts there.
// REQUIRES: box.origin() - origin fits 63 bits.
Box RelativeTo(const Box& box, DimsView origin);

// Every index of `inner` lies in `outer`.  An empty box lies in every box.
bool Contains(const Box& outer, const Box& inner);

}  // namespace tessera

#endif  // TESSERA_CORE_BOX_H_
