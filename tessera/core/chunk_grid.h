// The regular grid of chunks over an array: which cells a box meets, and where each one lies.
#ifndef TESSERA_CORE_CHUNK_GRID_H_
#define TESSERA_CORE_CHUNK_GRID_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"

namespace tessera {

// A block of cells, numbered in C order.  Holds two corners, not the cells: a hostile chunk shape
// can make as many of them as the box has elements.
class CellRange {
 public:
  // The cells that `box` meets; none when it is empty.  InvalidArgument when there are more than
  // 63 bits count.  REQUIRES: equal ranks, every size of `chunk_shape` > 0, no negative origin.
  static absl::StatusOr<CellRange> Of(const Box& box, DimsView chunk_shape);

  int64_t size() const { return size_; }
  // REQUIRES: 0 <= i < size().
  Dims at(int64_t i) const;

  friend bool operator==(const CellRange&, const CellRange&) = default;

 private:
  Dims first_;
  Dims counts_;
  int64_t size_ = 0;
};

// How many cells cover an array, per dimension.
Dims GridShape(DimsView shape, DimsView chunk_shape);

// The place of `cell` among all of a grid in C order.
int64_t CellNumber(DimsView cell, DimsView grid_shape);

// The indices of the array that a cell holds: the whole chunk, or less at the array's upper edges.
// REQUIRES: `cell` lies in the grid.
Box CellBox(DimsView cell, DimsView chunk_shape, DimsView shape);

// The first index of a cell.
Dims CellOrigin(DimsView cell, DimsView chunk_shape);

}  // namespace tessera

#endif  // TESSERA_CORE_CHUNK_GRID_H_
