// The shards of an array that this process holds, and memory for them.
#ifndef TESSERA_ARRAY_LOCAL_SHARDS_H_
#define TESSERA_ARRAY_LOCAL_SHARDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"
#include "tessera/device/buffer_blocks.h"
#include "tessera/device/device.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

// A shard of this process and the device that it belongs on.
struct LocalShard {
  mesh::DeviceShard placed;
  device::Device* device = nullptr;  // the platform's
  device::MemoryKind kind = device::MemoryKind::kDevice;
};

// Those of the devices that the mesh gives to platform.process(), in device order.  Errors of
// PlaceShards; NotFound when the platform lacks such a device.
absl::StatusOr<std::vector<LocalShard>> FindLocalShards(const mesh::Sharding& sharding,
                                                        DimsView shape,
                                                        const device::Platform& platform);

// How messages call a shard: "device 3, box [0:4,0:8]".
std::string ShardForMessage(const mesh::DeviceShard& placed);

// Memory on the shard's device for its whole box, dense; cut from `blocks` where there are some.
// Errors name the shard.
absl::StatusOr<device::WritableBuffer> AllocateShard(const LocalShard& shard, DType dtype,
                                                     device::BufferBlocks* blocks = nullptr);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_LOCAL_SHARDS_H_
