// Many pieces of work, done by as many threads as the budget has memory for.
#ifndef TESSERA_CORE_WORKER_LOOP_H_
#define TESSERA_CORE_WORKER_LOOP_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/core/io_context.h"
#include "tessera/core/status.h"
#include "tessera/core/task_group.h"

namespace tessera {

// A Worker is what one thread works with, kept from piece to piece.  What it takes for a piece
// stays within what was reserved for the worker.
template <typename Worker>
using WorkerCall = absl::FunctionRef<absl::Status(int64_t i, Worker&, std::stop_token)>;

// A worker that was made for few bytes is kept by its thread for the next call: who reads very many
// small arrays would else take and give back memory for each.
template <typename Worker>
class KeptWorker {
 public:
  // So little of each buffer needs no place in the budget while nobody uses it.
  static constexpr int64_t kMostBytes = 64 << 10;

  explicit KeptWorker(int64_t bytes) : keep_(bytes <= kMostBytes) {
    if (keep_) worker_ = std::move(Spare());
    if (worker_ == nullptr) worker_ = std::make_unique<Worker>();
  }
  // What was made while this one was in use is dropped.
  ~KeptWorker() {
    if (keep_) Spare() = std::move(worker_);
  }
  KeptWorker(const KeptWorker&) = delete;
  KeptWorker& operator=(const KeptWorker&) = delete;

  Worker& get() { return *worker_; }

 private:
  static std::unique_ptr<Worker>& Spare() {
    thread_local std::unique_ptr<Worker> spare;
    return spare;
  }

  const bool keep_;
  std::unique_ptr<Worker> worker_;
};

// Calls work(i, ...) once for each i in [0, count), begun in that order, with one worker that the
// caller has reserved memory for.  Others join in when the budget has `bytes_per_worker` more, so a
// worker may call this for what its own piece consists of without anyone waiting.
template <typename Worker>
absl::Status ForEachWithWorker(IoContext& io, int64_t count, int64_t bytes_per_worker,
                               Worker& first, std::stop_token stop, WorkerCall<Worker> work) {
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
      KeptWorker<Worker> worker(bytes_per_worker);
      return run(worker.get(), stopped);
    });
  }
  return group.Join();
}

// The same by as many workers at once as the pool has threads and the budget has
// `bytes_per_worker`; by one at least, for which it waits.  ResourceExhausted, beginning with
// `name`, when the whole budget is not enough for one.
template <typename Worker>
absl::Status ForEachWithWorkers(IoContext& io, std::string_view name, int64_t count,
                                int64_t bytes_per_worker, std::stop_token stop,
                                WorkerCall<Worker> work) {
  if (count == 0) return absl::OkStatus();
  auto memory = io.budget().Acquire(bytes_per_worker, stop);
  if (!memory.ok()) {
    return Prefixed(memory.status(), Concat(name, ": memory for one chunk at a time"));
  }
  KeptWorker<Worker> worker(bytes_per_worker);
  return ForEachWithWorker<Worker>(io, count, bytes_per_worker, worker.get(), std::move(stop),
                                   work);
}

}  // namespace tessera

#endif  // TESSERA_CORE_WORKER_LOOP_H_
