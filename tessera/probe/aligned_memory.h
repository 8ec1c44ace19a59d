// Memory for O_DIRECT, which wants addresses that are multiples of something.
#ifndef TESSERA_PROBE_ALIGNED_MEMORY_H_
#define TESSERA_PROBE_ALIGNED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace tessera::probe {

class AlignedMemory {
 public:
  // REQUIRES: `alignment` is a power of two.
  AlignedMemory(size_t size, size_t alignment)
      : data_(static_cast<std::byte*>(::operator new(size, std::align_val_t(alignment))),
              Free{std::align_val_t(alignment)}),
        size_(size) {}

  std::span<std::byte> span() const { return {data_.get(), size_}; }

  // So that no page is got, nor anything compressed, while a clock runs.
  void FillWithNoise() const {
    uint64_t state = 0x9E3779B97F4A7C15U;  // any odd number
    for (size_t i = 0; i + sizeof(state) <= size_; i += sizeof(state)) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      std::memcpy(data_.get() + i, &state, sizeof(state));
    }
  }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(std::byte* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_;
};

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_ALIGNED_MEMORY_H_
