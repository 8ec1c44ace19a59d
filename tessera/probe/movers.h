// Threads that move blocks at the same time, by the clock.
#ifndef TESSERA_PROBE_MOVERS_H_
#define TESSERA_PROBE_MOVERS_H_

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/core/thread_pool.h"
#include "tessera/probe/aligned_memory.h"
#include "tessera/probe/report.h"

namespace tessera::probe {

// What is measured: every block with every number of threads.
inline constexpr int64_t kBlocks[] = {int64_t{64} << 10, int64_t{1} << 20, int64_t{16} << 20};
inline constexpr int kThreads[] = {1, 4, 16};
inline constexpr int64_t kUsualBlock = kBlocks[1];

struct SpeedCase {
  Way way = Way::kBuffered;
  int64_t block = kUsualBlock;
  int threads = 1;

  // The least that keeps all threads busy.
  int64_t bytes() const { return block * threads; }
};

// Buffered and, with `direct`, each case right after its buffered one, so that a lack of time hits
// both alike.
std::vector<SpeedCase> AllCases(bool direct);

struct Speeds {
  std::vector<Speed> speeds = {};
  int64_t left_out = 0;  // cases for which time or size did not suffice
  double overall = 0;    // bytes a second of all together
};

// What one thread has moved.
struct Moved {
  int64_t bytes = 0;
  std::vector<double> request_ms = {};
};

class Movers {
 public:
  // For cases whose bytes() are at most `size`; `alignment` is that of O_DIRECT.
  Movers(int64_t size, int64_t alignment);

  // Moves blocks from or to the memory of a thread.
  using Work = absl::FunctionRef<absl::StatusOr<Moved>(int thread, std::span<std::byte> block,
                                                       const std::stop_token& stop)>;
  // Lets all threads of the case work at the same time.  The first error of any; Cancelled once
  // stopped.
  absl::StatusOr<Speed> Run(const SpeedCase& what, const std::stop_token& stop, Work work);

  // A block with noise in it.
  std::span<std::byte> noise(int64_t bytes) const;

 private:
  ThreadPool pool_;
  AlignedMemory memory_;
};

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_MOVERS_H_
