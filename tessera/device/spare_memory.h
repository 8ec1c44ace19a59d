// SpareMemory: host memory that was given back, kept for who asks for as much again.
#ifndef TESSERA_DEVICE_SPARE_MEMORY_H_
#define TESSERA_DEVICE_SPARE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "tessera/core/mutex.h"

namespace tessera::device {

// The system clears a fresh page before its first use, which takes about half as long as the copy
// that fills it.  What is kept here is offered to the system, which takes the pages when it runs
// short of memory; until then they come back as they are, without that cost.  Arrays of one model
// repeat in size, so only memory of exactly the same size is taken again.
//
// Thread-safe.  Memory may outlive its owner, and keeps this alive.
class SpareMemory : public std::enable_shared_from_this<SpareMemory> {
 public:
  // Smaller pieces are left to malloc, which is good at them.
  static constexpr int64_t kLeastBytes = int64_t{64} << 10;

  // Keeps at most `limit_bytes`; 0: nothing.
  static std::shared_ptr<SpareMemory> Make(int64_t limit_bytes) {
    return std::shared_ptr<SpareMemory>(new SpareMemory(limit_bytes));
  }
  ~SpareMemory();

  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;

  // As AllocateHostMemory.
  std::shared_ptr<std::byte> Allocate(int64_t bytes);

  // What is kept now.
  int64_t kept_bytes() const;

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    int64_t bytes = 0;
  };
  using ByAge = std::list<Block>;

  explicit SpareMemory(int64_t limit_bytes) : limit_(limit_bytes) {}
  std::shared_ptr<std::byte> Take(int64_t bytes);
  void GiveBack(Block block);
  void Forget(ByAge::iterator block, ByAge& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t limit_;
  mutable Mutex mutex_;
  int64_t kept_ ABSL_GUARDED_BY(mutex_) = 0;
  ByAge blocks_ ABSL_GUARDED_BY(mutex_);  // oldest first
  // Of each size, oldest first.
  absl::flat_hash_map<int64_t, std::deque<ByAge::iterator>> by_size_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_SPARE_MEMORY_H_
