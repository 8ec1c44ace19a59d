// Counts what is done, and tells of it now and then.
#ifndef TESSERA_CHECKPOINT_SAVE_PROGRESS_H_
#define TESSERA_CHECKPOINT_SAVE_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "tessera/checkpoint/save_report.h"
#include "tessera/core/mutex.h"

namespace tessera::checkpoint {

// Thread-safe.  A caller's function may be slow, so it is not called for each of many small chunks.
class ProgressTeller {
 public:
  using Listener = std::function<void(const SaveProgress&)>;

  // `total` with nothing done.
  ProgressTeller(Listener listener, SaveProgress total)
      : listener_(std::move(listener)), now_(total) {}

  void Add(int64_t bytes) {
    if (listener_ == nullptr) return;
    MutexLock lock(mutex_);
    now_.bytes_done += bytes;
    ++now_.chunks_done;
    const bool last = now_.chunks_done == now_.chunks_total;
    if (!last && now_.bytes_done - told_ < now_.bytes_total / kMostCalls) return;
    told_ = now_.bytes_done;
    listener_(now_);
  }

 private:
  static constexpr int64_t kMostCalls = 1000;

  const Listener listener_;
  Mutex mutex_;
  SaveProgress now_ ABSL_GUARDED_BY(mutex_);
  int64_t told_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_PROGRESS_H_
