// ThreadPool: threads that may block, for I/O.  ParallelFor is the one for computation.
#ifndef TESSERA_CORE_THREAD_POOL_H_
#define TESSERA_CORE_THREAD_POOL_H_

#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "tessera/core/mutex.h"

namespace tessera {

// A fixed number of threads and one queue.  Thread-safe.
class ThreadPool {
 public:
  // REQUIRES: threads > 0.
  explicit ThreadPool(int threads);

  // Runs what was submitted, then ends the threads.
  ~ThreadPool();

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }

  void Submit(std::function<void()> work);

 private:
  void RunThread();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

// TESSERA_THREADS, when it holds a positive number.
std::optional<int> WantedThreadCount();

// The same, else the number of cores this process may use.
int DefaultThreadCount();

}  // namespace tessera

#endif  // TESSERA_CORE_THREAD_POOL_H_
