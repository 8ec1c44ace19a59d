#include "tessera/array/device_copies.h"

#include <optional>
#include <utility>
#include <vector>

#include "tessera/array/reshard_rounds.h"
#include "tessera/core/mutex.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"

namespace tessera::array {
namespace {

// Long enough that starting a task costs nothing beside it, short enough that cores end together.
constexpr int64_t kTaskBytes = int64_t{2} << 20;

bool OnHost(const DeviceCopy& copy) { return copy.source.host_visible && copy.target.host_visible; }

// Copies [begin, end), or one piece of copy `begin`.
struct Task {
  int64_t begin = 0;
  int64_t end = 0;
  std::optional<Box> piece;
};

void AddPieces(int64_t index, const DeviceCopy& copy, std::vector<Task>& tasks) {
  if (!OnHost(copy)) return tasks.push_back({index, index + 1, std::nullopt});
  const StridedView& target = copy.target.view;
  for (Box& piece : CutBox(Box::Whole(target.shape), target.element_bytes, kTaskBytes)) {
    tasks.push_back({index, index + 1, std::move(piece)});
  }
}

std::vector<Task> MakeTasks(const CopyList& copies) {
  std::vector<Task> tasks;
  int64_t begin = 0, bytes = 0;
  const auto close = [&](int64_t end) {
    if (begin < end) tasks.push_back({begin, end, std::nullopt});
    begin = end;
    bytes = 0;
  };
  for (int64_t i = 0; i < copies.count; ++i) {
    const int64_t more = copies.bytes_of(i);
    if (bytes + more > kTaskBytes) close(i);
    bytes += more;
    if (more <= kTaskBytes) continue;
    AddPieces(i, copies.make(i), tasks);
    begin = i + 1;
    bytes = 0;
  }
  close(copies.count);
  return tasks;
}

device::Event StartOnDevice(const DeviceCopy& copy) {
  if (copy.target.device == nullptr) {
    return copy.source.device->copies().CopyToHost(copy.source.view, copy.target.view);
  }
  device::CopyQueue& queue = copy.target.device->copies();
  if (copy.source.device == nullptr) return queue.CopyToDevice(copy.source.view, copy.target.view);
  return queue.CopyBetween(copy.source.view, copy.source.device->id(), copy.target.view);
}

// What the devices' queues still work on.
class Pending {
 public:
  void Add(device::Event event) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
  }
  absl::Status Wait() {
    MutexLock lock(mutex_);
    return device::WaitForAll(events_);
  }

 private:
  Mutex mutex_;
  std::vector<device::Event> events_ ABSL_GUARDED_BY(mutex_);
};

void RunTask(const Task& task, const CopyList& copies, Pending& pending) {
  for (int64_t i = task.begin; i < task.end; ++i) {
    const DeviceCopy copy = copies.make(i);
    const ConstStridedView& source = copy.source.view;
    const StridedView& target = copy.target.view;
    if (!OnHost(copy)) {
      pending.Add(StartOnDevice(copy));
    } else if (task.piece.has_value()) {
      TESSERA_CHECK(CopyStrided(SubView(source, *task.piece), SubView(target, *task.piece)).ok());
    } else {
      TESSERA_CHECK(CopyStrided(source, target).ok());
    }
  }
}

}  // namespace

absl::Status RunCopies(const CopyList& copies) {
  const std::vector<Task> tasks = MakeTasks(copies);
  Pending pending;
  ParallelFor(static_cast<int64_t>(tasks.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) RunTask(tasks[static_cast<size_t>(i)], copies, pending);
  });
  return pending.Wait();
}

absl::Status RunCopies(std::span<const DeviceCopy> copies) {
  const auto at = [&](int64_t i) { return copies[static_cast<size_t>(i)]; };
  const auto bytes_of = [&](int64_t i) {
    const StridedView& target = copies[static_cast<size_t>(i)].target.view;
    return *NumElements(target.shape) * target.element_bytes;
  };
  return RunCopies({static_cast<int64_t>(copies.size()), bytes_of, at});
}

}  // namespace tessera::array
