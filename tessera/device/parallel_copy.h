// Copies in host memory on all cores.
#ifndef TESSERA_DEVICE_PARALLEL_COPY_H_
#define TESSERA_DEVICE_PARALLEL_COPY_H_

#include <span>

#include "absl/status/status.h"
#include "tessera/core/box.h"
#include "tessera/core/strided.h"

namespace tessera::device {

// Whether the target's pages were written before.  The system has just cleared a fresh page, which
// left it in the caches; to go past them pays for the others only.
enum class TargetMemory { kTouched, kFresh };

// As CopyStrided; what is large enough is cut into pieces that are copied at once.
absl::Status CopyStridedInParallel(const ConstStridedView& source, const StridedView& target,
                                   TargetMemory memory = TargetMemory::kTouched);

// The elements of one box of an array: where they are, and where they go.
struct BoxCopy {
  Box box;
  ConstStridedView source;  // of the box's shape, like the target
  StridedView target;
};

// Makes all copies, which may be of one box to many places.  Works through the array block by block
// with all that touches a block, so that narrow boxes next to each other, such as some columns
// each, share what is in a core's cache.  InvalidArgument when a view has another shape than its
// box, or two copies have other element sizes or ranks.  REQUIRES: as CopyStrided, for all
// together.
absl::Status CopyBoxes(std::span<const BoxCopy> copies,
                       TargetMemory memory = TargetMemory::kTouched);

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_PARALLEL_COPY_H_
