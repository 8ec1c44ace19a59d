#include "tessera/checkpoint/plan_save_arrays.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include "tessera/core/convert.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {

std::string NameOf(const PlannedArray& array) { return array.key.empty() ? "the root" : array.key; }

DType StoredDType(DType dtype, const PlanOptions& options) {
  return IsFloat(dtype) ? options.float_dtype.value_or(dtype) : dtype;
}

absl::Status CheckConversions(std::span<const PlannedArray> arrays, const PlanOptions& options) {
  std::string names;
  for (const PlannedArray& array : arrays) {
    const DType stored = array.metadata.dtype;
    if (stored == array.source_dtype || CanConvert(array.source_dtype, stored)) continue;
    names +=
        Concat(names.empty() ? "" : ", ", NameOf(array), " (", DTypeName(array.source_dtype), ")");
  }
  if (names.empty()) return absl::OkStatus();
  return InvalidArgument("there is no conversion to ", DTypeName(*options.float_dtype), " of ",
                         names);
}

std::vector<size_t> LargestFirst(std::span<const PlannedArray> arrays) {
  std::vector<size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<int64_t> bytes;
  for (const PlannedArray& array : arrays) {
    bytes.push_back(*NumBytes(array.metadata.dtype, array.metadata.shape));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
  return order;
}

absl::StatusOr<std::vector<BlockHolder>> HoldersOf(const array::ShardGrid& grid, int64_t block,
                                                   int ranks) {
  std::vector<BlockHolder> holders;
  for (const array::ShardGrid::Holders& all : grid.HoldersOf(block)) {
    const mesh::Device& device = grid.shards()[all.positions.front()].device;
    if (all.process < 0 || all.process >= ranks) {
      return InvalidArgument("device ", device.id, " belongs to process ", all.process,
                             ", which is none of the ", ranks, " ranks that save");
    }
    holders.push_back({all.process, device.id});
  }
  return holders;
}

absl::StatusOr<const array::ShardGrid*> GridCache::Of(const array::Value& value) {
  const auto* sharded = std::get_if<array::ShardedArray>(&value);
  if (sharded == nullptr) return nullptr;
  auto& of_shape = grids_[sharded->shape()];
  for (const auto& [known, grid] : of_shape) {
    if (known == sharded->sharding()) return grid.get();
  }
  TESSERA_ASSIGN_OR_RETURN(array::ShardGrid grid,
                           array::ShardGrid::Make(sharded->sharding(), sharded->shape()));
  of_shape.emplace_back(sharded->sharding(), std::make_unique<array::ShardGrid>(std::move(grid)));
  return of_shape.back().second.get();
}

}  // namespace tessera::checkpoint
