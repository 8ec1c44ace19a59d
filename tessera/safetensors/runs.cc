#include "tessera/safetensors/runs.h"

#include <algorithm>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"

namespace tessera::safetensors {
namespace {

// The first dimension that a run has more than one index of: all of those behind it are whole.
int FirstOfRun(const Box& box, DimsView shape) {
  int first = box.rank() - 1;
  while (first > 0 && box.shape()[first] == shape[first]) --first;
  return std::max(first, 0);
}

}  // namespace

int64_t RunElements(const Box& box, DimsView shape) {
  int64_t count = 1;
  for (int d = FirstOfRun(box, shape); d < box.rank(); ++d) count *= box.shape()[d];
  return count;
}

absl::Status ForEachRun(const Box& box, DimsView shape,
                        absl::FunctionRef<absl::Status(const Box& run)> body) {
  if (box.empty()) return absl::OkStatus();
  // Runs are to the box what chunks of one outer index are to an array.
  Dims run_shape(shape.begin(), shape.end());
  std::fill_n(run_shape.begin(), FirstOfRun(box, shape), 1);
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(box, run_shape));
  for (int64_t i = 0; i < cells.size(); ++i) {
    TESSERA_RETURN_IF_ERROR(body(Intersect(CellBox(cells.at(i), run_shape, shape), box)));
  }
  return absl::OkStatus();
}

uint64_t ElementNumber(DimsView index, DimsView shape) {
  int64_t number = 0;
  for (size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + index[d];
  return static_cast<uint64_t>(number);
}

}  // namespace tessera::safetensors
