#include "tessera/core/chunk_grid.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera {

absl::StatusOr<CellRange> CellRange::Of(const Box& box, DimsView chunk_shape) {
  CellRange range;
  range.first_.resize(box.rank());
  range.counts_.resize(box.rank());
  const bool empty = box.empty();
  for (int i = 0; i < box.rank(); ++i) {
    range.first_[i] = box.begin(i) / chunk_shape[i];
    range.counts_[i] = empty ? 0 : (box.end(i) - 1) / chunk_shape[i] - range.first_[i] + 1;
  }
  TESSERA_ASSIGN_OR_RETURN(range.size_, NumElements(range.counts_));
  return range;
}

Dims CellRange::at(int64_t i) const {
  Dims cell = first_;
  for (int d = static_cast<int>(cell.size()) - 1; d >= 0; --d) {
    cell[d] += i % counts_[d];
    i /= counts_[d];
  }
  return cell;
}

Dims GridShape(DimsView shape, DimsView chunk_shape) {
  Dims grid(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    grid[i] = shape[i] == 0 ? 0 : (shape[i] - 1) / chunk_shape[i] + 1;
  }
  return grid;
}

int64_t CellNumber(DimsView cell, DimsView grid_shape) {
  int64_t number = 0;
  for (size_t i = 0; i < cell.size(); ++i) number = number * grid_shape[i] + cell[i];
  return number;
}

Dims CellOrigin(DimsView cell, DimsView chunk_shape) {
  Dims origin(cell.size());
  for (size_t i = 0; i < cell.size(); ++i) origin[i] = cell[i] * chunk_shape[i];
  return origin;
}

Box CellBox(DimsView cell, DimsView chunk_shape, DimsView shape) {
  const Dims origin = CellOrigin(cell, chunk_shape);
  Dims size(cell.size());
  for (size_t i = 0; i < cell.size(); ++i) size[i] = std::min(chunk_shape[i], shape[i] - origin[i]);
  absl::StatusOr<Box> box = Box::Make(origin, size);
  TESSERA_CHECK(box.ok());
  return *std::move(box);
}

}  // namespace tessera
