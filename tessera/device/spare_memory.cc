#include "tessera/device/spare_memory.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "tessera/core/host_memory.h"

namespace tessera::device {
namespace {

// Offers the whole pages of a block to the system.  False when it does not take such offers.
bool OfferPages(std::byte* memory, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
  const auto end =
      (reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(bytes)) / page * page;
  return begin < end && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_FREE) == 0;
}

}  // namespace

SpareMemory::~SpareMemory() {
  MutexLock lock(mutex_);
  for (const Block& block : blocks_) {
    ASAN_UNPOISON_MEMORY_REGION(block.memory.get(), static_cast<size_t>(block.bytes));
  }
}

std::shared_ptr<std::byte> SpareMemory::Allocate(int64_t bytes) {
  if (bytes < kLeastBytes || limit_ == 0) return AllocateHostMemory(bytes);
  std::shared_ptr<std::byte> memory = Take(bytes);
  if (memory == nullptr) memory = AllocateHostMemory(bytes);
  if (memory == nullptr) return nullptr;
  std::byte* const data = memory.get();
  return {data, [self = shared_from_this(), memory = std::move(memory), bytes](std::byte*) mutable {
            self->GiveBack({std::move(memory), bytes});
          }};
}

int64_t SpareMemory::kept_bytes() const {
  MutexLock lock(mutex_);
  return kept_;
}

std::shared_ptr<std::byte> SpareMemory::Take(int64_t bytes) {
  ByAge taken;
  MutexLock lock(mutex_);
  const auto found = by_size_.find(bytes);
  if (found == by_size_.end()) return nullptr;
  // The newest is the likeliest to have its pages still.
  const ByAge::iterator block = found->second.back();
  found->second.pop_back();
  Forget(block, taken);
  ASAN_UNPOISON_MEMORY_REGION(taken.front().memory.get(), static_cast<size_t>(bytes));
  return std::move(taken.front().memory);
}

void SpareMemory::GiveBack(Block block) {
  if (block.bytes > limit_ || !OfferPages(block.memory.get(), block.bytes)) return;
  ByAge dropped;  // to be freed without the lock
  MutexLock lock(mutex_);
  while (kept_ > limit_ - block.bytes) {
    const ByAge::iterator oldest = blocks_.begin();
    by_size_.find(oldest->bytes)->second.pop_front();
    Forget(oldest, dropped);
    ASAN_UNPOISON_MEMORY_REGION(dropped.back().memory.get(),
                                static_cast<size_t>(dropped.back().bytes));
  }
  // Who still looks at it is found out by AddressSanitizer as if it were freed.
  ASAN_POISON_MEMORY_REGION(block.memory.get(), static_cast<size_t>(block.bytes));
  kept_ += block.bytes;
  const int64_t bytes = block.bytes;
  blocks_.push_back(std::move(block));
  by_size_[bytes].push_back(std::prev(blocks_.end()));
}

// Moves a block, which by_size_ no longer names, to `dropped`.
void SpareMemory::Forget(ByAge::iterator block, ByAge& dropped) {
  kept_ -= block->bytes;
  if (by_size_.find(block->bytes)->second.empty()) by_size_.erase(block->bytes);
  dropped.splice(dropped.end(), blocks_, block);
}

}  // namespace tessera::device
