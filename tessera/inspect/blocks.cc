#include "tessera/inspect/blocks.h"

#include <algorithm>

namespace tessera::inspect {
namespace {

// The product of all sizes but one, or more than `most`.
int64_t Others(const Dims& block, size_t dimension, int64_t most) {
  int64_t product = 1;
  for (size_t d = 0; d < block.size(); ++d) {
    if (d == dimension) continue;
    if (block[d] > most / product) return most + 1;
    product *= block[d];
  }
  return product;
}

}  // namespace

Dims BlockShapeFor(DimsView shape, DimsView chunks_a, DimsView chunks_b, int64_t most) {
  most = std::max<int64_t>(1, most);
  Dims block;
  for (size_t d = 0; d < shape.size(); ++d) {
    block.push_back(std::min(shape[d], std::max(chunks_a[d], chunks_b[d])));
  }
  // Outer dimensions are cut first, so that what is left lies together.
  for (size_t d = 0; d < block.size(); ++d) {
    block[d] = std::min(block[d], std::max<int64_t>(1, most / Others(block, d, most)));
  }
  for (size_t d = block.size(); d-- > 0;) {
    const int64_t fit = most / Others(block, d, most) / block[d] * block[d];
    block[d] = std::min(shape[d], std::max(block[d], fit));
    if (block[d] < shape[d]) break;
  }
  return block;
}

}  // namespace tessera::inspect
