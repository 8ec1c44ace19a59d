// Counts the units that are done, and tells of them now and then.
#ifndef TESSERA_CONVERT_PROGRESS_H_
#define TESSERA_CONVERT_PROGRESS_H_

#include <cstdint>
#include <vector>

#include "tessera/convert/convert.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/unit_loop.h"
#include "tessera/convert/unit_work.h"
#include "tessera/core/mutex.h"

namespace tessera::convert {

// Thread-safe.  A caller's function may be slow, so it is not called for each of many small units.
class ProgressCounter {
 public:
  ProgressCounter(const ConvertPlan& plan, const std::vector<Unit>& units,
                  ConvertProgress::Phase phase, const ConvertListener& listener)
      : listener_(listener), units_(static_cast<int64_t>(units.size())), left_(plan.arrays.size()) {
    now_.phase = phase;
    for (const Unit& unit : units) {
      const ConvertArray& array = plan.arrays[unit.array];
      now_.bytes_total += NumBytes(array.target.dtype, array.UnitBox(unit.number).shape()).value();
      if (left_[unit.array]++ == 0) ++now_.arrays_total;
    }
  }

  void Add(const Unit& unit, int64_t bytes) {
    if (listener_ == nullptr) return;
    MutexLock lock(mutex_);
    now_.bytes_done += bytes;
    if (--left_[unit.array] == 0) ++now_.arrays_done;
    const bool last = --units_ == 0;
    if (!last && now_.bytes_done - told_ < now_.bytes_total / kMostCalls) return;
    told_ = now_.bytes_done;
    listener_(now_);
  }

  UnitDone Listener() {
    return [this](const Unit& unit, int64_t bytes) { Add(unit, bytes); };
  }

 private:
  static constexpr int64_t kMostCalls = 1000;

  const ConvertListener& listener_;
  Mutex mutex_;
  int64_t units_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> left_ ABSL_GUARDED_BY(mutex_);  // units of each array
  ConvertProgress now_ ABSL_GUARDED_BY(mutex_);
  int64_t told_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_PROGRESS_H_
