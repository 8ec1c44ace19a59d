// One rank's array on all of them, in pieces of bounded size.
#ifndef TESSERA_ARRAY_BROADCAST_H_
#define TESSERA_ARRAY_BROADCAST_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/host_array.h"
#include "tessera/array/place.h"
#include "tessera/comm/comm.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

// Rows of a host array, as a view of it.
struct HostChunk {
  HostArray array;
  bool over_limit = false;  // a single row, or an array without rows to cut
};

// The cuts of ChunkTensorByMemory(array.shape_dtype(), max_bytes).
absl::StatusOr<std::vector<HostChunk>> ChunkTensorByMemory(const HostArray& array,
                                                           int64_t max_bytes);

struct BroadcastTensorOptions {
  int root = 0;
  // The most that is sent at once; a single row may be more.
  int64_t max_bytes = int64_t{1} << 30;
  comm::Limit limit = {};
};

// The root's array on every rank, byte for byte.  Every rank says what comes; `value` is the root's
// and ignored elsewhere.  Collective.  InvalidArgument on every rank when they disagree on the
// array, or when the root has none of that kind.
absl::StatusOr<HostArray> BroadcastTensor(const ShapeDtype& array, const HostArray* value,
                                          comm::Comm& comm,
                                          const BroadcastTensorOptions& options = {});

// The same, then placed.  Kind indivisible, before anything is sent, when the sharding does not
// divide the array.
absl::StatusOr<ShardedArray> BroadcastTensor(const ShapeDtype& array, const HostArray* value,
                                             const mesh::Sharding& sharding, const Mover& mover,
                                             const BroadcastTensorOptions& options = {});

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_BROADCAST_H_
