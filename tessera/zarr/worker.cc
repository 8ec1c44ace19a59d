#include "tessera/zarr/worker.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/task_group.h"

namespace tessera::zarr {

absl::Status ForEachCell(IoContext& io, int64_t count, int64_t bytes_per_worker, Worker& first,
                         std::stop_token stop, CellWork work) {
  std::atomic<int64_t> next{0};
  const auto run = [&](Worker& worker, const std::stop_token& stopped) -> absl::Status {
    for (int64_t i = next++; i < count; i = next++) {
      if (stopped.stop_requested()) return Cancelled("stopped with chunks left to do");
      TESSERA_RETURN_IF_ERROR(work(i, worker, stopped));
    }
    return absl::OkStatus();
  };
  if (count <= 1) return run(first, stop);
  TaskGroup group(io.pool(), std::move(stop));
  group.Run([&](const std::stop_token& stopped) { return run(first, stopped); });
  const int64_t others = std::min<int64_t>(io.pool().size(), count) - 1;
  for (int64_t i = 0; i < others; ++i) {
    group.Run([&](const std::stop_token& stopped) -> absl::Status {
      const auto memory = io.budget().TryAcquire(bytes_per_worker);
      if (!memory.has_value()) return absl::OkStatus();
      Worker worker;
      return run(worker, stopped);
    });
  }
  return group.Join();
}

absl::Status ForEachCell(IoContext& io, std::string_view name, int64_t count,
                         int64_t bytes_per_worker, std::stop_token stop, CellWork work) {
  if (count == 0) return absl::OkStatus();
  auto memory = io.budget().Acquire(bytes_per_worker, stop);
  if (!memory.ok()) {
    return Prefixed(memory.status(), Concat(name, ": memory for one chunk at a time"));
  }
  Worker worker;
  return ForEachCell(io, count, bytes_per_worker, worker, std::move(stop), work);
}

}  // namespace tessera::zarr
