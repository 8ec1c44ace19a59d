// ShardedArray: one array spread over devices, of which this process holds its shards.
#ifndef TESSERA_ARRAY_SHARDED_ARRAY_H_
#define TESSERA_ARRAY_SHARDED_ARRAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"
#include "tessera/core/strided.h"
#include "tessera/core/thread_pool.h"
#include "tessera/device/device.h"
#include "tessera/mesh/leaf.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

// What one device of this process holds.
struct Shard {
  mesh::Device device;
  Box box;
  int64_t replica_id = 0;
  device::DeviceBuffer buffer;  // the first element lies at its first byte
  Dims strides;                 // in bytes, none negative; dense in C order unless a view

  // The box's elements.  Host code may look at them where the buffer is host visible.
  ConstStridedView View(DType dtype) const {
    return {buffer.data(), box.shape(), strides, DTypeBytes(dtype)};
  }
};

// A shard that a caller has made on one device.
struct Piece {
  int64_t device_id = 0;
  ShapeDtype array;  // of the piece
  device::DeviceBuffer buffer;
  Dims strides = {};            // none: dense in C order
  std::optional<Box> box = {};  // where the caller thinks it lies, to be checked
};

struct FromHostOptions {
  // Keeps the host memory alive and says that nobody changes it.  Shards that are a dense part of
  // it then look at it instead of having a copy.
  std::shared_ptr<const void> owner = nullptr;
};

struct FromCallbackOptions {
  // Calls run here at once, which the callback must allow; nullptr: one after the other.
  ThreadPool* pool = nullptr;
};

// Immutable; copies share everything.  Every process of a sharding has its own ShardedArray of the
// same shape, dtype and sharding.
class ShardedArray {
 public:
  // Writes the elements of `box` to the view, which is dense.
  using FillBox = std::function<absl::Status(const Box& box, const StridedView& target)>;

  // From the whole array in host memory, which every process has.  InvalidArgument when the view
  // does not look at elements of `dtype`; errors of FindLocalShards and of allocation.
  static absl::StatusOr<ShardedArray> FromHost(const ConstStridedView& whole, DType dtype,
                                               const mesh::Sharding& sharding,
                                               device::Platform& platform,
                                               const FromHostOptions& options = {});

  // Calls `fill` once for each distinct box of this process; replicas are copied from device to
  // device.  Errors of `fill` name the box.
  static absl::StatusOr<ShardedArray> FromCallback(const ShapeDtype& array,
                                                   const mesh::Sharding& sharding,
                                                   device::Platform& platform, const FillBox& fill,
                                                   const FromCallbackOptions& options = {});

  // From one piece for each device of this process, in any order.  No bytes are looked at: replicas
  // are taken to be equal.  InvalidArgument, naming device and box, when a piece is missing, given
  // twice or for no device of the sharding here, or when its dtype, shape, box, memory kind or
  // size is not the shard's.
  static absl::StatusOr<ShardedArray> FromPieces(const ShapeDtype& array,
                                                 const mesh::Sharding& sharding,
                                                 const device::Platform& platform,
                                                 std::vector<Piece> pieces);

  const ShapeDtype& shape_dtype() const { return data_->array; }
  const Dims& shape() const { return data_->array.shape; }
  DType dtype() const { return data_->array.dtype; }
  const mesh::Sharding& sharding() const { return data_->sharding; }

  // In device order.
  std::span<const Shard> shards() const { return data_->shards; }

  // Every device of the sharding has its shard here.
  bool IsFullyAddressable() const { return data_->fully_addressable; }

  // The whole array, where one shard that host code can look at holds it.
  std::optional<ConstStridedView> ToHostView() const;

 private:
  struct Data {
    ShapeDtype array;
    mesh::Sharding sharding;
    std::vector<Shard> shards;
    bool fully_addressable = false;
  };
  ShardedArray(ShapeDtype array, mesh::Sharding sharding, std::vector<Shard> shards);

  std::shared_ptr<const Data> data_;
};

// For the functions over trees.
mesh::LeafInfo DescribeLeaf(const ShardedArray& array);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_SHARDED_ARRAY_H_
