// The steps that gathering in one process and over ranks have in common.
#ifndef TESSERA_ARRAY_GATHER_INTERNAL_H_
#define TESSERA_ARRAY_GATHER_INTERNAL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/array/host_array.h"
#include "tessera/array/to_host.h"
#include "tessera/device/parallel_copy.h"

namespace tessera::array {

// What `dtype` becomes under the options.  InvalidArgument when they name no float dtype.
absl::StatusOr<DType> HostDType(DType dtype, const ToHostOptions& options);

// Host memory that is being filled.
struct HostTarget {
  std::shared_ptr<const void> owner;
  StridedView view;
  DType dtype;
};
absl::StatusOr<HostTarget> AllocateTarget(const ShapeDtype& array, const device::Platform& platform,
                                          bool pinned);
absl::StatusOr<HostArray> Finish(HostTarget target);

// As GatherInto for what is here; boxes of other processes are left alone.
absl::Status GatherLocal(const ShardedArray& array, const device::Platform& platform, DType dtype,
                         const StridedView& target, device::TargetMemory memory);

// FailedPrecondition unless the shards of this process hold every element.
absl::Status CheckWholeHere(const ShardedArray& array);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_GATHER_INTERNAL_H_
