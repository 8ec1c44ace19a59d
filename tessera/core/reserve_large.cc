#include "tessera/core/reserve_large.h"

#include <sys/mman.h>

#include <cstdint>

#include "tessera/core/host_memory.h"

namespace tessera {

void AdviseHugePages(void* data, size_t bytes) {
  constexpr auto kPage = static_cast<uintptr_t>(kHugePageBytes);
  // The whole huge pages among the bytes: what lies around them belongs to others.
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const uintptr_t end = (begin + bytes) / kPage * kPage;
  if (first >= end) return;
  (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace tessera
