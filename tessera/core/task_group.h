// TaskGroup: many blocking calls at once; the first error stops the rest.
#ifndef TESSERA_CORE_TASK_GROUP_H_
#define TESSERA_CORE_TASK_GROUP_H_

#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "tessera/core/thread_pool.h"

namespace tessera {

// Tasks on a pool that belong together.  Run and Cancel are thread-safe.  A task may make a group
// of its own on the same pool: Join works on its own group's tasks instead of only waiting, so
// nested groups cannot starve each other.
class TaskGroup {
 public:
  // A task asks the token now and then, and returns early once stop is requested.
  using Task = std::function<absl::Status(std::stop_token)>;

  // `stop` from outside stops this group, too.  The pool must outlive the group.
  explicit TaskGroup(ThreadPool& pool, std::stop_token stop = {});

  // Cancels what has not begun and waits for the rest.
  ~TaskGroup();

  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts `task` when a thread is free.  Once the group is stopped, tasks are dropped unrun.
  void Run(Task task);

  // Waits until every task has ended or was dropped.  The first error of any task; Cancelled when
  // the group was stopped from outside before all had run; else OK.  The group may be used again
  // after an OK.
  absl::Status Join();

  void Cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
  ThreadPool& pool_;
};

}  // namespace tessera

#endif  // TESSERA_CORE_TASK_GROUP_H_
