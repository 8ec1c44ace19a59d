// Brings arrays to host memory.
#ifndef TESSERA_ARRAY_TO_HOST_H_
#define TESSERA_ARRAY_TO_HOST_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/host_array.h"
#include "tessera/array/sharded_array.h"
#include "tessera/comm/comm.h"
#include "tessera/core/strided.h"
#include "tessera/device/device.h"

namespace tessera::array {

struct ToHostOptions {
  // What elements of a float dtype become; others stay.  InvalidArgument unless it is a float.
  std::optional<DType> float_dtype = {};
  // Into memory that devices copy fastest with, instead of pageable memory.
  bool cpu_offload = false;
  // Look at memory of the array where it can be shared, instead of copying it.
  bool share = false;
};

// The shards of this process hold every element.
bool IsWholeHere(const ShardedArray& array);

// Writes every element to `target`, as `dtype`, from one replica of each box.  FailedPrecondition
// unless the whole array is here; errors of ConvertStrided.  One pass over the bytes.
absl::Status GatherInto(const ShardedArray& array, const device::Platform& platform, DType dtype,
                        const StridedView& target);

// The whole array in fresh host memory, the floats converted on the way.  Errors of GatherInto;
// ResourceExhausted.
absl::StatusOr<HostArray> ToHost(const ShardedArray& array, const device::Platform& platform,
                                 const ToHostOptions& options = {});

struct ToHostRanksOptions {
  ToHostOptions host = {};
  // What a rank may hold beside the result while boxes of other ranks come in.
  int64_t budget_bytes = int64_t{1} << 30;
  comm::Limit limit = {};
};

// The whole array on every rank, also where its shards are spread over processes; the first
// replica of each box is sent to the ranks that have none.  Collective.  InvalidArgument unless
// processes are numbered as the ranks are; an error of one rank is everyone's.
absl::StatusOr<HostArray> ToHost(const ShardedArray& array, const device::Platform& platform,
                                 comm::Comm& comm, const ToHostRanksOptions& options = {});

// A host array with its floats converted; itself when there is nothing to do.
absl::StatusOr<HostArray> ToHost(const HostArray& array, const ToHostOptions& options = {});

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_TO_HOST_H_
