#include "tessera/safetensors/blocks.h"

#include <algorithm>
#include <numeric>

namespace tessera::safetensors {
namespace {

// Rows of a dimension: its indices, each with all of the dimensions behind it.
struct Rows {
  int64_t count = 0;   // of one index of the dimensions before
  int64_t bits = 0;    // of one
  bool alone = false;  // the dimensions before have one index only
};

// How many rows end at a whole byte.
int64_t WholeBytes(const Rows& rows) { return 8 / std::gcd(int64_t{8}, rows.bits); }

// Whether blocks of rows begin at whole bytes in every index of the dimensions before.
bool CanCut(const Rows& rows) { return rows.alone || rows.count % WholeBytes(rows) == 0; }

// The most rows of at most `most` bytes; 0 when there are none.
int64_t RowsWithin(const Rows& rows, uint64_t most) {
  const uint64_t limit = std::min(most, uint64_t{1} << 60) * 8;
  const int64_t fit = static_cast<int64_t>(limit / static_cast<uint64_t>(rows.bits));
  if (fit >= rows.count) return rows.count;
  return fit / WholeBytes(rows) * WholeBytes(rows);
}

Rows RowsOf(DimsView shape, DType dtype, size_t dimension) {
  Rows rows{shape[dimension], InfoOf(dtype).bits, true};
  for (size_t d = dimension + 1; d < shape.size(); ++d) rows.bits *= shape[d];
  for (size_t d = 0; d < dimension; ++d) rows.alone = rows.alone && shape[d] == 1;
  return rows;
}

// `rows` indices of `dimension`, all of those behind it, one of those before.
Dims Cut(DimsView shape, size_t dimension, int64_t rows) {
  Dims block(shape.begin(), shape.end());
  std::fill(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(dimension), 1);
  block[dimension] = rows;
  return block;
}

}  // namespace

Dims BlockShape(DimsView shape, DType dtype, uint64_t most) {
  if (shape.empty()) return {};
  // Sizes beside a zero may have a product that fits nowhere.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return Dims(shape.size(), 1);
  Dims smallest;
  // Rows of an outer dimension are the larger ones.
  for (size_t d = 0; d < shape.size(); ++d) {
    const Rows rows = RowsOf(shape, dtype, d);
    if (!CanCut(rows)) continue;
    if (const int64_t fit = RowsWithin(rows, most); fit > 0) return Cut(shape, d, fit);
    smallest = Cut(shape, d, std::min(rows.count, WholeBytes(rows)));
  }
  return smallest;
}

ByteSpan SpanOf(const Box& box, DimsView shape, DType dtype) {
  if (box.empty()) return {};
  int64_t first = 0;
  int64_t count = 1;
  for (int d = 0; d < box.rank(); ++d) {
    first = first * shape[d] + box.begin(d);
    count *= box.shape()[d];
  }
  const int64_t bits = InfoOf(dtype).bits;
  return {static_cast<uint64_t>(first * bits) / 8,
          static_cast<uint64_t>((first + count) * bits + 7) / 8};
}

bool IsContiguous(const Box& box, DimsView shape) {
  if (box.empty()) return true;
  int outer = 0;
  while (outer < box.rank() && box.shape()[outer] == 1) ++outer;
  for (int d = outer + 1; d < box.rank(); ++d) {
    if (box.shape()[d] != shape[d]) return false;
  }
  return true;
}

}  // namespace tessera::safetensors
