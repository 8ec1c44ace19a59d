// Many requests of one call: how the stores' ReadMany is made.
//
// A store that answers at once (memory) reads one after the other.  One that waits for a disk or a
// network keeps many requests under way, each on a thread, since its calls block.  A store that is
// called from many threads should own a pool and pass it here; KvStore's own ReadMany starts
// threads for each call, which is little beside the latency of a network but not beside a cache.
#ifndef TESSERA_STORE_CONCURRENT_H_
#define TESSERA_STORE_CONCURRENT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/mutex.h"
#include "tessera/core/thread_pool.h"
#include "tessera/store/kv_store.h"

namespace tessera::store {

// How many requests KvStore::ReadMany keeps under way.
inline constexpr int kMostRequestsAtOnce = 64;

// A pool whose threads are started when they are first needed.  Thread-safe.
class LazyThreadPool {
 public:
  // REQUIRES: threads > 0.
  explicit LazyThreadPool(int threads) : threads_(threads) {}

  ThreadPool& get() {
    MutexLock lock(mutex_);
    if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>(threads_);
    return *pool_;
  }

 private:
  const int threads_;
  Mutex mutex_;
  std::unique_ptr<ThreadPool> pool_ ABSL_GUARDED_BY(mutex_);
};

// Calls body(i, token) for every i below `count`, at most `width` at once, on the pool and on the
// calling thread, which works instead of only waiting: a pool that is busy costs speed, never
// progress.  The first error stops the rest and is returned; Cancelled, saying `what` was stopped,
// when `stop` came first.  REQUIRES: width > 0.
absl::Status ForEachIndex(ThreadPool& pool, int width, size_t count, std::string_view what,
                          std::stop_token stop,
                          absl::FunctionRef<absl::Status(size_t, const std::stop_token&)> body);

// A ReadMany that calls store.Read for each request, at most `width` at once.
absl::StatusOr<std::vector<ReadResult>> ReadManyOn(ThreadPool& pool, int width, KvStore& store,
                                                   std::span<const ReadRequest> requests,
                                                   std::stop_token stop);

// The same, one after the other.
absl::StatusOr<std::vector<ReadResult>> ReadOneByOne(KvStore& store,
                                                     std::span<const ReadRequest> requests,
                                                     std::stop_token stop);

}  // namespace tessera::store

#endif  // TESSERA_STORE_CONCURRENT_H_
