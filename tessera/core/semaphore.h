// A counting semaphore that loses no wake-up.
//
// std::counting_semaphore of libstdc++ 12 lets a waiter sleep, seldom, though the count is positive
// (GCC's bug 104928): a test of ours once hung so.
#ifndef TESSERA_CORE_SEMAPHORE_H_
#define TESSERA_CORE_SEMAPHORE_H_

#include <atomic>
#include <cstdint>
#include <thread>

#include "tessera/core/mutex.h"

namespace tessera {

// Thread-safe.  Turns are expected to be short: who waits tries for a moment before it sleeps.
class Semaphore {
 public:
  explicit Semaphore(int64_t count) : count_(count) {}

  void Acquire() {
    for (int tries = 0; tries < kTries; ++tries) {
      if (TryAcquire()) return;
      std::this_thread::yield();
    }
    Sleep();
  }

  void Release() {
    count_.fetch_add(1);
    // Sequentially consistent, as in Sleep(): it sees the one that will sleep, or that one the
    // count.
    if (sleepers_.load() > 0) Wake();
  }

 private:
  static constexpr int kTries = 16;

  bool TryAcquire() {
    int64_t count = count_.load();
    while (count > 0) {
      if (count_.compare_exchange_weak(count, count - 1)) return true;
    }
    return false;
  }

  void Sleep() {
    MutexLock lock(mutex_);
    sleepers_.fetch_add(1);
    while (!TryAcquire()) more_.Wait(mutex_);
    sleepers_.fetch_sub(1);
  }

  void Wake() {
    MutexLock lock(mutex_);
    more_.NotifyOne();
  }

  std::atomic<int64_t> count_;
  std::atomic<int64_t> sleepers_ = 0;
  Mutex mutex_;
  CondVar more_;
};

}  // namespace tessera

#endif  // TESSERA_CORE_SEMAPHORE_H_
