// Which rank writes which chunks, so that all have about as much to do.  Pure.
#ifndef TESSERA_CHECKPOINT_PLAN_SAVE_WRITERS_H_
#define TESSERA_CHECKPOINT_PLAN_SAVE_WRITERS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/checkpoint/plan_save.h"

namespace tessera::checkpoint {

// A rank that has a block of an array, and the device it lies on there.
struct BlockHolder {
  int rank = 0;
  std::optional<int64_t> device_id = {};
};

// Gives chunk after chunk to the rank that has the least so far.
class WriterBalance {
 public:
  explicit WriterBalance(int ranks) : loads_(static_cast<size_t>(ranks)) {}

  // Adds parts that cover `block`, which is one shard of the array.  One holder gets it whole.
  // REQUIRES: there are holders, ascending, and the block's border lies between chunks.
  void Assign(const Box& block, std::span<const BlockHolder> holders, PlannedArray& array);

  // The holder whose rank has the least so far.  REQUIRES: there are holders.
  const BlockHolder& Least(std::span<const BlockHolder> holders) const;

  // Adds one part.
  void Add(const Box& box, int64_t chunks, const BlockHolder& holder, PlannedArray& array);

  const std::vector<RankLoad>& loads() const { return loads_; }

 private:
  std::vector<RankLoad> loads_;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_PLAN_SAVE_WRITERS_H_
