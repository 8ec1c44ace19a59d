// ByteProgress: counts the bytes that are done, and tells of them.
#ifndef TESSERA_CHECKPOINT_BYTE_PROGRESS_H_
#define TESSERA_CHECKPOINT_BYTE_PROGRESS_H_

#include <algorithm>
#include <cstdint>

#include "tessera/checkpoint/verify.h"
#include "tessera/core/mutex.h"

namespace tessera::checkpoint {

// Thread-safe.  The listener outlives it.
class ByteProgress {
 public:
  explicit ByteProgress(const ByteListener& listener) : listener_(listener) {}

  // Whether anybody listens.
  bool watched() const { return listener_ != nullptr; }

  void AddTotal(int64_t bytes) {
    MutexLock lock(mutex_);
    total_ += bytes;
  }

  void Done(int64_t bytes) {
    MutexLock lock(mutex_);
    done_ += bytes;
    if (watched()) listener_(done_, std::max(total_, done_));
  }

  int64_t done() const {
    MutexLock lock(mutex_);
    return done_;
  }

 private:
  const ByteListener& listener_;
  mutable Mutex mutex_;
  int64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t total_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_BYTE_PROGRESS_H_
