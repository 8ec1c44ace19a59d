#include "tessera/core/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "tessera/core/environment.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"

namespace tessera {

ThreadPool::ThreadPool(int threads) {
  TESSERA_CHECK(threads > 0);
  threads_.reserve(threads);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { RunThread(); });
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Submit(std::function<void()> work) {
  MutexLock lock(mutex_);
  TESSERA_CHECK(!closing_);
  queue_.push_back(std::move(work));
  changed_.NotifyOne();
}

void ThreadPool::RunThread() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !closing_) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

std::optional<int> WantedThreadCount() {
  const auto text = GetEnvironment("TESSERA_THREADS");
  if (!text.has_value()) return std::nullopt;
  const auto count = ParseInteger(*text);
  if (count.ok() && *count > 0 && *count <= 4096) return static_cast<int>(*count);
  LogWarning("TESSERA_THREADS='", *text, "' is not a number from 1 to 4096; using all cores");
  return std::nullopt;
}

int DefaultThreadCount() {
  if (const auto wanted = WantedThreadCount(); wanted.has_value()) return *wanted;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace tessera
