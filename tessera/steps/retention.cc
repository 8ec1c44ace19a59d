#include "tessera/steps/retention.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera::steps {
namespace {

bool IsKeptByStep(const StepInfo& step, const RetentionOptions& options) {
  return options.keep_every.has_value() && *step.step % *options.keep_every == 0;
}

}  // namespace

absl::Status CheckRetentionOptions(const RetentionOptions& options) {
  if (options.keep_last.has_value() && *options.keep_last < 0) {
    return InvalidArgument("keep_last: expected at least 0, found ", *options.keep_last);
  }
  if (options.keep_every.has_value() && *options.keep_every < 1) {
    return InvalidArgument("keep_every: expected at least 1, found ", *options.keep_every);
  }
  if (options.keep_every.has_value() && !options.keep_last.has_value()) {
    return InvalidArgument("keep_every: without keep_last every permanent checkpoint is kept");
  }
  return absl::OkStatus();
}

std::vector<size_t> PlanDeletions(std::span<const StepInfo> steps,
                                  const RetentionOptions& options) {
  std::vector<size_t> deletions;
  int64_t kept = 0;
  bool is_latest = true;
  for (const size_t position : LatestFirst(steps, options.latest_by)) {
    const StepInfo& step = steps[position];
    const bool is_known = step.metadata_readable && step.step.has_value();
    const bool counts = is_known && !step.temporary && !IsKeptByStep(step, options);
    const bool too_many = counts && options.keep_last.has_value() && kept++ >= *options.keep_last;
    const bool needless = is_known && step.temporary && options.delete_temporary;
    if ((too_many || needless) && !is_latest) deletions.push_back(position);
    is_latest = false;
  }
  std::sort(deletions.begin(), deletions.end());
  return deletions;
}

}  // namespace tessera::steps
