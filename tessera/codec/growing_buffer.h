// Output of a decoder that learns its size on the way: grows by doubling, but never past a bound.
#ifndef TESSERA_CODEC_GROWING_BUFFER_H_
#define TESSERA_CODEC_GROWING_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tessera::codec {

class GrowingBuffer {
 public:
  explicit GrowingBuffer(size_t most) : most_(most) {}

  // Free bytes at the end, at least one more than before unless the bound is reached.
  std::span<std::byte> Room() {
    if (used_ == data_.size()) data_.resize(std::min(most_, std::max<size_t>(4096, 2 * used_)));
    return std::span(data_).subspan(used_);
  }
  void Used(size_t count) { used_ += count; }
  bool full() const { return used_ == most_; }

  std::vector<std::byte> Take() && {
    data_.resize(used_);
    return std::move(data_);
  }

 private:
  const size_t most_;
  std::vector<std::byte> data_;
  size_t used_ = 0;
};

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_GROWING_BUFFER_H_
