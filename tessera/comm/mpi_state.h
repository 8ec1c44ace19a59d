// What the parts of the MPI engine share.  For sources of this room only.
#ifndef TESSERA_COMM_MPI_STATE_H_
#define TESSERA_COMM_MPI_STATE_H_

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

#include "absl/status/status.h"

namespace tessera::comm {

// Thread-safe but for the construction.
struct MpiState {
  bool owned = false;  // initialised here, so to be finalised here
  int thread_level = MPI_THREAD_SINGLE;
  MPI_Comm farewell = MPI_COMM_NULL;  // where an owner meets the others before the end

  std::atomic<bool> unclean = false;       // some Comm ended with calls that were never completed
  std::atomic<bool> holds_memory = false;  // a call failed whose memory MPI has not given back
};

// The status for what an MPI function returned.
absl::Status MpiStatus(int code, std::string_view function);

// Lets time pass between two looks at MPI, which tells nobody when something has happened.  Sleeps
// an eighth of what was waited already, so a short wait stays short and a long one costs nothing.
class Pause {
 public:
  explicit Pause(std::chrono::nanoseconds longest) : longest_(longest) {}

  // Something has happened, so more may follow soon.
  void Reset() { *this = Pause(longest_); }

  void Sleep() {
    constexpr int kYields = 32;
    if (++count_ <= kYields) return std::this_thread::yield();
    std::this_thread::sleep_for(
        std::min(longest_, (std::chrono::steady_clock::now() - begin_) / 8));
  }

 private:
  std::chrono::nanoseconds longest_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int count_ = 0;
};

}  // namespace tessera::comm

#endif  // TESSERA_COMM_MPI_STATE_H_
