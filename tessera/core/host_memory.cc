#include "tessera/core/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace tessera {

namespace {

// All the memory that this machine has.
int64_t PhysicalBytes() {
  static const int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return bytes;
}

}  // namespace

std::shared_ptr<std::byte> AllocateHostMemory(int64_t bytes) {
  // The system promises more than it has, and ends the process that takes it by its word.
  if (bytes <= 0 || bytes > PhysicalBytes()) return nullptr;
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

}  // namespace tessera
