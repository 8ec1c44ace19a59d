#include "tessera/probe/movers.h"

#include <algorithm>
#include <iterator>

#include "tessera/core/status.h"
#include "tessera/core/task_group.h"
#include "tessera/probe/limits.h"
#include "tessera/probe/small_files.h"

namespace tessera::probe {
namespace {

constexpr int kMostThreads = *std::max_element(std::begin(kThreads), std::end(kThreads));
constexpr int64_t kPageBytes = 4096;

int64_t MemoryFor(int64_t size) {
  int64_t most = kUsualBlock;
  for (const SpeedCase& what : AllCases(false)) {
    if (what.bytes() <= size) most = std::max(most, what.bytes());
  }
  return most;
}

Speed Summary(const SpeedCase& what, const std::vector<Moved>& moved, double seconds) {
  int64_t bytes = 0;
  std::vector<double> times;
  for (const Moved& one : moved) {
    bytes += one.bytes;
    times.insert(times.end(), one.request_ms.begin(), one.request_ms.end());
  }
  return {.way = what.way,
          .block_bytes = what.block,
          .threads = what.threads,
          .bytes_per_second = static_cast<double>(bytes) / std::max(seconds, 1e-9),
          .request_ms = LatencyOf(std::move(times)).median_ms};
}

}  // namespace

std::vector<SpeedCase> AllCases(bool direct) {
  std::vector<SpeedCase> cases;
  for (const int64_t block : kBlocks) {
    for (const int threads : kThreads) {
      cases.push_back({Way::kBuffered, block, threads});
      if (direct) cases.push_back({Way::kDirect, block, threads});
    }
  }
  return cases;
}

Movers::Movers(int64_t size, int64_t alignment)
    : pool_(kMostThreads),
      memory_(static_cast<size_t>(MemoryFor(size)),
              static_cast<size_t>(std::max(alignment, kPageBytes))) {
  memory_.FillWithNoise();
}

std::span<std::byte> Movers::noise(int64_t bytes) const {
  return memory_.span().first(static_cast<size_t>(bytes));
}

absl::StatusOr<Speed> Movers::Run(const SpeedCase& what, const std::stop_token& stop, Work work) {
  std::vector<Moved> moved(static_cast<size_t>(what.threads));
  const auto block = static_cast<size_t>(what.block);
  const Clock::time_point start = Clock::now();
  TaskGroup group(pool_, stop);
  for (size_t thread = 0; thread < moved.size(); ++thread) {
    group.Run([&, thread](const std::stop_token& stopped) -> absl::Status {
      TESSERA_ASSIGN_OR_RETURN(
          moved[thread],
          work(static_cast<int>(thread), memory_.span().subspan(thread * block, block), stopped));
      return absl::OkStatus();
    });
  }
  TESSERA_RETURN_IF_ERROR(group.Join());
  return Summary(what, moved, SecondsSince(start));
}

}  // namespace tessera::probe
