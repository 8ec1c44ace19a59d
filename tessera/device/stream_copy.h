// A copy of long runs that goes past the caches.
#ifndef TESSERA_DEVICE_STREAM_COPY_H_
#define TESSERA_DEVICE_STREAM_COPY_H_

#include "absl/status/status.h"
#include "tessera/core/strided.h"

namespace tessera::device {

// As CopyStrided, for a part of a copy that is larger than the caches.  Where both sides have runs
// of half a kibibyte, these are written without reading the target's lines first, which saves a
// third of the memory's work.
absl::Status StreamStrided(const ConstStridedView& source, const StridedView& target);

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_STREAM_COPY_H_
