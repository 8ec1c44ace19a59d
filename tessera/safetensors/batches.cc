#include "tessera/safetensors/batches.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tessera::safetensors {
namespace {

uint64_t SizeOf(const Tensor& tensor) { return tensor.end - tensor.begin; }

bool IsSmall(const Tensor& tensor) {
  return SizeOf(tensor) > 0 && SizeOf(tensor) < kSmallTensorBytes && InfoOf(tensor.dtype).bits >= 8;
}

}  // namespace

std::vector<Batch> BatchesOf(const FileSet& set) {
  const auto& places = set.tensors();
  Batch order(places.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // The header has them as they lie in the file.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(places[a].file, places[a].tensor) < std::tie(places[b].file, places[b].tensor);
  });
  std::vector<Batch> batches;
  uint64_t bytes = kBatchBytes;  // of the last batch
  const Tensor* last = nullptr;
  for (const size_t i : order) {
    const Tensor& tensor = set.TensorOf(places[i]);
    const bool joins = bytes < kBatchBytes && IsSmall(tensor) && IsSmall(*last) &&
                       places[batches.back().back()].file == places[i].file &&
                       last->end == tensor.begin;
    if (!joins) {
      batches.emplace_back();
      bytes = 0;
    }
    batches.back().push_back(i);
    bytes += SizeOf(tensor);
    last = &tensor;
  }
  return batches;
}

}  // namespace tessera::safetensors
