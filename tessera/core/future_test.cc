#include "tessera/core/future.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;

TEST(FutureTest, WaitGivesTheResultOfAnotherThread) {
  Promise<std::string> promise;
  const Future<std::string> future = promise.future();
  EXPECT_FALSE(future.ready());
  std::thread maker([promise = std::move(promise)]() mutable { promise.Set("done"); });
  EXPECT_THAT(future.Wait(), IsOkAndHolds(Eq("done")));
  EXPECT_TRUE(future.ready());
  maker.join();
}

TEST(FutureTest, HoldsErrorsAndValuesThatOnlyMove) {
  Promise<std::unique_ptr<int>> promise;
  const auto future = promise.future();
  promise.Set(DataLoss("torn"));
  EXPECT_THAT(future.Wait(), StatusIs(absl::StatusCode::kDataLoss, Eq("torn")));
  Promise<void> nothing;
  const auto finished = nothing.future();
  nothing.Set(absl::OkStatus());
  EXPECT_THAT(finished.Wait(), IsOk());
}

TEST(FutureTest, ADroppedPromiseCancels) {
  std::optional<Promise<int>> promise(std::in_place);
  const auto future = promise->future();
  promise.reset();
  EXPECT_THAT(future.Wait(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("dropped before it had a result")));
}

TEST(FutureTest, WaitForTellsWhetherTheResultCame) {
  Promise<int> promise;
  const auto future = promise.future();
  EXPECT_FALSE(future.WaitFor(std::chrono::milliseconds(5)));
  promise.Set(1);
  EXPECT_TRUE(future.WaitFor(std::chrono::nanoseconds(0)));
}

TEST(FutureTest, CallbacksRunOnceBeforeAndAfter) {
  Promise<int> promise;
  const auto future = promise.future();
  int sum = 0;
  future.OnReady([&](const absl::StatusOr<int>& result) { sum += *result; });
  EXPECT_EQ(sum, 0);
  promise.Set(7);
  EXPECT_EQ(sum, 7);
  future.OnReady([&](const absl::StatusOr<int>& result) { sum += *result; });
  EXPECT_EQ(sum, 14);
}

}  // namespace
}  // namespace tessera
