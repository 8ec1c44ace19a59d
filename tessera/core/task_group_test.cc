#include "tessera/core/task_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Eq;

TEST(TaskGroupTest, JoinWaitsForAll) {
  ThreadPool pool(4);
  TaskGroup group(pool);
  std::atomic<int> done{0};
  for (int i = 0; i < 1000; ++i) {
    group.Run([&](std::stop_token) {
      ++done;
      return absl::OkStatus();
    });
  }
  EXPECT_THAT(group.Join(), IsOk());
  EXPECT_EQ(done, 1000);
}

TEST(TaskGroupTest, TheFirstErrorStopsTheRest) {
  ThreadPool pool(2);
  TaskGroup group(pool);
  std::atomic<int> ran{0};
  group.Run([&](std::stop_token) { return DataLoss("chunk 0 is torn"); });
  for (int i = 0; i < 10; ++i) {
    group.Run([&](std::stop_token stop) {
      ++ran;
      while (!stop.stop_requested()) std::this_thread::yield();
      return Cancelled("obeyed");
    });
  }
  EXPECT_THAT(group.Join(), StatusIs(absl::StatusCode::kDataLoss, Eq("chunk 0 is torn")));
  EXPECT_LE(ran, 10);
}

TEST(TaskGroupTest, AStopFromOutsideIsReported) {
  ThreadPool pool(1);
  std::stop_source stop;
  TaskGroup group(pool, stop.get_token());
  stop.request_stop();
  bool ran = false;
  group.Run([&](std::stop_token) {
    ran = true;
    return absl::OkStatus();
  });
  EXPECT_THAT(group.Join(), StatusIs(absl::StatusCode::kCancelled,
                                     Eq("the task group was stopped before all its tasks ran")));
  EXPECT_FALSE(ran);
}

TEST(TaskGroupTest, NestedGroupsOnAPoolOfOneDoNotDeadlock) {
  ThreadPool pool(1);
  TaskGroup outer(pool);
  std::atomic<int> leaves{0};
  for (int i = 0; i < 4; ++i) {
    outer.Run([&](std::stop_token) {
      TaskGroup inner(pool);
      for (int j = 0; j < 4; ++j) {
        inner.Run([&](std::stop_token) {
          ++leaves;
          return absl::OkStatus();
        });
      }
      return inner.Join();
    });
  }
  EXPECT_THAT(outer.Join(), IsOk());
  EXPECT_EQ(leaves, 16);
}

TEST(TaskGroupTest, DestructionCancelsAndWaits) {
  ThreadPool pool(2);
  std::atomic<int> inside{0};
  {
    TaskGroup group(pool);
    for (int i = 0; i < 8; ++i) {
      group.Run([&](std::stop_token stop) {
        ++inside;
        while (!stop.stop_requested()) std::this_thread::yield();
        --inside;
        return absl::OkStatus();
      });
    }
  }
  EXPECT_EQ(inside, 0);
}

TEST(TaskGroupTest, CanBeUsedAgainAfterAnOkJoin) {
  ThreadPool pool(2);
  TaskGroup group(pool);
  int count = 0;
  for (int round = 0; round < 3; ++round) {
    group.Run([&](std::stop_token) {
      ++count;
      return absl::OkStatus();
    });
    ASSERT_THAT(group.Join(), IsOk());
  }
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace tessera
