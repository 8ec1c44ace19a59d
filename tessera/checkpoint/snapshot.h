// Snapshot: what one rank writes, taken so that the caller may go on.
#ifndef TESSERA_CHECKPOINT_SNAPSHOT_H_
#define TESSERA_CHECKPOINT_SNAPSHOT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/core/strided.h"
#include "tessera/device/device.h"
#include "tessera/device/spare_memory.h"

namespace tessera::checkpoint {

// A part of the plan that this rank writes.
struct HeldPart {
  size_t array = 0;           // in plan.arrays
  size_t part = 0;            // in its parts
  ConstStridedView elements;  // of the part's box, in the stored dtype, in host memory
};

struct SnapshotOptions {
  int rank = 0;
  SnapshotMode mode = SnapshotMode::kCopy;
  // Whose devices hold what the host cannot look at; nullptr: there is no such memory.
  const device::Platform* platform = nullptr;
};

// Keeps alive what its parts look at.
class Snapshot {
 public:
  // Copies on all cores, at the speed of memory; small parts lie together in slabs.  With kShare
  // only what must be converted, or lies where the host cannot look, is copied.  ResourceExhausted,
  // with the bytes, when the system has no memory; FailedPrecondition, naming the key, when the
  // device of a part is not on the platform or its shard not in the array.
  // REQUIRES: the plan is one of the tree's.
  static absl::StatusOr<Snapshot> Take(const SavePlan& plan, const array::ValueTree& tree,
                                       device::SpareMemory& memory, const SnapshotOptions& options);

  // By array, then by part.
  std::span<const HeldPart> parts() const { return parts_; }

 private:
  Snapshot() = default;

  std::vector<HeldPart> parts_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SNAPSHOT_H_
