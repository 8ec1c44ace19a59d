// Blocks: the parts of a tensor that are read and hashed as one.
//
// A block is a box of the tensor and a range of the file at once: all of the inner dimensions, some
// rows of one, a single index of each outer one.  So blocks are to a tensor what chunks are to a
// zarr array, and the planner of loads need not tell them apart; at the upper edge they are cut,
// not padded.
#ifndef TESSERA_SAFETENSORS_BLOCKS_H_
#define TESSERA_SAFETENSORS_BLOCKS_H_

#include <cstdint>

#include "tessera/core/box.h"
#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"

namespace tessera::safetensors {

inline constexpr uint64_t kBlockBytes = uint64_t{4} << 20;

// The largest shape of a block of at most `most` stored bytes, at least one element; every size is
// 1 or more.  Blocks of elements under a byte begin and end at whole bytes: where no cut does, the
// tensor is one block.  REQUIRES: StoredBytes(dtype, shape) is ok.
Dims BlockShape(DimsView shape, DType dtype, uint64_t most = kBlockBytes);

// Bytes [begin, end), counted from the tensor's first.
struct ByteSpan {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
  friend bool operator==(const ByteSpan&, const ByteSpan&) = default;
};

// Where a contiguous box lies; an empty one has no bytes and begins at 0.  REQUIRES: `box` is one
// block, or several that follow one another in C order without a gap.
ByteSpan SpanOf(const Box& box, DimsView shape, DType dtype);

// Whether all elements of `box` follow one another in C order.
bool IsContiguous(const Box& box, DimsView shape);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_BLOCKS_H_
