// Several transpositions, one after the other, as one.
#ifndef TESSERA_CODEC_TRANSPOSES_H_
#define TESSERA_CODEC_TRANSPOSES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"

namespace tessera::codec {

// `transposes` in the order of encoding; dimension i after one is dimension order[i] before it.
// Dimension i after all of them is dimension result[i] before the first.  InvalidArgument when one
// is no permutation of `rank` dimensions.
absl::StatusOr<Dims> Composed(const std::vector<Dims>& transposes, size_t rank);

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_TRANSPOSES_H_
