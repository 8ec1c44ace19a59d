#include "tessera/steps/interval.h"

#include "tessera/core/status.h"

namespace tessera::steps {
namespace {

const CheckpointInterval* IntervalAt(const SavePolicy& policy, int64_t step) {
  for (const CheckpointInterval& interval : policy.intervals) {
    if (!interval.until.has_value() || *interval.until >= step) return &interval;
  }
  return nullptr;
}

// Seconds, for people.
double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

SaveDecision DecideByStepAndTime(const SavePolicy& policy, const StepState& state) {
  const CheckpointInterval* interval = IntervalAt(policy, state.step);
  if (interval != nullptr && state.step % interval->every == 0) {
    return {SaveKind::kPermanent, false,
            Concat("step ", state.step, " is a multiple of ", interval->every)};
  }
  if (policy.save_interval.has_value() && state.since_last_save >= *policy.save_interval) {
    return {SaveKind::kTemporary, false,
            Concat("the last save was ", Seconds(state.since_last_save), " s ago, the interval is ",
                   Seconds(*policy.save_interval), " s")};
  }
  return {SaveKind::kNone, false, "neither a step nor the time to save"};
}

}  // namespace

absl::Status CheckSavePolicy(const SavePolicy& policy) {
  for (size_t i = 0; i < policy.intervals.size(); ++i) {
    const CheckpointInterval& interval = policy.intervals[i];
    if (interval.every < 1) {
      return InvalidArgument("intervals[", i, "].every: expected at least 1, found ",
                             interval.every);
    }
    if (!interval.until.has_value() && i + 1 < policy.intervals.size()) {
      return InvalidArgument("intervals[", i, "].until: only the last interval may go on for ever");
    }
    if (i == 0 || !interval.until.has_value()) continue;
    const int64_t before = *policy.intervals[i - 1].until;
    if (*interval.until <= before) {
      return InvalidArgument("intervals[", i, "].until: expected more than the ", before,
                             " before it, found ", *interval.until);
    }
  }
  if (policy.save_interval.has_value() && policy.save_interval->count() <= 0) {
    return InvalidArgument("save_interval: expected more than 0 s, found ",
                           Seconds(*policy.save_interval), " s");
  }
  return absl::OkStatus();
}

std::string_view SaveKindName(SaveKind kind) {
  switch (kind) {
    case SaveKind::kNone:
      return "none";
    case SaveKind::kTemporary:
      return "temporary";
    case SaveKind::kPermanent:
      break;
  }
  return "permanent";
}

SaveDecision DecideSave(const SavePolicy& policy, const StepState& state) {
  TESSERA_CHECK(state.step >= 0);
  const bool first = state.step == 0;
  if (state.force) return {SaveKind::kPermanent, first, "it was asked for"};
  if (first) return {SaveKind::kNone, true, "step 0 is where the run begins"};
  if (state.step == state.last_saved_step) {
    return {SaveKind::kNone, false, Concat("step ", state.step, " is saved already")};
  }
  return DecideByStepAndTime(policy, state);
}

}  // namespace tessera::steps
