#include "tessera/array/place.h"

#include <string>
#include <vector>

#include "tessera/core/bytes.h"
#include "tessera/core/status.h"

namespace tessera::array {

absl::Status AgreeOnArray(const ShapeDtype& array, std::string_view where, comm::Comm& comm,
                          const comm::Limit& limit) {
  if (comm.size() == 1) return absl::OkStatus();
  const std::string mine = Concat(DTypeName(array.dtype), ShapeText(array.shape), where);
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> all,
                           comm.AllGather(Bytes::CopyOf(std::string_view(mine)), limit));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    return InvalidArgument("ranks disagree on an array: rank 0 has ", all[0].text(), ", rank ",
                           rank, " has ", all[rank].text());
  }
  return absl::OkStatus();
}

absl::StatusOr<ShardedArray> Place(const ShardedArray& array, const mesh::Sharding& sharding,
                                   const Mover& mover) {
  if (array.sharding() == sharding) return array;
  return Reshard(array, sharding, mover.platform, mover.comm, mover.options);
}

absl::StatusOr<ShardedArray> Place(const HostArray& array, const mesh::Sharding& sharding,
                                   const Mover& mover) {
  const comm::Limit& limit = mover.options.limit;
  TESSERA_RETURN_IF_ERROR(AgreeOnArray(
      array.shape_dtype(), Concat(" for ", mesh::ShardingText(sharding)), mover.comm, limit));
  auto placed = ShardedArray::FromHost(array.view(), array.dtype(), sharding, mover.platform,
                                       {.owner = array.owner()});
  if (mover.comm.size() > 1) TESSERA_RETURN_IF_ERROR(mover.comm.Agree(placed.status(), limit));
  return placed;
}

absl::StatusOr<ShardedArray> Place(const Value& value, const mesh::Sharding& sharding,
                                   const Mover& mover) {
  if (const auto* sharded = std::get_if<ShardedArray>(&value)) {
    return Place(*sharded, sharding, mover);
  }
  if (const auto* host = std::get_if<HostArray>(&value)) return Place(*host, sharding, mover);
  return InvalidArgument("expected an array to place, found ", std::get<Opaque>(value).type_name);
}

}  // namespace tessera::array
