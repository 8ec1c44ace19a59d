// When a training run saves: at which steps for good, and how long it may go without any save.
//
// Pure: steps and times come in, a decision comes out; nobody here looks at a clock.
#ifndef TESSERA_STEPS_INTERVAL_H_
#define TESSERA_STEPS_INTERVAL_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tessera::steps {

// A permanent checkpoint at every step that `every` divides, up to and including `until`.
struct CheckpointInterval {
  int64_t every = 1;
  std::optional<int64_t> until = {};  // nullopt: for ever
  friend bool operator==(const CheckpointInterval&, const CheckpointInterval&) = default;
};

struct SavePolicy {
  // The first one that reaches the step counts.  Past the last one, no step is permanent.
  std::vector<CheckpointInterval> intervals = {};
  // A temporary checkpoint when the last save is this long ago; nullopt: never.
  std::optional<std::chrono::nanoseconds> save_interval = {};
  friend bool operator==(const SavePolicy&, const SavePolicy&) = default;
};

// InvalidArgument, naming the interval, unless each `every` is at least 1, the `until`s grow and
// only the last one has none, and save_interval, if set, is more than 0.
absl::Status CheckSavePolicy(const SavePolicy& policy);

enum class SaveKind {
  kNone,
  kTemporary,  // deleted once a later one is complete
  kPermanent,
};

// "none", "temporary", "permanent".
std::string_view SaveKindName(SaveKind kind);

// Where a run stands when it asks.
struct StepState {
  int64_t step = 0;
  std::optional<int64_t> last_saved_step = {};
  // Since the last save, or since the run began.  Less than 0 where a clock was set back.
  std::chrono::nanoseconds since_last_save = std::chrono::nanoseconds(0);
  bool force = false;
};

struct SaveDecision {
  SaveKind kind = SaveKind::kNone;
  // The time since the last save counts from now, as after a save: a run begins at step 0.
  bool restart_clock = false;
  std::string reason;  // for people
  friend bool operator==(const SaveDecision&, const SaveDecision&) = default;
};

// force: permanent, whatever the step.  Else step 0 and the step that was saved last are passed
// over; else a step of the intervals is permanent; else the time decides.
// REQUIRES: CheckSavePolicy(policy) is OK; state.step is at least 0.
SaveDecision DecideSave(const SavePolicy& policy, const StepState& state);

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_INTERVAL_H_
