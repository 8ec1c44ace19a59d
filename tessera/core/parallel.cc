#include "tessera/core/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>

#include "tessera/core/status.h"
#include "tessera/core/thread_pool.h"

namespace tessera {

void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  TESSERA_CHECK(grain > 0);
  if (count <= 0) return;
  if (count <= grain) return body(0, count);
  // The library orders caller and workers, but its binary is opaque to ThreadSanitizer; this
  // atomic repeats that order where the sanitizer can see it, at the cost of an add per piece.
  std::atomic<int> order{0};
  order.store(1, std::memory_order_release);
  static tbb::task_arena arena(DefaultThreadCount());
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, static_cast<size_t>(grain)),
                      [&](const tbb::blocked_range<int64_t>& range) {
                        order.load(std::memory_order_acquire);
                        body(range.begin(), range.end());
                        order.fetch_add(1, std::memory_order_acq_rel);
                      });
  });
  order.load(std::memory_order_acquire);
}

}  // namespace tessera
