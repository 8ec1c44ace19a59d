// Boxes of an array that fit into memory, for reading two arrays in step.
#ifndef TESSERA_INSPECT_BLOCKS_H_
#define TESSERA_INSPECT_BLOCKS_H_

#include <cstdint>

#include "tessera/core/shape.h"

namespace tessera::inspect {

// The shape of blocks of at most `most` elements, at least one, that cut as few chunks of either
// grid as such blocks can: the larger chunk in each dimension, and as many of them as fit, inner
// dimensions first.  REQUIRES: equal ranks, every size > 0.
Dims BlockShapeFor(DimsView shape, DimsView chunks_a, DimsView chunks_b, int64_t most);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_BLOCKS_H_
