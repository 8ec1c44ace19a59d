#include "tessera/device/host_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace tessera::device {

std::shared_ptr<std::byte> AllocateHostMemory(int64_t bytes) {
  if (bytes <= 0) return nullptr;
  const bool huge = bytes >= kHugePageBytes;
  void* data = nullptr;
  const auto alignment = static_cast<size_t>(huge ? kHugePageBytes : kHostAlignment);
  if (posix_memalign(&data, alignment, static_cast<size_t>(bytes)) != 0) return nullptr;
  if (huge) {
    // Advice only: where the system has no huge pages to give, small ones serve.  The rest at the
    // end stays with small ones, so that no memory is taken beyond it.
    (void)madvise(data, static_cast<size_t>(bytes / kHugePageBytes * kHugePageBytes),
                  MADV_HUGEPAGE);
  }
  return {static_cast<std::byte*>(data), [](std::byte* memory) { std::free(memory); }};
}

}  // namespace tessera::device
