#include "tessera/probe/memory_speed.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "tessera/core/thread_pool.h"
#include "tessera/probe/aligned_memory.h"

namespace tessera::probe {
namespace {

// Of all threads together; more than what caches hold, and little beside what machines have.
constexpr size_t kBytes = size_t{64} << 20;
constexpr size_t kPage = 4096;

// The best of several rounds, as others may use the machine, too.
double CopySpeed(std::span<const std::byte> from, std::span<std::byte> to, int threads,
                 const Limits& limits) {
  const size_t part = from.size() / static_cast<size_t>(threads);
  double best = 0;
  do {
    const Clock::time_point start = Clock::now();
    {
      std::vector<std::jthread> copiers;
      for (size_t offset = part; offset + part <= from.size(); offset += part) {
        copiers.emplace_back([=] { std::memcpy(to.data() + offset, from.data() + offset, part); });
      }
      std::memcpy(to.data(), from.data(), part);
    }
    const double copied = static_cast<double>(part) * threads;
    best = std::max(best, copied / std::max(SecondsSince(start), 1e-9));
  } while (!limits.Over());
  return best;
}

}  // namespace

MemorySpeed MeasureMemory(const Limits& limits) {
  const AlignedMemory from(kBytes, kPage);
  const AlignedMemory to(kBytes, kPage);
  from.FillWithNoise();
  to.FillWithNoise();
  MemorySpeed speed;
  speed.threads = DefaultThreadCount();
  speed.one_thread = CopySpeed(from.span(), to.span(), 1, limits.AtMost(limits.SecondsLeft() / 2));
  speed.all_threads = CopySpeed(from.span(), to.span(), speed.threads, limits);
  return speed;
}

}  // namespace tessera::probe
