// Which checkpoints of a run may go once a newer one is complete.
//
// Pure: the list comes in, what to delete comes out.
#ifndef TESSERA_STEPS_RETENTION_H_
#define TESSERA_STEPS_RETENTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "tessera/steps/step_info.h"

namespace tessera::steps {

struct RetentionOptions {
  // The newest so many permanent checkpoints are kept; nullopt: all of them.
  std::optional<int64_t> keep_last = {};
  // With keep_last: permanent ones whose step this divides are kept besides, and do not count.
  std::optional<int64_t> keep_every = {};
  // Temporary ones that a newer complete one has made needless go.
  bool delete_temporary = true;
  LatestBy latest_by = LatestBy::kStep;
};

// InvalidArgument, naming the option, when keep_last is below 0, keep_every below 1 or keep_every
// stands without keep_last.
absl::Status CheckRetentionOptions(const RetentionOptions& options);

// The positions of what may be deleted, in the order of `steps`.  Never among them: the latest
// complete checkpoint, whether it counts or not; what is not complete, as it may be a save of
// another process that is going on; and what has no step or no readable metadata, as nobody knows
// how old it is.  REQUIRES: CheckRetentionOptions(options) is OK.
std::vector<size_t> PlanDeletions(std::span<const StepInfo> steps, const RetentionOptions& options);

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_RETENTION_H_
