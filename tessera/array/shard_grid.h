// ShardGrid: the distinct boxes of a sharding, and which devices hold each.
#ifndef TESSERA_ARRAY_SHARD_GRID_H_
#define TESSERA_ARRAY_SHARD_GRID_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

// Every box of a sharding has the same shape, so the boxes are blocks of a grid: which of them meet
// a given box follows from a division per dimension, without looking at the others.
class ShardGrid {
 public:
  // The devices of one process, as positions in shards(), ascending.
  struct Holders {
    int process = 0;
    std::vector<int64_t> positions;
  };

  // Errors of mesh::PlaceShards.
  static absl::StatusOr<ShardGrid> Make(const mesh::Sharding& sharding, DimsView shape);

  // One shard per device, in device order.
  const std::vector<mesh::DeviceShard>& shards() const { return shards_; }

  // Blocks are counted in row-major order.
  int64_t num_blocks() const { return static_cast<int64_t>(holders_.size()); }
  int64_t BlockOf(int64_t position) const { return block_of_[static_cast<size_t>(position)]; }
  const Box& BoxOf(int64_t block) const;

  // Who holds a block, by process, ascending.
  std::span<const Holders> HoldersOf(int64_t block) const {
    return holders_[static_cast<size_t>(block)];
  }
  // The devices of `process` among them.
  std::span<const int64_t> HoldersIn(int64_t block, int process) const;

  // Calls `body` for each block that shares an index with `box`, ascending.  REQUIRES: `box` is not
  // empty and lies in the array.
  void ForEachBlockIn(const Box& box, absl::FunctionRef<void(int64_t block)> body) const;

 private:
  ShardGrid() = default;
  int64_t BlockAt(const Box& box) const;
  void AddHolder(int64_t block, int64_t position);

  std::vector<mesh::DeviceShard> shards_;
  std::vector<int64_t> block_of_;              // by position
  std::vector<std::vector<Holders>> holders_;  // by block
  Dims counts_;                                // blocks along each dimension
  Dims block_shape_;
};

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_SHARD_GRID_H_
