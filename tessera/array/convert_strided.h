// Copies between strided views that convert each element on the way.
#ifndef TESSERA_ARRAY_CONVERT_STRIDED_H_
#define TESSERA_ARRAY_CONVERT_STRIDED_H_

#include "absl/status/status.h"
#include "tessera/core/dtype.h"
#include "tessera/core/strided.h"

namespace tessera::array {

// Converts every element of `source` to the same index of `target`, on all cores and in one pass
// over the bytes.  InvalidArgument when the shapes differ, an element size is not the dtype's, or
// CanConvert denies the pair.  REQUIRES: as CopyStrided.
absl::Status ConvertStrided(DType from, const ConstStridedView& source, DType to,
                            const StridedView& target);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_CONVERT_STRIDED_H_
