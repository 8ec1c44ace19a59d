// A counting semaphore that loses no wake-up.
//
// std::counting_semaphore of libstdc++ 12 lets a waiter sleep, seldom, though the count is positive
// (GCC's bug 104928): a test of ours once hung so.
#ifndef TESSERA_CORE_SEMAPHORE_H_
#define TESSERA_CORE_SEMAPHORE_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "tessera/core/mutex.h"

namespace tessera {

// Thread-safe.
class Semaphore {
 public:
  explicit Semaphore(int64_t count) : count_(count) {}

  void Acquire() {
    MutexLock lock(mutex_);
    while (count_ == 0) more_.Wait(mutex_);
    --count_;
  }

  // Notifies under the lock, so that the one it wakes may end the semaphore.
  void Release() {
    MutexLock lock(mutex_);
    ++count_;
    more_.NotifyOne();
  }

 private:
  Mutex mutex_;
  CondVar more_;
  int64_t count_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera

#endif  // TESSERA_CORE_SEMAPHORE_H_
