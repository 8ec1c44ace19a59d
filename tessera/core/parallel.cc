#include "tessera/core/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "tessera/core/status.h"
#include "tessera/core/thread_pool.h"

namespace tessera {
namespace {

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer cannot see how libtbb orders its threads and would report races that are none;
// on plain threads it finds the ones that bodies really have.
void Run(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t pieces = std::min<int64_t>(4, (count + grain - 1) / grain);
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < pieces; ++i) {
    threads.emplace_back(body, count * i / pieces, count * (i + 1) / pieces);
  }
  for (std::thread& thread : threads) thread.join();
}
#else
void Run(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  static tbb::task_arena arena(DefaultThreadCount());
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, count, static_cast<size_t>(grain)),
        [&](const tbb::blocked_range<int64_t>& range) { body(range.begin(), range.end()); });
  });
}
#endif

}  // namespace

void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  TESSERA_CHECK(grain > 0);
  if (count <= 0) return;
  if (count <= grain) return body(0, count);
  Run(count, grain, body);
}

}  // namespace tessera
