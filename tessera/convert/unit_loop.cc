#include "tessera/convert/unit_loop.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/core/task_group.h"

namespace tessera::convert {
namespace {

absl::Status RunPhase(std::span<const Unit> units, int workers, int64_t bytes_per_worker,
                      IoContext& io, const std::stop_token& stop, UnitWork work) {
  if (units.empty()) return absl::OkStatus();
  auto memory = io.budget().Acquire(bytes_per_worker * workers, stop);
  if (!memory.ok()) return Prefixed(memory.status(), "memory for the units of a conversion");
  std::atomic<size_t> next{0};
  TaskGroup group(io.pool(), stop);
  for (int i = 0; i < workers; ++i) {
    group.Run([&](const std::stop_token& stopped) -> absl::Status {
      UnitWorker worker;
      for (size_t u = next++; u < units.size(); u = next++) {
        if (stopped.stop_requested()) return Cancelled("stopped with units left to copy");
        TESSERA_RETURN_IF_ERROR(work(units[u], worker, stopped));
      }
      return absl::OkStatus();
    });
  }
  return group.Join();
}

int64_t BytesOf(const ConvertPlan& plan, const Unit& unit) {
  return plan.arrays[unit.array].unit.bytes;
}

}  // namespace

std::vector<Unit> UnitsOf(const ConvertPlan& plan, int rank, const UnitSet& done) {
  std::vector<Unit> units;
  for (size_t a = 0; a < plan.arrays.size(); ++a) {
    for (const UnitShare& share : plan.arrays[a].shares) {
      if (share.rank != rank) continue;
      for (int64_t i = share.begin; i < share.end; ++i) {
        if (!done.contains(Unit{a, i})) units.push_back({a, i});
      }
    }
  }
  std::stable_sort(units.begin(), units.end(), [&](const Unit& a, const Unit& b) {
    return BytesOf(plan, a) > BytesOf(plan, b);
  });
  return units;
}

absl::Status ForEachUnit(const ConvertPlan& plan, const std::vector<Unit>& units, IoContext& io,
                         std::stop_token stop, UnitWork work) {
  const MemoryPlan& memory = plan.memory;
  // Units that are larger than a worker's share have fewer workers, and come first.
  const int64_t share = memory.units / memory.workers;
  const auto middle = std::partition_point(
      units.begin(), units.end(), [&](const Unit& unit) { return BytesOf(plan, unit) > share; });
  const std::span<const Unit> large(units.begin(), middle), rest(middle, units.end());
  for (const std::span<const Unit> phase : {large, rest}) {
    if (phase.empty()) continue;
    const int64_t bytes = BytesOf(plan, phase.front());
    const int64_t fitting = memory.units / std::max<int64_t>(1, bytes);
    const int64_t most = std::min<int64_t>(memory.workers, static_cast<int64_t>(phase.size()));
    const int workers = static_cast<int>(std::clamp<int64_t>(fitting, 1, most));
    TESSERA_RETURN_IF_ERROR(RunPhase(phase, workers, bytes + 2 * kRoomBytes, io, stop, work));
  }
  return absl::OkStatus();
}

UnitReaders::UnitReaders(std::vector<SourceArray> arrays, const std::vector<Unit>& units)
    : arrays_(std::move(arrays)), slots_(arrays_.size()) {
  for (const Unit& unit : units) ++slots_[unit.array].left;
}

absl::StatusOr<UnitReaders::Reader> UnitReaders::Get(size_t array) {
  MutexLock lock(mutex_);
  Slot& slot = slots_[array];
  if (slot.reader != nullptr) return slot.reader;
  const SourceArray& source = arrays_[array];
  TESSERA_ASSIGN_OR_RETURN(
      auto reader, checkpoint::ArrayReader::Make(source.list->checkpoint, *source.array, {}));
  slot.reader = std::make_shared<const checkpoint::ArrayReader>(std::move(reader));
  return slot.reader;
}

void UnitReaders::Release(size_t array) {
  MutexLock lock(mutex_);
  Slot& slot = slots_[array];
  if (--slot.left == 0) slot.reader.reset();
}

}  // namespace tessera::convert
