// PieceGrid: an array cut into boxes of about equal size, for cores to share.
#ifndef TESSERA_DEVICE_PIECES_H_
#define TESSERA_DEVICE_PIECES_H_

#include <cstdint>

#include "tessera/core/box.h"
#include "tessera/core/shape.h"

namespace tessera::device {

class PieceGrid {
 public:
  // At least `wanted` pieces, or one for each element.  Cut first is the dimension along which
  // `strides` run slowest, so that each piece is a range of memory of its own where that can be.
  // REQUIRES: no size of `shape` is 0, and wanted > 0.
  PieceGrid(DimsView shape, DimsView strides, int64_t wanted);

  int64_t count() const { return count_; }

  // REQUIRES: 0 <= index < count().
  Box operator[](int64_t index) const;

 private:
  Dims shape_;
  Dims parts_;  // of each dimension
  int64_t count_ = 1;
};

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_PIECES_H_
