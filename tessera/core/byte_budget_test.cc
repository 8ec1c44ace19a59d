#include "tessera/core/byte_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ByteBudgetTest, GivesBackWhatAReservationHeld) {
  ByteBudget budget(100);
  {
    TESSERA_ASSERT_OK_AND_ASSIGN(ByteBudget::Reservation held, budget.Acquire(60));
    EXPECT_EQ(budget.in_use(), 60);
    EXPECT_FALSE(budget.TryAcquire(41).has_value());
    EXPECT_TRUE(budget.TryAcquire(40).has_value());
    const ByteBudget::Reservation moved = std::move(held);
    EXPECT_EQ(budget.in_use(), 60);
  }
  EXPECT_EQ(budget.in_use(), 0);
  EXPECT_EQ(budget.peak(), 100);
}

TEST(ByteBudgetTest, RefusesMoreThanTheWholeBudget) {
  ByteBudget budget(100);
  EXPECT_THAT(budget.Acquire(101), StatusIs(absl::StatusCode::kResourceExhausted,
                                            HasSubstr("101 bytes cannot fit the budget of 100")));
}

TEST(ByteBudgetTest, AWaiterStopsWhenAsked) {
  ByteBudget budget(10);
  TESSERA_ASSERT_OK_AND_ASSIGN(const ByteBudget::Reservation held, budget.Acquire(10));
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  EXPECT_THAT(budget.Acquire(1, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("waiting for 1 bytes")));
  stopper.join();
}

TEST(ByteBudgetTest, ALargeRequestIsNotOvertakenByLaterSmallOnes) {
  ByteBudget budget(10);
  auto first = budget.TryAcquire(5);
  std::atomic<bool> large_served{false};
  std::thread large([&] {
    auto held = budget.Acquire(10);
    EXPECT_THAT(held, IsOk());
    large_served = true;
  });
  // Once the large request waits, a small one that would fit must not slip past it.
  while (true) {
    auto small = budget.TryAcquire(1);
    if (!small.has_value()) break;
    small.reset();
    std::this_thread::yield();
  }
  EXPECT_FALSE(large_served);
  first.reset();
  large.join();
  EXPECT_TRUE(large_served);
}

TEST(ByteBudgetTest, TheBoundHoldsUnderManyThreads) {
  ByteBudget budget(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&budget, t] {
      for (int i = 0; i < 200; ++i) EXPECT_THAT(budget.Acquire(100 + 37 * t), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.in_use(), 0);
  EXPECT_LE(budget.peak(), 1000);
}

}  // namespace
}  // namespace tessera
