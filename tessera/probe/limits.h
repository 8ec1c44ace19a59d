// How long a part of the probe may go on.
#ifndef TESSERA_PROBE_LIMITS_H_
#define TESSERA_PROBE_LIMITS_H_

#include <algorithm>
#include <chrono>
#include <stop_token>

namespace tessera::probe {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline Clock::time_point After(Clock::time_point start, double seconds) {
  return start +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

struct Limits {
  Clock::time_point deadline;
  std::stop_token stop;

  bool Over() const { return stop.stop_requested() || Clock::now() >= deadline; }
  double SecondsLeft() const {
    return std::max(0.0, std::chrono::duration<double>(deadline - Clock::now()).count());
  }
  // The same, but no longer than `seconds` from now.
  Limits AtMost(double seconds) const {
    return {std::min(deadline, After(Clock::now(), seconds)), stop};
  }
};

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_LIMITS_H_
