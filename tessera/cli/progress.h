// ProgressLine: how far long work has come, on stderr.
#ifndef TESSERA_CLI_PROGRESS_H_
#define TESSERA_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tessera/cli/terminal.h"
#include "tessera/core/mutex.h"

namespace tessera::cli {

struct ProgressState {
  int64_t bytes_done = 0;
  int64_t bytes_total = 0;
  int64_t arrays_done = 0;
  int64_t arrays_total = 0;  // 0: not counted
};

// "verifying  1.20 GiB of 4.00 GiB (30%)  12 of 40 arrays  1.10 GB/s  3 s left", no wider than
// `columns` unless that is 0.  `seconds` is the time since the work began.
std::string ProgressText(const std::string& what, const ProgressState& state, double seconds,
                         int columns);

// One line that is drawn again on a terminal, a few times a second; elsewhere a line every few
// seconds.  Work that is done sooner is not told of.  Thread-safe.
class ProgressLine {
 public:
  // `descriptor` below 0: silent.
  ProgressLine(std::string what, int descriptor, const Terminal& terminal);
  ~ProgressLine() { Done(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Update(const ProgressState& state);
  // Another part of the work, which is counted anew.
  void Begin(std::string what);
  // Takes the line away; nothing is shown after.
  void Done();

 private:
  using Clock = std::chrono::steady_clock;

  void Draw(const ProgressState& state, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int descriptor_;
  const Terminal terminal_;
  Mutex mutex_;
  std::string what_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point begin_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point next_ ABSL_GUARDED_BY(mutex_);
  bool drawn_ ABSL_GUARDED_BY(mutex_) = false;  // a line stands on the terminal
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera::cli

#endif  // TESSERA_CLI_PROGRESS_H_
