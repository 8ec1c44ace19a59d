#include "tessera/device/host_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <limits>

namespace tessera::device {

std::shared_ptr<std::byte> AllocateHostMemory(int64_t bytes) {
  if (bytes <= 0) return nullptr;
  const int64_t alignment = bytes >= kHugePageThreshold ? kHugePageBytes : kHostAlignment;
  if (bytes > std::numeric_limits<int64_t>::max() - alignment) return nullptr;
  const auto rounded = static_cast<size_t>((bytes + alignment - 1) / alignment * alignment);
  void* data = std::aligned_alloc(static_cast<size_t>(alignment), rounded);
  if (data == nullptr) return nullptr;
  // Advice only: where the system has no huge pages to give, small ones serve.
  if (alignment == kHugePageBytes) (void)madvise(data, rounded, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(data), [](std::byte* memory) { std::free(memory); }};
}

}  // namespace tessera::device
