#include "tessera/array/local_shards.h"

#include <utility>

#include "tessera/core/status.h"

namespace tessera::array {
namespace {

const std::string& MemoryKindOf(const mesh::Sharding& sharding) {
  if (const auto* named = std::get_if<mesh::NamedSharding>(&sharding)) return named->memory_kind();
  return std::get<mesh::SingleDeviceSharding>(sharding).memory_kind;
}

}  // namespace

absl::StatusOr<std::vector<LocalShard>> FindLocalShards(const mesh::Sharding& sharding,
                                                        DimsView shape,
                                                        const device::Platform& platform) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<mesh::DeviceShard> placed,
                           mesh::PlaceShards(sharding, shape));
  const auto kind = device::ParseMemoryKind(MemoryKindOf(sharding));
  if (!kind.ok()) return Prefixed(kind.status(), mesh::ShardingText(sharding));
  std::vector<LocalShard> local;
  for (mesh::DeviceShard& shard : placed) {
    if (shard.device.process != platform.process()) continue;
    device::Device* const device = platform.Find(shard.device.id);
    if (device == nullptr) {
      return NotFound("device ", shard.device.id, " of ", mesh::ShardingText(sharding),
                      " belongs to process ", platform.process(), ", which has ",
                      platform.devices().size(), " other devices");
    }
    local.push_back({std::move(shard), device, *kind});
  }
  return local;
}

std::string ShardForMessage(const mesh::DeviceShard& placed) {
  return Concat("device ", placed.device.id, ", box ", placed.box.Text());
}

absl::StatusOr<device::WritableBuffer> AllocateShard(const LocalShard& shard, DType dtype,
                                                     device::BufferBlocks* blocks) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(dtype, shard.placed.box.shape()));
  auto buffer = blocks == nullptr ? shard.device->Allocate(bytes, shard.kind)
                                  : blocks->Allocate(*shard.device, bytes, shard.kind);
  if (!buffer.ok()) return Prefixed(buffer.status(), ShardForMessage(shard.placed));
  return buffer;
}

}  // namespace tessera::array
