// StepDeleter: deletes the steps of a run that nobody needs, in the background.
#ifndef TESSERA_STEPS_STEP_DELETER_H_
#define TESSERA_STEPS_STEP_DELETER_H_

#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "tessera/core/mutex.h"
#include "tessera/steps/retention.h"
#include "tessera/store/kv_store.h"

namespace tessera::steps {

// Only folders run-<step> directly below the root of the store are ever deleted: those that
// PlanDeletions names, those whose deletion was begun and not ended, and those given up by Abandon.
// Never one in which a save may be alive.  Thread-safe.
class StepDeleter {
 public:
  // The store's root is the base of the run.
  StepDeleter(std::shared_ptr<store::KvStore> base, const RetentionOptions& retention);
  // Stops; what was begun is ended by the next run.
  ~StepDeleter();
  StepDeleter(const StepDeleter&) = delete;
  StepDeleter& operator=(const StepDeleter&) = delete;

  // Looks for what may go, soon.
  void Schedule();
  // Only for what was begun before: a run that starts does not know yet what it will need.
  void ScheduleUnfinished();

  // Returns once `folder` is not being deleted, and keeps it from being so until the next call.
  void Protect(const std::string& folder);
  // A save to `folder` has failed: if that left it incomplete it goes with the next Schedule,
  // unless it is protected again.
  void Abandon(const std::string& folder);

  // Returns when nothing is left to do: with the first error since the last call.
  absl::Status WaitUntilFinished();

 private:
  enum class Work { kNone, kUnfinished, kAll };
  void Run(const std::stop_token& stop);
  absl::Status DeleteAll(Work work, const std::stop_token& stop);
  std::set<std::string> TakeAbandoned(const std::vector<StepInfo>& steps);
  absl::Status DeleteOne(const std::string& folder, const std::stop_token& stop);

  const std::shared_ptr<store::KvStore> base_;
  const RetentionOptions retention_;
  Mutex mutex_;
  CondVar changed_;
  Work next_ ABSL_GUARDED_BY(mutex_) = Work::kNone;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::string current_ ABSL_GUARDED_BY(mutex_);
  std::string protected_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> abandoned_ ABSL_GUARDED_BY(mutex_);
  absl::Status untold_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;  // last, as it uses all of the above
};

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_STEP_DELETER_H_
