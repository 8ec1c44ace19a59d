#include "tessera/checkpoint/snapshot_copies.h"

#include <optional>
#include <vector>

#include "tessera/array/convert_strided.h"
#include "tessera/core/mutex.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/device/pieces.h"
#include "tessera/device/stream_copy.h"

namespace tessera::checkpoint {
namespace {

// Long enough that starting a task costs nothing beside it, short enough that cores end together.
constexpr int64_t kTaskBytes = int64_t{4} << 20;
// Copies of this size together leave little of themselves in the caches.
constexpr int64_t kStreamBytes = int64_t{16} << 20;

int64_t BytesOf(const SnapshotCopy& copy) {
  return *NumElements(copy.target.shape) * copy.target.element_bytes;
}

// Copies [begin, end), or one piece of copy `begin`.
struct Task {
  size_t begin = 0;
  size_t end = 0;
  std::optional<Box> piece = {};
};

class HostCopies {
 public:
  explicit HostCopies(std::span<const SnapshotCopy> copies) : copies_(copies) {
    for (size_t i = 0; i < copies.size(); ++i) {
      if (copies[i].device == nullptr) Add(i, BytesOf(copies[i]));
    }
    Close();
  }

  absl::Status Run() {
    ParallelFor(static_cast<int64_t>(tasks_.size()), 1, [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) RunTask(tasks_[static_cast<size_t>(i)]);
    });
    MutexLock lock(mutex_);
    return first_;
  }

 private:
  void Add(size_t i, int64_t bytes) {
    total_ += bytes;
    if (bytes > kTaskBytes) {
      Close();
      const StridedView& target = copies_[i].target;
      const device::PieceGrid pieces(target.shape, target.strides, bytes / kTaskBytes + 1);
      for (int64_t p = 0; p < pieces.count(); ++p) tasks_.push_back({i, i + 1, pieces[p]});
      return;
    }
    if (i != open_.end || open_bytes_ + bytes > kTaskBytes) Close();
    if (open_.begin == open_.end) open_.begin = i;
    open_.end = i + 1;
    open_bytes_ += bytes;
  }
  void Close() {
    if (open_.begin != open_.end) tasks_.push_back(open_);
    open_ = {};
    open_bytes_ = 0;
  }

  void RunTask(const Task& task) {
    for (size_t i = task.begin; i < task.end; ++i) {
      const SnapshotCopy& copy = copies_[i];
      const absl::Status status =
          task.piece.has_value()
              ? Copy(copy, SubView(copy.source, *task.piece), SubView(copy.target, *task.piece))
              : Copy(copy, copy.source, copy.target);
      if (status.ok()) continue;
      MutexLock lock(mutex_);
      first_.Update(status);
    }
  }

  absl::Status Copy(const SnapshotCopy& copy, const ConstStridedView& source,
                    const StridedView& target) const {
    if (copy.from != copy.to) return array::ConvertStrided(copy.from, source, copy.to, target);
    const bool streams = copy.memory == device::TargetMemory::kTouched && total_ >= kStreamBytes;
    return streams ? device::StreamStrided(source, target) : CopyStrided(source, target);
  }

  const std::span<const SnapshotCopy> copies_;
  int64_t total_ = 0;
  std::vector<Task> tasks_;
  Task open_;  // of small copies
  int64_t open_bytes_ = 0;
  Mutex mutex_;
  absl::Status first_ ABSL_GUARDED_BY(mutex_);
};

// Through staging memory, one at a time: a conversion needs the elements where the host sees them.
absl::Status ConvertFromDevice(const SnapshotCopy& copy) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(copy.from, copy.source.shape));
  TESSERA_ASSIGN_OR_RETURN(const device::WritableBuffer staging,
                           copy.device->AllocateStaging(bytes));
  const StridedView staged =
      RowMajorView(staging.data(), copy.source.shape, copy.source.element_bytes);
  TESSERA_RETURN_IF_ERROR(copy.device->copies().CopyToHost(copy.source, staged).Wait());
  return array::ConvertStrided(copy.from, AsConst(staged), copy.to, copy.target);
}

}  // namespace

absl::Status RunSnapshotCopies(std::span<const SnapshotCopy> copies) {
  std::vector<device::Event> events;
  for (const SnapshotCopy& copy : copies) {
    if (copy.device == nullptr || copy.from != copy.to) continue;
    events.push_back(copy.device->copies().CopyToHost(copy.source, copy.target));
  }
  absl::Status first = HostCopies(copies).Run();
  for (const SnapshotCopy& copy : copies) {
    if (copy.device == nullptr || copy.from == copy.to || !first.ok()) continue;
    first.Update(ConvertFromDevice(copy));
  }
  first.Update(device::WaitForAll(events));
  return first;
}

}  // namespace tessera::checkpoint
