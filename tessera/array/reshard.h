// Reshard: the same array on another sharding, mesh or set of devices.
#ifndef TESSERA_ARRAY_RESHARD_H_
#define TESSERA_ARRAY_RESHARD_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tessera/array/reshard_plan.h"
#include "tessera/array/sharded_array.h"
#include "tessera/comm/comm.h"
#include "tessera/core/byte_budget.h"
#include "tessera/device/device.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

struct ReshardOptions {
  // What may be in flight at once beside source and result.  The same on every rank.
  int64_t budget_bytes = int64_t{1} << 30;
  comm::Limit limit = {};  // of each call that ranks make together
};

// The source's values under `target`.  Collective: every rank of `comm` calls it, also those that
// hold no shard of either side; processes are ranks.  Moves what PlanReshard says; a kept shard
// shares its buffer with the source.
//
// An error is the same on every rank.  InvalidArgument naming ranks and values when shape, dtype,
// shardings or budget differ between them, or when a device belongs to no rank; errors of
// PlanReshard; of the rank that failed when it lacks a device or memory; and of `comm`.
absl::StatusOr<ShardedArray> Reshard(const ShardedArray& source, const mesh::Sharding& target,
                                     device::Platform& platform, comm::Comm& comm,
                                     const ReshardOptions& options = {});

// Does what a plan says, for who has made it before or wants to look at it.  `staging` counts what
// this rank holds beside source and result, at most its peak_staging_bytes; nobody else may use
// it meanwhile.  REQUIRES: every rank has the plan of PlanReshard(source.shape_dtype(),
// source.sharding(), target), and its processes are ranks of `comm`.
absl::StatusOr<ShardedArray> ExecuteReshard(const ReshardPlan& plan, const ShardedArray& source,
                                            const mesh::Sharding& target,
                                            device::Platform& platform, comm::Comm& comm,
                                            ByteBudget& staging, const comm::Limit& limit = {});

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_RESHARD_H_
