// CopyStrided on all cores.
#ifndef TESSERA_DEVICE_PARALLEL_COPY_H_
#define TESSERA_DEVICE_PARALLEL_COPY_H_

#include "absl/status/status.h"
#include "tessera/core/strided.h"

namespace tessera::device {

// As CopyStrided; what is large enough is cut into pieces that are copied at once.
absl::Status CopyStridedInParallel(const ConstStridedView& source, const StridedView& target);

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_PARALLEL_COPY_H_
