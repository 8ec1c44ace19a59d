// What saves of every format plan alike: the stored dtypes, and which ranks hold what.  Pure.
#ifndef TESSERA_CHECKPOINT_PLAN_SAVE_ARRAYS_H_
#define TESSERA_CHECKPOINT_PLAN_SAVE_ARRAYS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/shard_grid.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/plan_save_writers.h"

namespace tessera::checkpoint {

// The key, or words for the empty one.
std::string NameOf(const PlannedArray& array);

DType StoredDType(DType dtype, const PlanOptions& options);

// InvalidArgument, naming every key, for what options.float_dtype cannot be made of.
absl::Status CheckConversions(std::span<const PlannedArray> arrays, const PlanOptions& options);

// Their places, those of the most bytes first.
std::vector<size_t> LargestFirst(std::span<const PlannedArray> arrays);

// The ranks that have a block, each with the device it takes it from.  InvalidArgument for a device
// that belongs to none of the ranks.
absl::StatusOr<std::vector<BlockHolder>> HoldersOf(const array::ShardGrid& grid, int64_t block,
                                                   int ranks);

// Asks each (sharding, shape) once, as the arrays of a model repeat in both.
class GridCache {
 public:
  // nullptr for an array in host memory, which is one shard.  Lives as long as this does.
  absl::StatusOr<const array::ShardGrid*> Of(const array::Value& value);

 private:
  using Entry = std::pair<mesh::Sharding, std::unique_ptr<array::ShardGrid>>;
  absl::flat_hash_map<Dims, std::vector<Entry>> grids_;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_PLAN_SAVE_ARRAYS_H_
