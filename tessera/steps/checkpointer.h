// Checkpointer: the checkpoints of a training run, step by step.
//
// What eformer's Checkpointer promises.  A step is saved to run-<step> below the base, temporarily
// when some time has passed, for good at the steps of the policy; metadata.json says that it is
// complete and is written last.  What is not needed any more is deleted in the background, by rank
// 0, once a newer step is complete.
//
// A crash leaves a step either complete or not: a mark (step_mark.h) lies in its folder until
// metadata.json is there, so that neither eformer, which looks for metadata.json alone, nor the
// catalogue, which would count a committed index as well, takes it for a checkpoint before.  The
// next save of that step replaces what is left.  Saving a step again that is complete keeps the old
// one until the new one is committed if it is one tree; of several, the step is not complete while
// they are replaced one after the other.
#ifndef TESSERA_STEPS_CHECKPOINTER_H_
#define TESSERA_STEPS_CHECKPOINTER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/steps/catalogue.h"
#include "tessera/steps/interval.h"
#include "tessera/steps/manager.h"
#include "tessera/steps/retention.h"
#include "tessera/steps/step_deleter.h"

namespace tessera::steps {

struct CheckpointerOptions {
  SavePolicy policy = {};
  RetentionOptions retention = {};
};

struct CheckpointerResources {
  ManagerResources manager = {};
  // For what the ranks agree on at each step, while manager.comm may be in use by a save.  Needed
  // for several ranks and a save_interval, since only one clock can decide; the steps of a policy
  // without it are the same on all ranks.
  comm::Comm* decisions = nullptr;
};

using StepSaves = std::vector<Future<checkpoint::SaveReport>>;

struct StepResult {
  SaveDecision decision;
  StepSaves saves = {};  // one for each tree
};

struct LoadedStep {
  StepInfo step;
  LoadedTree loaded;
};

// Used by one thread at a time; collective as Saver is.
class Checkpointer {
 public:
  // `base_path` is made when it is not there.  Deletions that were begun and not ended are ended in
  // the background.  InvalidArgument as CheckSavePolicy and CheckRetentionOptions, and when
  // `decisions` is missing.  An error of one rank is everybody's.
  static absl::StatusOr<std::unique_ptr<Checkpointer>> Open(
      std::string_view base_path, const CheckpointerOptions& options,
      const CheckpointerResources& resources = {});
  // The root of the store is the base.
  static absl::StatusOr<std::unique_ptr<Checkpointer>> Open(
      absl::StatusOr<StorePtr> base, const CheckpointerOptions& options,
      const CheckpointerResources& resources = {});
  // Waits for the save that runs, and stops deletions, which the next run ends.
  ~Checkpointer();

  // Called at every step.  Rank 0 decides by the policy, and all save or none.  Returns when the
  // trees are snapshotted, and waits for the save before if it still runs.  What a save in the
  // background has failed with is returned by the next call that is made after it has ended, once,
  // and nothing is saved; the step and the time then count as not saved.  With several ranks and
  // without `decisions` it is returned by the next call that would save.
  absl::StatusOr<StepResult> OnStep(int64_t step, std::span<const TreePart> trees,
                                    bool force = false);
  absl::StatusOr<StepResult> OnStep(int64_t step, const array::ValueTree& tree, bool force = false);

  // Saves whatever the policy says.
  absl::StatusOr<StepSaves> SaveCheckpoint(int64_t step, std::span<const TreePart> trees,
                                           bool temporary = false);
  absl::StatusOr<StepSaves> SavePytree(int64_t step, const array::ValueTree& tree,
                                       const TreeSaveOptions& options = {}, bool temporary = false);

  // The latest complete step, or the given one.  OnStep then takes it for saved.  NotFound, with
  // the complete ones there are, without such a step.  Waits for the save that runs and returns its
  // error.
  absl::StatusOr<LoadedStep> LoadCheckpoint(const TreeLoadOptions& options = {},
                                            std::optional<int64_t> step = {},
                                            std::stop_token stop = {});
  absl::StatusOr<LoadedStep> LoadPytree(const PytreeLoadOptions& options = {},
                                        std::optional<int64_t> step = {},
                                        std::stop_token stop = {});

  // Returns when nothing is saved and nothing is deleted: with the error of the last save, else,
  // on rank 0, of a deletion, which is tried again after the next save.
  absl::Status WaitUntilFinished();

  // All steps there are, on disk and now.
  absl::StatusOr<Catalogue> Discover(std::stop_token stop = {});

 private:
  Checkpointer(StorePtr base, std::string base_path, const comm::Limit& limit,
               const CheckpointerOptions& options, const CheckpointerResources& resources);
  static absl::StatusOr<std::unique_ptr<Checkpointer>> Make(absl::StatusOr<StorePtr> base,
                                                            std::string base_path,
                                                            const CheckpointerOptions& options,
                                                            const CheckpointerResources& resources);

  absl::StatusOr<SaveDecision> Decide(int64_t step, bool force);
  SaveDecision DecideHere(int64_t step, bool force) const;
  // Waits for the last save.  After an error the one before it is the last.
  absl::Status FailureOfLastSave();
  absl::StatusOr<StepSaves> Save(int64_t step, std::span<const TreePart> trees, bool temporary);
  void CompleteAfter(std::vector<TreePart>& parts, int64_t step, bool temporary);
  absl::Status PrepareFolder(const std::string& folder, size_t trees);
  void UndoFolder(const std::string& folder);
  absl::Status Complete(int64_t step, bool temporary);
  absl::StatusOr<StorePtr> StoreOf(const std::string& folder) const;
  std::string PathOf(const std::string& folder) const;
  absl::StatusOr<StepInfo> Choose(std::optional<int64_t> step, const std::stop_token& stop);
  absl::StatusOr<StepInfo> AgreeOnStep(std::optional<int64_t> step, const std::stop_token& stop);
  absl::StatusOr<std::string> FromRankZero(comm::Comm& comm,
                                           const absl::StatusOr<std::string>& mine) const;
  bool IsRankZero() const { return comm_ == nullptr || comm_->rank() == 0; }

  struct LastSave {
    std::optional<int64_t> step = {};
    std::chrono::system_clock::time_point time = {};
  };

  const StorePtr base_;
  const std::string base_path_;  // empty: the store tells
  const CheckpointerOptions options_;
  const comm::Limit limit_;
  comm::Comm* const comm_;       // nullptr: alone
  comm::Comm* const decisions_;  // nullptr: none
  WallClock clock_;
  LastSave last_;                            // that was started
  LastSave before_;                          // what counts if it fails
  std::string folder_;                       // of the last save
  bool was_complete_ = false;                // before that save
  std::optional<std::string> old_metadata_;  // which it has taken away
  std::unique_ptr<StepDeleter> deleter_;     // rank 0's
  CheckpointManager manager_;                // last: its saves use all of the above
};

// The latest complete checkpoint below a path, or the path itself; `path` of the result is
// complete, with the scheme of `base_path`.  nullopt: there is none, or no such folder.
absl::StatusOr<std::optional<StepInfo>> FindLatestCheckpoint(std::string_view base_path,
                                                             LatestBy latest_by = LatestBy::kStep,
                                                             std::stop_token stop = {});

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_CHECKPOINTER_H_
