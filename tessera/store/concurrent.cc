#include "tessera/store/concurrent.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/task_group.h"

namespace tessera::store {

absl::Status ForEachIndex(ThreadPool& pool, int width, size_t count, std::string_view what,
                          std::stop_token stop,
                          absl::FunctionRef<absl::Status(size_t, const std::stop_token&)> body) {
  std::atomic<size_t> next{0};
  std::atomic<size_t> done{0};
  const auto work = [&](const std::stop_token& token) -> absl::Status {
    for (size_t i = next++; i < count; i = next++) {
      if (token.stop_requested()) return Cancelled(what, ": stopped");
      TESSERA_RETURN_IF_ERROR(body(i, token));
      ++done;
    }
    return absl::OkStatus();
  };
  const size_t workers = std::min(count, static_cast<size_t>(width));
  absl::Status status;
  if (workers <= 1) {
    status = work(stop);  // no other thread is woken for it
  } else {
    TaskGroup group(pool, std::move(stop));
    for (size_t i = 0; i < workers; ++i) group.Run(work);
    status = group.Join();
  }
  // A stop that came after the last one is no news.
  if (done == count) return absl::OkStatus();
  return absl::IsCancelled(status) ? Cancelled(what, ": stopped") : status;
}

absl::StatusOr<std::vector<ReadResult>> ReadManyOn(ThreadPool& pool, int width, KvStore& store,
                                                   std::span<const ReadRequest> requests,
                                                   std::stop_token stop) {
  std::vector<ReadResult> results(requests.size());
  TESSERA_RETURN_IF_ERROR(ForEachIndex(
      pool, width, requests.size(), "reading many values", std::move(stop),
      [&](size_t i, const std::stop_token& token) -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(results[i], store.Read(requests[i].key, requests[i].range, token));
        return absl::OkStatus();
      }));
  return results;
}

absl::StatusOr<std::vector<ReadResult>> ReadOneByOne(KvStore& store,
                                                     std::span<const ReadRequest> requests,
                                                     std::stop_token stop) {
  std::vector<ReadResult> results;
  results.reserve(requests.size());
  for (const ReadRequest& request : requests) {
    if (stop.stop_requested()) return Cancelled("reading many values: stopped");
    TESSERA_ASSIGN_OR_RETURN(ReadResult result, store.Read(request.key, request.range, stop));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace tessera::store
