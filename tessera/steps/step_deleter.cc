#include "tessera/steps/step_deleter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/steps/catalogue.h"
#include "tessera/steps/step_mark.h"

namespace tessera::steps {
namespace {

// The folders that are ours to delete.
std::vector<StepInfo> RunFolders(const Catalogue& catalogue) {
  std::vector<StepInfo> steps;
  for (const StepInfo& step : catalogue.steps) {
    if (StepOfRunFolder(step.path).has_value()) steps.push_back(step);
  }
  return steps;
}

}  // namespace

StepDeleter::StepDeleter(std::shared_ptr<store::KvStore> base, const RetentionOptions& retention)
    : base_(std::move(base)),
      retention_(retention),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

StepDeleter::~StepDeleter() {
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
  // thread_ asks to stop and joins, once this lock is gone.
}

void StepDeleter::Schedule() {
  MutexLock lock(mutex_);
  next_ = Work::kAll;
  changed_.NotifyAll();
}

void StepDeleter::ScheduleUnfinished() {
  MutexLock lock(mutex_);
  next_ = std::max(next_, Work::kUnfinished);
  changed_.NotifyAll();
}

void StepDeleter::Protect(const std::string& folder) {
  MutexLock lock(mutex_);
  protected_ = folder;
  abandoned_.erase(folder);
  while (current_ == folder) changed_.Wait(mutex_);
}

void StepDeleter::Abandon(const std::string& folder) {
  MutexLock lock(mutex_);
  abandoned_.insert(folder);
  if (protected_ == folder) protected_.clear();
}

absl::Status StepDeleter::WaitUntilFinished() {
  MutexLock lock(mutex_);
  while (busy_ || next_ != Work::kNone) changed_.Wait(mutex_);
  return std::exchange(untold_, absl::OkStatus());
}

void StepDeleter::Run(const std::stop_token& stop) {
  while (true) {
    Work work;
    {
      MutexLock lock(mutex_);
      while (next_ == Work::kNone && !ended_) changed_.Wait(mutex_);
      if (ended_) return;
      work = std::exchange(next_, Work::kNone);
      busy_ = true;
    }
    absl::Status status = DeleteAll(work, stop);
    if (!status.ok()) LogWarning("a step could not be deleted: ", status.ToString());
    MutexLock lock(mutex_);
    busy_ = false;
    if (untold_.ok()) untold_ = std::move(status);
    changed_.NotifyAll();
  }
}

absl::Status StepDeleter::DeleteAll(Work work, const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const Catalogue catalogue,
                           ReadCatalogue(*base_, "", retention_.latest_by, stop));
  const std::vector<StepInfo> steps = RunFolders(catalogue);
  std::set<std::string> folders;
  for (const StepInfo& step : steps) {
    if (step.deleting) folders.insert(step.path);
  }
  if (work == Work::kAll) {
    for (const size_t i : PlanDeletions(steps, retention_)) folders.insert(steps[i].path);
    folders.merge(TakeAbandoned(steps));
  }
  absl::Status first;
  for (const std::string& folder : folders) {
    const absl::Status status = DeleteOne(folder, stop);
    if (first.ok()) first = status;
  }
  return first;
}

std::set<std::string> StepDeleter::TakeAbandoned(const std::vector<StepInfo>& steps) {
  MutexLock lock(mutex_);
  const std::set<std::string> abandoned = std::exchange(abandoned_, {});
  std::set<std::string> folders;
  // A save may also have failed after its step was complete.
  for (const StepInfo& step : steps) {
    if (!step.committed && abandoned.contains(step.path)) folders.insert(step.path);
  }
  return folders;
}

absl::Status StepDeleter::DeleteOne(const std::string& folder, const std::stop_token& stop) {
  {
    MutexLock lock(mutex_);
    if (folder == protected_ || ended_) return absl::OkStatus();
    current_ = folder;
  }
  const absl::Status status = DeleteStep(*base_, folder, stop);
  MutexLock lock(mutex_);
  current_.clear();
  changed_.NotifyAll();
  return status;
}

}  // namespace tessera::steps
