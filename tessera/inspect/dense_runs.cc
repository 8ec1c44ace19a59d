#include "tessera/inspect/dense_runs.h"

#include <algorithm>
#include <cstdint>

#include "tessera/core/pieces.h"
#include "tessera/core/status.h"

namespace tessera::inspect {
namespace {

using Body = absl::FunctionRef<void(std::span<const std::byte>)>;

int64_t BytesOf(const ConstStridedView& view) {
  int64_t bytes = view.element_bytes;
  for (const int64_t size : view.shape) bytes *= size;
  return bytes;
}

// Rows [begin, begin + count) of the outermost dimension; one row is a view without it.
ConstStridedView RowsOf(const ConstStridedView& view, int64_t begin, int64_t count) {
  ConstStridedView rows = view;
  rows.data += begin * view.strides[0];
  if (count > 1) {
    rows.shape[0] = count;
  } else {
    rows.shape.erase(rows.shape.begin());
    rows.strides.erase(rows.strides.begin());
  }
  return rows;
}

void Visit(const ConstStridedView& view, Buffer& scratch, Body body) {
  const int64_t bytes = BytesOf(view);
  if (IsDense(view)) return body({view.data, static_cast<size_t>(bytes)});
  constexpr auto kMost = static_cast<int64_t>(kPieceBytes);
  if (bytes <= kMost || view.shape.empty()) {
    const std::span<std::byte> room = scratch.Resize(static_cast<size_t>(bytes));
    TESSERA_CHECK(
        CopyStrided(view, RowMajorView(room.data(), view.shape, view.element_bytes)).ok());
    return body(room);
  }
  const int64_t step = std::max<int64_t>(1, kMost / (bytes / view.shape[0]));
  for (int64_t row = 0; row < view.shape[0]; row += step) {
    Visit(RowsOf(view, row, std::min(step, view.shape[0] - row)), scratch, body);
  }
}

}  // namespace

void ForEachDenseRun(const ConstStridedView& view, Buffer& scratch, Body body) {
  if (BytesOf(view) > 0) Visit(view, scratch, body);
}

}  // namespace tessera::inspect
