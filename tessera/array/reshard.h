// Reshard: the same array on another sharding, mesh or set of devices.
#ifndef TESSERA_ARRAY_RESHARD_H_
#define TESSERA_ARRAY_RESHARD_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tessera/array/sharded_array.h"
#include "tessera/comm/comm.h"
#include "tessera/device/device.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

struct ReshardOptions {
  // What may be in flight at once beside source and result.
  int64_t budget_bytes = int64_t{1} << 30;
  comm::Limit limit = {};
};

// The source's values under `target`.  Collective: every rank of `comm` calls it, also those that
// hold no shard of either side.
absl::StatusOr<ShardedArray> Reshard(const ShardedArray& source, const mesh::Sharding& target,
                                     device::Platform& platform, comm::Comm& comm,
                                     const ReshardOptions& options = {});

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_RESHARD_H_
