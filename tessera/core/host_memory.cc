#include "tessera/core/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace tessera {

namespace {

// Fewer are as well taken one by one.
constexpr int64_t kManyPages = 64 << 10;

// All the memory that this machine has.
int64_t PhysicalBytes() {
  static const int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return bytes;
}

// Takes the pages of [begin, end) from the system at once: each by itself, when it is first written
// to, costs half as much again.  Advice only: a system that does not know it gives them later.
void TakePages(std::byte* begin, std::byte* end) {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) / page * page;
  if (first < last) {
    (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE);
  }
#else
  (void)begin, (void)end;
#endif
}

}  // namespace

std::shared_ptr<std::byte> AllocateHostMemory(int64_t bytes) {
  // The system promises more than it has, and ends the process that takes it by its word.
  if (bytes <= 0 || bytes > PhysicalBytes()) return nullptr;
  const bool huge = bytes >= kHugePageBytes;
  void* data = nullptr;
  const auto alignment = static_cast<size_t>(huge ? kHugePageBytes : kHostAlignment);
  if (posix_memalign(&data, alignment, static_cast<size_t>(bytes)) != 0) return nullptr;
  auto* const begin = static_cast<std::byte*>(data);
  const int64_t in_huge = huge ? bytes / kHugePageBytes * kHugePageBytes : 0;
  if (huge) {
    // Advice only: where the system has no huge pages to give, small ones serve.  The rest at the
    // end stays with small ones, so that no memory is taken beyond it.
    (void)madvise(data, static_cast<size_t>(in_huge), MADV_HUGEPAGE);
  }
  if (bytes - in_huge >= kManyPages) TakePages(begin + in_huge, begin + bytes);
  return {begin, [](std::byte* memory) { std::free(memory); }};
}

}  // namespace tessera
