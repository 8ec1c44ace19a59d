#include "tessera/checkpoint/plan_save_writers.h"

#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {

void WriterBalance::Assign(const Box& block, std::span<const BlockHolder> holders,
                           PlannedArray& array) {
  const zarr::Metadata& metadata = array.metadata;
  // The elements of a block fit 63 bits, so its chunks do.
  const CellRange cells = CellRange::Of(block, metadata.chunk_shape).value();
  if (holders.size() == 1) return Add(block, cells.size(), holders.front(), array);
  for (int64_t i = 0; i < cells.size(); ++i) {
    Add(CellBox(cells.at(i), metadata.chunk_shape, metadata.shape), 1, Least(holders), array);
  }
}

const BlockHolder& WriterBalance::Least(std::span<const BlockHolder> holders) const {
  const BlockHolder* least = &holders.front();
  for (const BlockHolder& holder : holders) {
    if (loads_[holder.rank].bytes < loads_[least->rank].bytes) least = &holder;
  }
  return *least;
}

void WriterBalance::Add(const Box& box, int64_t chunks, const BlockHolder& holder,
                        PlannedArray& array) {
  loads_[holder.rank].bytes += *box.num_elements() * DTypeBytes(array.metadata.dtype);
  loads_[holder.rank].chunks += chunks;
  array.parts.push_back({box, holder.rank, holder.device_id});
}

}  // namespace tessera::checkpoint
