// ShardTargets: the shards of one array while they are filled.
#ifndef TESSERA_CHECKPOINT_LOAD_SHARDS_H_
#define TESSERA_CHECKPOINT_LOAD_SHARDS_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/local_shards.h"
#include "tessera/array/sharded_array.h"
#include "tessera/core/box.h"
#include "tessera/core/strided.h"
#include "tessera/device/buffer_blocks.h"
#include "tessera/device/device.h"
#include "tessera/mesh/sharding.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {

// What devices get that have the same box.
enum class Replicas {
  kCopy,   // memory of their own
  kShare,  // that of the first, where it is the host's; nobody may write to it then
};

// Memory on the devices of this process.  What arrives goes to every distinct box that meets it,
// straight from the decoder where one box takes all; replicas are copied at the end.
class ShardTargets final : public Destination {
 public:
  // Elements come as `stored` and become `dtype`.  Memory is cut from `blocks` where there are
  // some. Errors of FindLocalShards and of allocation.
  static absl::StatusOr<std::unique_ptr<ShardTargets>> Make(const ShapeDtype& stored, DType dtype,
                                                            const mesh::Sharding& sharding,
                                                            device::Platform& platform,
                                                            Replicas replicas = Replicas::kCopy,
                                                            device::BufferBlocks* blocks = nullptr);

  // The distinct boxes.
  std::span<const Box> boxes() const { return boxes_; }
  // On all devices.
  int64_t bytes() const { return bytes_; }

  std::optional<StridedView> MemoryFor(const Box& box) override;
  absl::Status Put(const Box& box, const ConstStridedView& elements) override;

  // The array, once everything has arrived.  Called once.
  absl::StatusOr<array::ShardedArray> Finish();

 private:
  // A shard on its way.  The first of each box is filled, the others copy it.
  struct Slot {
    array::LocalShard local;
    device::WritableBuffer buffer;  // none where that of the first is shared
    size_t first = 0;
    bool shares = false;
  };

  ShardTargets(ShapeDtype stored, DType dtype, const mesh::Sharding& sharding,
               device::Platform& platform, Replicas replicas)
      : stored_(std::move(stored)),
        dtype_(dtype),
        sharding_(sharding),
        platform_(platform),
        replicas_(replicas) {}

  absl::Status Allocate(device::BufferBlocks* blocks);
  StridedView ViewOf(const Slot& slot) const;
  absl::Status PutInto(const Slot& slot, const Box& part, const ConstStridedView& elements);
  absl::Status PutConverted(const Slot& slot, const ConstStridedView& elements,
                            const StridedView& target);
  absl::Status CopyReplicas();
  std::vector<array::Piece> Publish();

  const ShapeDtype stored_;
  const DType dtype_;
  const mesh::Sharding sharding_;
  device::Platform& platform_;
  const Replicas replicas_;
  std::vector<Slot> slots_;
  std::vector<Box> boxes_;
  std::vector<size_t> firsts_;  // slots of boxes_
  int64_t bytes_ = 0;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_SHARDS_H_
