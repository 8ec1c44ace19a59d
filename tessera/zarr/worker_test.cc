#include "tessera/zarr/worker.h"

#include <atomic>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ForEachCellTest, CallsEachCellOnce) {
  IoContext io({.in_flight = 4, .compute = 4, .budget_bytes = 1000});
  Mutex mutex;
  std::multiset<int64_t> seen;
  ASSERT_THAT(ForEachCell(io, "w", 500, 100, {},
                          [&](int64_t i, Worker&, std::stop_token) {
                            MutexLock lock(mutex);
                            seen.insert(i);
                            return absl::OkStatus();
                          }),
              IsOk());
  EXPECT_EQ(seen.size(), 500);
  EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 500);
  EXPECT_LE(io.budget().peak(), 1000);
  EXPECT_EQ(io.budget().in_use(), 0);
}

TEST(ForEachCellTest, NeverHasMoreWorkersThanTheBudgetAllows) {
  IoContext io({.in_flight = 8, .compute = 8, .budget_bytes = 250});
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  ASSERT_THAT(ForEachCell(io, "w", 200, 100, {},
                          [&](int64_t, Worker&, std::stop_token) {
                            const int running = ++now;
                            int seen = most;
                            while (running > seen && !most.compare_exchange_weak(seen, running)) {
                            }
                            --now;
                            return absl::OkStatus();
                          }),
              IsOk());
  EXPECT_LE(most, 2);
}

TEST(ForEachCellTest, GivesTheFirstErrorAndStops) {
  IoContext io({.in_flight = 2, .compute = 2, .budget_bytes = 1000});
  std::atomic<int> calls{0};
  EXPECT_THAT(ForEachCell(io, "w", 100000, 1, {},
                          [&](int64_t i, Worker&, std::stop_token) {
                            ++calls;
                            return i == 10 ? DataLoss("cell ", i) : absl::OkStatus();
                          }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cell 10")));
  EXPECT_LT(calls, 100000);
}

TEST(ForEachCellTest, NestedCallsMakeProgressInTheSmallestBudget) {
  IoContext io({.in_flight = 4, .compute = 1, .budget_bytes = 100});
  std::atomic<int> calls{0};
  ASSERT_THAT(ForEachCell(io, "w", 20, 100, {},
                          [&](int64_t, Worker& outer, std::stop_token stop) {
                            return ForEachCell(io, 20, 50, outer.Inner(), stop,
                                               [&](int64_t, Worker&, std::stop_token) {
                                                 const IoContext::ComputeSlot slot(io);
                                                 ++calls;
                                                 return absl::OkStatus();
                                               });
                          }),
              IsOk());
  EXPECT_EQ(calls, 400);
}

TEST(ForEachCellTest, SaysWhenOneWorkerIsMoreThanTheBudget) {
  IoContext io({.budget_bytes = 10});
  EXPECT_THAT(ForEachCell(io, "w", 1, 11, {},
                          [](int64_t, Worker&, std::stop_token) { return absl::OkStatus(); }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("w: memory for one chunk at a time")));
}

}  // namespace
}  // namespace tessera::zarr
