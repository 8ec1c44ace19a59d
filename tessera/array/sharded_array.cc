#include "tessera/array/sharded_array.h"

#include <algorithm>
#include <utility>

#include "tessera/array/local_shards.h"
#include "tessera/core/status.h"

namespace tessera::array {
namespace {

// OK when every element that the strides reach lies in `size` bytes.
absl::Status CheckReach(const Dims& shape, const Dims& strides, int64_t element_bytes,
                        int64_t size) {
  if (strides.size() != shape.size()) {
    return InvalidArgument("the piece has ", strides.size(), " strides for ", shape.size(),
                           " dimensions");
  }
  if (Box::Whole(shape).empty()) return absl::OkStatus();
  int64_t end = element_bytes;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] < 0) {
      return InvalidArgument("the piece has stride ", strides[d], " in dimension ", d,
                             "; expected none below 0");
    }
    TESSERA_ASSIGN_OR_RETURN(const int64_t last, CheckedProduct(shape[d] - 1, strides[d]));
    if (end > size || last > size - end) {
      return InvalidArgument("the piece of shape ", ShapeText(shape), " and strides ",
                             ShapeText(strides), " reaches past its buffer of ", size, " bytes");
    }
    end += last;
  }
  if (end > size) {
    return InvalidArgument("the piece needs ", end, " bytes; its buffer has ", size);
  }
  return absl::OkStatus();
}

absl::Status CheckPiece(const LocalShard& local, DType dtype, const Piece& piece,
                        const Dims& strides) {
  const Box& box = local.placed.box;
  if (piece.array.dtype != dtype) {
    return InvalidArgument("the piece is ", DTypeName(piece.array.dtype), ", the array ",
                           DTypeName(dtype));
  }
  if (piece.array.shape != box.shape()) {
    return InvalidArgument("the piece has shape ", ShapeText(piece.array.shape), "; expected ",
                           ShapeText(box.shape()));
  }
  if (piece.box.has_value() && *piece.box != box) {
    return InvalidArgument("the piece is for box ", piece.box->Text());
  }
  TESSERA_RETURN_IF_ERROR(CheckReach(box.shape(), strides, DTypeBytes(dtype), piece.buffer.size()));
  if (piece.buffer.size() == 0) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const device::Placement expected, local.device->PlacementOf(local.kind));
  if (piece.buffer.placement() == expected) return absl::OkStatus();
  return InvalidArgument("the piece lies on device ", piece.buffer.placement().device_id, " in ",
                         MemoryKindName(piece.buffer.placement().kind), " memory; expected ",
                         MemoryKindName(local.kind), " memory of device ", expected.device_id);
}

absl::StatusOr<Shard> ShardFromPiece(const LocalShard& local, DType dtype, Piece piece) {
  Dims strides = piece.strides;
  if (strides.empty()) strides = RowMajorStrides(local.placed.box.shape(), DTypeBytes(dtype));
  const absl::Status status = CheckPiece(local, dtype, piece, strides);
  if (!status.ok()) return Prefixed(status, ShardForMessage(local.placed));
  return Shard{local.placed.device, local.placed.box, local.placed.replica_id,
               std::move(piece.buffer), std::move(strides)};
}

// By device, of which none has two.
absl::Status SortById(std::vector<Piece>& pieces) {
  const auto before = [](const Piece& a, const Piece& b) { return a.device_id < b.device_id; };
  if (!std::is_sorted(pieces.begin(), pieces.end(), before)) {
    std::sort(pieces.begin(), pieces.end(), before);
  }
  const auto twice =
      std::adjacent_find(pieces.begin(), pieces.end(),
                         [](const Piece& a, const Piece& b) { return a.device_id == b.device_id; });
  if (twice == pieces.end()) return absl::OkStatus();
  return InvalidArgument("device ", twice->device_id, " is given two pieces");
}

}  // namespace

ShardedArray::ShardedArray(ShapeDtype array, mesh::Sharding sharding, std::vector<Shard> shards) {
  const bool all = !shards.empty() && shards.size() == mesh::DevicesOf(sharding).size();
  data_ = std::make_shared<const Data>(
      Data{std::move(array), std::move(sharding), std::move(shards), all});
}

absl::StatusOr<ShardedArray> ShardedArray::FromPieces(const ShapeDtype& array,
                                                      const mesh::Sharding& sharding,
                                                      const device::Platform& platform,
                                                      std::vector<Piece> pieces) {
  TESSERA_RETURN_IF_ERROR(NumBytes(array.dtype, array.shape));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<LocalShard> local,
                           FindLocalShards(sharding, array.shape, platform));
  TESSERA_RETURN_IF_ERROR(SortById(pieces));
  std::vector<Shard> shards;
  shards.reserve(local.size());
  std::vector<bool> used(pieces.size());
  for (const LocalShard& wanted : local) {
    const auto found =
        std::lower_bound(pieces.begin(), pieces.end(), wanted.placed.device.id,
                         [](const Piece& piece, int64_t id) { return piece.device_id < id; });
    if (found == pieces.end() || found->device_id != wanted.placed.device.id) {
      return InvalidArgument(ShardForMessage(wanted.placed), ": no piece was given");
    }
    used[found - pieces.begin()] = true;
    TESSERA_ASSIGN_OR_RETURN(Shard shard, ShardFromPiece(wanted, array.dtype, std::move(*found)));
    shards.push_back(std::move(shard));
  }
  const auto other = std::find(used.begin(), used.end(), false);
  if (other != used.end()) {
    return InvalidArgument("device ", pieces[other - used.begin()].device_id,
                           " has a piece, but is no device of ", mesh::ShardingText(sharding),
                           " in process ", platform.process());
  }
  return ShardedArray(array, sharding, std::move(shards));
}

std::optional<ConstStridedView> ShardedArray::ToHostView() const {
  for (const Shard& shard : shards()) {
    const bool whole = shard.box == Box::Whole(shape());
    if (whole && shard.buffer.placement().host_visible) return shard.View(dtype());
  }
  return std::nullopt;
}

mesh::LeafInfo DescribeLeaf(const ShardedArray& array) {
  mesh::LeafInfo info = {mesh::LeafKind::kArray, array.shape_dtype(), {}, "sharded array"};
  std::visit([&](const auto& sharding) { info.sharding = sharding; }, array.sharding());
  return info;
}

}  // namespace tessera::array
