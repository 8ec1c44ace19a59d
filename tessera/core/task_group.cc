#include "tessera/core/task_group.h"

#include <deque>
#include <optional>
#include <utility>

#include "tessera/core/mutex.h"
#include "tessera/core/status.h"

namespace tessera {

// Shared with the pool's queue: a ticket there may outlive the group, and then finds no task.
struct TaskGroup::State {
  explicit State(std::stop_token outside)
      : forward(std::move(outside), [this] { stop.request_stop(); }) {}

  // Takes one waiting task and runs it.  False when none waits.
  bool RunOne();
  void Finish(absl::Status status);

  std::stop_source stop;
  std::stop_callback<std::function<void()>> forward;
  Mutex mutex;
  CondVar changed;
  std::deque<Task> waiting ABSL_GUARDED_BY(mutex);
  int running ABSL_GUARDED_BY(mutex) = 0;
  absl::Status first_error ABSL_GUARDED_BY(mutex);
  bool dropped ABSL_GUARDED_BY(mutex) = false;
};

bool TaskGroup::State::RunOne() {
  Task task;
  {
    MutexLock lock(mutex);
    if (waiting.empty()) return false;
    task = std::move(waiting.front());
    waiting.pop_front();
    ++running;
    if (stop.stop_requested()) {
      dropped = true;
      task = nullptr;
    }
  }
  Finish(task ? task(stop.get_token()) : absl::OkStatus());
  return true;
}

void TaskGroup::State::Finish(absl::Status status) {
  // Before the lock: a callback of the token may need it.
  if (!status.ok()) stop.request_stop();
  MutexLock lock(mutex);
  // A task that merely obeyed the stop has nothing to say beside the error that caused it.
  const bool obeyed = absl::IsCancelled(status) && !first_error.ok();
  if (!status.ok() && !obeyed && (first_error.ok() || absl::IsCancelled(first_error))) {
    first_error = std::move(status);
  }
  --running;
  changed.NotifyAll();
}

TaskGroup::TaskGroup(ThreadPool& pool, std::stop_token stop)
    : state_(std::make_shared<State>(std::move(stop))), pool_(pool) {}

TaskGroup::~TaskGroup() {
  Cancel();
  Join().IgnoreError();
  // A ticket may keep the state alive; an error that the caller shares must not end on its thread.
  MutexLock lock(state_->mutex);
  state_->first_error = absl::OkStatus();
}

void TaskGroup::Run(Task task) {
  {
    MutexLock lock(state_->mutex);
    state_->waiting.push_back(std::move(task));
  }
  pool_.Submit([state = state_] { state->RunOne(); });
}

absl::Status TaskGroup::Join() {
  while (state_->RunOne()) {
  }
  MutexLock lock(state_->mutex);
  while (state_->running > 0 || !state_->waiting.empty()) state_->changed.Wait(state_->mutex);
  if (!state_->first_error.ok()) return state_->first_error;
  if (state_->dropped) return Cancelled("the task group was stopped before all its tasks ran");
  return absl::OkStatus();
}

void TaskGroup::Cancel() { state_->stop.request_stop(); }

}  // namespace tessera
