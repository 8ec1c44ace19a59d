// The work of a load: arrays are read side by side and handed over one after the other.
#ifndef TESSERA_CHECKPOINT_LOAD_RUN_H_
#define TESSERA_CHECKPOINT_LOAD_RUN_H_

#include <optional>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/load_report.h"
#include "tessera/core/mutex.h"

namespace tessera::checkpoint {

// Everything is lent.
struct LoadJob {
  const Checkpoint& checkpoint;
  const LoadPlan& plan;
  const LoadContext& context;
  const LoadOptions& options;
  std::stop_token stop;

  const CheckpointArray& ArrayOf(size_t i) const {
    return checkpoint.arrays()[static_cast<size_t>(plan.arrays[i].array)];
  }
};

// Takes arrays as they arrive, in any order, and calls back in the order of the plan.  Thread-safe.
class Deliveries {
 public:
  explicit Deliveries(const LoadJob& job) : job_(job), waiting_(job.plan.arrays.size()) {}

  // Array number i has arrived.  The error of a callback, behind the array's name.
  absl::Status Deliver(size_t i, array::ShardedArray array, ArrayReport report);

  // All values, by their place in the plan, and what was read for them.  REQUIRES: all were
  // delivered.
  std::vector<array::Value> Take(LoadReport& report) &&;

 private:
  absl::Status CallBack();

  const LoadJob& job_;
  Mutex mutex_;
  std::vector<std::optional<array::Value>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<ArrayReport> reports_ ABSL_GUARDED_BY(mutex_);
  LoadReport total_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // to call back with
  bool calling_ ABSL_GUARDED_BY(mutex_) = false;
};

// Arrays [begin, end) of one batch.
struct Batch {
  size_t begin = 0;
  size_t end = 0;
};
std::vector<Batch> BatchesOf(size_t arrays, int64_t chunk_size);

// Each process reads what it needs.
absl::StatusOr<std::vector<array::Value>> RunLoad(const LoadJob& job, LoadReport& report);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_RUN_H_
