// Problems that many threads, and many ranks, find.
#ifndef TESSERA_CHECKPOINT_VERIFY_PROBLEMS_H_
#define TESSERA_CHECKPOINT_VERIFY_PROBLEMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/core/hash128.h"
#include "tessera/core/mutex.h"

namespace tessera::checkpoint {

// A problem, and which piece of the work has it: those of one file are reported in this order.
struct Finding {
  int64_t piece = 0;
  VerifyProblem problem;
};

// Thread-safe.
class Problems {
 public:
  void Add(std::string key, std::string file, std::string problem, int64_t piece = 0) {
    MutexLock lock(mutex_);
    findings_.push_back({piece, {std::move(key), std::move(file), std::move(problem)}});
  }
  std::vector<Finding> Take() {
    MutexLock lock(mutex_);
    return std::exchange(findings_, {});
  }

 private:
  Mutex mutex_;
  std::vector<Finding> findings_ ABSL_GUARDED_BY(mutex_);
};

// What one rank has to say.  What all ranks find alike is rank 0's to tell.
struct RankFindings {
  VerifyReport counts;  // without problems
  std::vector<Finding> findings;
  std::optional<VerifyProblem> if_no_other = {};  // a problem that others would explain
  // Of all pieces of the work: ranks that have another one do not look at the same checkpoint.
  Hash128 work = {};
};

// The report of all ranks, on every rank; also of one that is alone.  Collective with a comm: a
// rank that could not look brings its error, which is then the error of all.  Aborted when the
// ranks saw different checkpoints.
absl::StatusOr<VerifyReport> JoinFindings(const VerifyOptions& options,
                                          absl::StatusOr<RankFindings> mine);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_VERIFY_PROBLEMS_H_
