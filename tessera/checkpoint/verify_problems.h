// Problems that many threads find.
#ifndef TESSERA_CHECKPOINT_VERIFY_PROBLEMS_H_
#define TESSERA_CHECKPOINT_VERIFY_PROBLEMS_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tessera/checkpoint/verify.h"
#include "tessera/core/mutex.h"

namespace tessera::checkpoint {

// Thread-safe.
class Problems {
 public:
  void Add(std::string key, std::string file, std::string problem) {
    MutexLock lock(mutex_);
    problems_.push_back({std::move(key), std::move(file), std::move(problem)});
  }
  bool empty() const {
    MutexLock lock(mutex_);
    return problems_.empty();
  }
  // By file.
  std::vector<VerifyProblem> Sorted() && {
    MutexLock lock(mutex_);
    std::stable_sort(
        problems_.begin(), problems_.end(),
        [](const VerifyProblem& a, const VerifyProblem& b) { return a.file < b.file; });
    return std::move(problems_);
  }

 private:
  mutable Mutex mutex_;
  std::vector<VerifyProblem> problems_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_VERIFY_PROBLEMS_H_
