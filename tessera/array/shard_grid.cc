#include "tessera/array/shard_grid.h"

#include <algorithm>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::array {
namespace {

bool ProcessBefore(const ShardGrid::Holders& holders, int process) {
  return holders.process < process;
}

}  // namespace

absl::StatusOr<ShardGrid> ShardGrid::Make(const mesh::Sharding& sharding, DimsView shape) {
  ShardGrid grid;
  TESSERA_ASSIGN_OR_RETURN(grid.shards_, mesh::PlaceShards(sharding, shape));
  TESSERA_ASSIGN_OR_RETURN(grid.counts_,
                           mesh::SplitFactors(sharding, static_cast<int>(shape.size())));
  grid.block_shape_ = grid.shards_.front().box.shape();
  TESSERA_ASSIGN_OR_RETURN(const int64_t blocks, NumElements(grid.counts_));
  grid.holders_.resize(static_cast<size_t>(blocks));
  for (size_t i = 0; i < grid.shards_.size(); ++i) {
    grid.block_of_.push_back(grid.BlockAt(grid.shards_[i].box));
    grid.AddHolder(grid.block_of_.back(), static_cast<int64_t>(i));
  }
  return grid;
}

const Box& ShardGrid::BoxOf(int64_t block) const {
  return shards_[static_cast<size_t>(HoldersOf(block).front().positions.front())].box;
}

std::span<const int64_t> ShardGrid::HoldersIn(int64_t block, int process) const {
  const std::span<const Holders> all = HoldersOf(block);
  const auto found = std::lower_bound(all.begin(), all.end(), process, ProcessBefore);
  if (found == all.end() || found->process != process) return {};
  return found->positions;
}

void ShardGrid::ForEachBlockIn(const Box& box, absl::FunctionRef<void(int64_t block)> body) const {
  const size_t rank = counts_.size();
  Dims first(rank), last(rank);
  for (size_t d = 0; d < rank; ++d) {
    first[d] = box.begin(static_cast<int>(d)) / block_shape_[d];
    last[d] = (box.end(static_cast<int>(d)) - 1) / block_shape_[d];
  }
  Dims at = first;
  while (true) {
    int64_t block = 0;
    for (size_t d = 0; d < rank; ++d) block = block * counts_[d] + at[d];
    body(block);
    size_t d = rank;
    for (; d > 0; --d) {
      if (++at[d - 1] <= last[d - 1]) break;
      at[d - 1] = first[d - 1];
    }
    if (d == 0) return;
  }
}

// Where a dimension has size 0 all blocks are empty and lie at the same place: the number is 0.
int64_t ShardGrid::BlockAt(const Box& box) const {
  int64_t block = 0;
  for (size_t d = 0; d < counts_.size(); ++d) {
    const int64_t along =
        block_shape_[d] == 0 ? 0 : box.begin(static_cast<int>(d)) / block_shape_[d];
    block = block * counts_[d] + along;
  }
  return block;
}

void ShardGrid::AddHolder(int64_t block, int64_t position) {
  const int process = shards_[static_cast<size_t>(position)].device.process;
  std::vector<Holders>& all = holders_[static_cast<size_t>(block)];
  auto found = std::lower_bound(all.begin(), all.end(), process, ProcessBefore);
  if (found == all.end() || found->process != process) found = all.insert(found, {process, {}});
  found->positions.push_back(position);
}

}  // namespace tessera::array
