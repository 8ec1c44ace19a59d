// Reshardings checked against whole arrays.  The same text runs alone, on threads and under MPI.
#ifndef TESSERA_ARRAY_TESTING_RESHARD_CHECK_H_
#define TESSERA_ARRAY_TESTING_RESHARD_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tessera/array/testing/reshard_cases.h"
#include "tessera/comm/comm.h"

namespace tessera::array::testing {

// What the devices of the test are.
enum class DeviceKind { kHost, kFar };

// Reshards the case on all ranks of `comm`.  Internal, naming the case, when a shard's bytes hash
// differently from those that a naive copy takes out of the whole array, when ranks make different
// plans, when more staging is used than the plan and the budget say, when a kept shard was copied,
// or when a device still counts bytes at the end.
absl::Status CheckReshard(const ReshardCase& example, comm::Comm& comm,
                          DeviceKind kind = DeviceKind::kHost);

// The cases of `count` seeds from `first` on.
absl::Status CheckReshards(uint64_t first, int count, comm::Comm& comm,
                           DeviceKind kind = DeviceKind::kHost);

}  // namespace tessera::array::testing

#endif  // TESSERA_ARRAY_TESTING_RESHARD_CHECK_H_
