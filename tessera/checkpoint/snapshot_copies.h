// The copies of a snapshot: many at once, of any size, from devices or host memory to host memory.
#ifndef TESSERA_CHECKPOINT_SNAPSHOT_COPIES_H_
#define TESSERA_CHECKPOINT_SNAPSHOT_COPIES_H_

#include <span>

#include "absl/status/status.h"
#include "tessera/core/dtype.h"
#include "tessera/core/strided.h"
#include "tessera/device/device.h"
#include "tessera/device/parallel_copy.h"

namespace tessera::checkpoint {

struct SnapshotCopy {
  ConstStridedView source = {};
  DType from = DType::kFloat32;
  StridedView target = {};
  DType to = DType::kFloat32;
  device::TargetMemory memory = device::TargetMemory::kFresh;  // of the target
  // Whose memory the source is; nullptr: the host's.
  device::Device* device = nullptr;
};

// Makes all of them and waits.  Host memory is copied by one parallel loop over all: large copies
// in pieces, small ones many at a time.  What is on a device goes through its queue meanwhile.
// The first error after all have ended.
absl::Status RunSnapshotCopies(std::span<const SnapshotCopy> copies);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SNAPSHOT_COPIES_H_
