// Slices as NumPy's basic indexing has them: which elements of an array, and in what order.
//
// Pure: text and a shape in, values out.
#ifndef TESSERA_INSPECT_SLICE_H_
#define TESSERA_INSPECT_SLICE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"

namespace tessera::inspect {

// Indices first, first + step, ... of one dimension.
struct Steps {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;      // not 0
  bool dropped = false;  // one index that leaves no dimension behind
  friend bool operator==(const Steps&, const Steps&) = default;

  int64_t at(int64_t i) const { return first + i * step; }
};

struct Selection {
  std::vector<Steps> dimensions;  // one for each of the array's
  friend bool operator==(const Selection&, const Selection&) = default;

  // How many of each dimension, dropped ones as well.
  Dims counts() const;
  // Of the result.
  Dims shape() const;
  bool empty() const;
  // The smallest box that has them all.  REQUIRES: !empty().
  Box Hull() const;
  // Those that are [begin, begin + count) of the selected ones along a dimension.
  Selection Part(size_t dimension, int64_t begin, int64_t count) const;
};

// All elements.
Selection SelectAll(DimsView shape);

// "0:4,:,-1,::2" or "..., 0": an integer takes one index and drops the dimension, a range
// start:stop:step takes some, "..." stands for as many ":" as are missing, as does the end.
// Negative numbers count from the end; a range is cut to the dimension; spaces mean nothing.  An
// empty text takes all.  InvalidArgument, naming the dimension, its size and the text, for an index
// outside, a step of 0, and what is none of these.
absl::StatusOr<Selection> ParseSlice(std::string_view text, DimsView shape);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_SLICE_H_
