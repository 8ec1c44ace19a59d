#include "tessera/core/semaphore.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Short turns of more threads than the count: where wake-ups are lost, it may not end.
TEST(SemaphoreTest, NoMoreThanTheCountAreInsideAndEveryoneGetsIn) {
  constexpr int kCount = 2, kThreads = 8, kTurns = 20'000;
  Semaphore semaphore(kCount);
  std::atomic<int> inside = 0, most = 0, turns = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        semaphore.Acquire();
        const int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) continue;
        ++turns;
        --inside;
        semaphore.Release();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(turns, kThreads * kTurns);
  EXPECT_LE(most, kCount);
}

}  // namespace
}  // namespace tessera
