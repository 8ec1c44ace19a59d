// Buffer: memory that is used again and again without being cleared in between.
#ifndef TESSERA_CORE_BUFFER_H_
#define TESSERA_CORE_BUFFER_H_

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace tessera {

// One owner, aligned to a cache line.  A fresh page costs more to get than to fill, so what works
// through many chunks keeps its buffers.
class Buffer {
 public:
  static constexpr std::align_val_t kAlignment{64};

  // Exactly `size` bytes.  What they hold means nothing: older contents are lost when it grows.
  std::span<std::byte> Resize(size_t size) {
    if (size > capacity_) {
      data_.reset();  // before the new memory is taken: never both at once
      capacity_ = 0;
      data_.reset(static_cast<std::byte*>(::operator new(size, kAlignment)));
      capacity_ = size;
    }
    size_ = size;
    return span();
  }

  std::span<std::byte> span() { return {data_.get(), size_}; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t capacity_ = 0;
  size_t size_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_CORE_BUFFER_H_
