#include "tessera/explain/border_cuts.h"

#include <algorithm>

namespace tessera::explain {
namespace {

class Borders {
 public:
  Borders(int64_t size, int64_t shard, int64_t chunk) : size_(size), shard_(shard), chunk_(chunk) {}

  Cut At(int64_t index) const {
    if (index == 0 || index == size_) return {index, Border::kShardAndChunk};
    const bool of_shard = index % shard_ == 0;
    const bool of_chunk = index % chunk_ == 0;
    return {index, of_shard && of_chunk ? Border::kShardAndChunk
                   : of_shard           ? Border::kShard
                                        : Border::kChunk};
  }
  // The next border past `index`.
  int64_t After(int64_t index) const {
    return std::min(MultipleAfter(index, shard_), MultipleAfter(index, chunk_));
  }
  // The last border before `index`.
  int64_t Before(int64_t index) const {
    return std::max((index - 1) / shard_ * shard_, (index - 1) / chunk_ * chunk_);
  }

 private:
  // Or the end, which it must not pass: a chunk may be as long as 63 bits.
  int64_t MultipleAfter(int64_t index, int64_t step) const {
    const int64_t left = step - index % step;
    return left >= size_ - index ? size_ : index + left;
  }

  int64_t size_;
  int64_t shard_;
  int64_t chunk_;
};

}  // namespace

DimensionCuts CutsOf(int64_t size, int64_t shard, int64_t chunk, size_t most) {
  const Borders borders(size, shard, chunk);
  DimensionCuts result{{borders.At(0)}};
  while (result.cuts.size() <= most && result.cuts.back().index < size) {
    result.cuts.push_back(borders.At(borders.After(result.cuts.back().index)));
  }
  if (result.cuts.back().index == size) return result;
  const size_t head = most / 2;
  const size_t tail = most - head - 1;
  result.cuts.resize(head + 1);
  result.elided = head;
  std::vector<Cut> end{borders.At(size)};
  while (end.size() <= tail) end.push_back(borders.At(borders.Before(end.back().index)));
  std::reverse(end.begin(), end.end());
  // The last ones begin where the piece that stands for the others ends.
  result.cuts.insert(result.cuts.end(), end.begin(), end.end());
  return result;
}

}  // namespace tessera::explain
