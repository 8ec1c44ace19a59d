// Reshard by way of whole host arrays, for tests of what is built on it.
#include "tessera/array/reshard.h"
#include "tessera/array/to_host.h"
#include "tessera/core/status.h"

namespace tessera::array {

absl::StatusOr<ShardedArray> Reshard(const ShardedArray& source, const mesh::Sharding& target,
                                     device::Platform& platform, comm::Comm& comm,
                                     const ReshardOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const HostArray whole,
                           ToHost(source, platform, comm,
                                  {.budget_bytes = options.budget_bytes, .limit = options.limit}));
  auto array = ShardedArray::FromHost(whole.view(), whole.dtype(), target, platform);
  TESSERA_RETURN_IF_ERROR(comm.Agree(array.status(), options.limit));
  return array;
}

}  // namespace tessera::array
