// Place: an array, wherever it is, on a sharding.
#ifndef TESSERA_ARRAY_PLACE_H_
#define TESSERA_ARRAY_PLACE_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/reshard.h"
#include "tessera/array/sharded_array.h"
#include "tessera/array/value.h"
#include "tessera/comm/comm.h"
#include "tessera/device/device.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

// What arrays are moved with: the devices of this process, and the other processes.  Both are lent
// and outlive whoever keeps this.  Process numbers are ranks.
struct Mover {
  device::Platform& platform;
  comm::Comm& comm;
  ReshardOptions options = {};
};

// OK when all ranks give the same array and text.  Else InvalidArgument, the same on every rank,
// with what the first that differs gave.  Collective.
absl::Status AgreeOnArray(const ShapeDtype& array, std::string_view where, comm::Comm& comm,
                          const comm::Limit& limit = {});

// The array under exactly this sharding: itself where it has it already.  Collective; errors of
// Reshard.
absl::StatusOr<ShardedArray> Place(const ShardedArray& array, const mesh::Sharding& sharding,
                                   const Mover& mover);

// The same from host memory that every process has.  Dense parts of it are looked at, not copied.
// Collective; an error of one rank is everyone's.
absl::StatusOr<ShardedArray> Place(const HostArray& array, const mesh::Sharding& sharding,
                                   const Mover& mover);

// Either of them.  InvalidArgument for what is no array.
absl::StatusOr<ShardedArray> Place(const Value& value, const mesh::Sharding& sharding,
                                   const Mover& mover);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_PLACE_H_
