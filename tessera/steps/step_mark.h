// A mark in the folder of a step: that a Checkpointer has not finished with it.
//
// It lies there from before the first save of the step until after metadata.json is written, and
// while the step is deleted.  So a step of several prefixes counts only once all are there, and one
// that is half deleted never, whoever is interrupted when.
#ifndef TESSERA_STEPS_STEP_MARK_H_
#define TESSERA_STEPS_STEP_MARK_H_

#include <optional>
#include <stop_token>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/store/kv_store.h"

namespace tessera::steps {

enum class StepMark { kSaving, kDeleting };

// In the folder of the step.
inline constexpr std::string_view kStepMarkName = ".tessera/step.json";

// The mark in `folder`; nullopt without one.  What cannot be read is taken for kSaving, which
// nothing is done about.  Errors of the store.
absl::StatusOr<std::optional<StepMark>> ReadStepMark(store::KvStore& store, std::string_view folder,
                                                     std::stop_token stop = {});

// Durable when it returns.
absl::Status WriteStepMark(store::KvStore& store, std::string_view folder, StepMark mark,
                           std::stop_token stop = {});

absl::Status RemoveStepMark(store::KvStore& store, std::string_view folder,
                            std::stop_token stop = {});

// Deletes the folder of a step so that it can be interrupted anywhere: from the mark on nobody
// takes it for a checkpoint, also not eformer, as metadata.json goes first, then the index; the
// mark goes last, so that DeleteStep can be called again.  FailedPrecondition, and nothing is
// touched, when a save that may be alive works there.
absl::Status DeleteStep(store::KvStore& store, std::string_view folder, std::stop_token stop = {});

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_STEP_MARK_H_
