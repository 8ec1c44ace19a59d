#include "tessera/steps/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::steps {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

StepInfo Permanent(int64_t step) {
  StepInfo info;
  info.step = step;
  info.committed = true;
  return info;
}

StepInfo Temporary(int64_t step) {
  StepInfo info = Permanent(step);
  info.temporary = true;
  return info;
}

StepInfo Unfinished(int64_t step) {
  StepInfo info = Permanent(step);
  info.committed = false;
  return info;
}

// The steps that would be deleted.
std::vector<int64_t> Deleted(const std::vector<StepInfo>& steps, const RetentionOptions& options) {
  std::vector<int64_t> deleted;
  for (const size_t position : PlanDeletions(steps, options)) {
    deleted.push_back(steps[position].step.value_or(-1));
  }
  return deleted;
}

const std::vector<StepInfo> kTen = [] {
  std::vector<StepInfo> steps;
  for (int64_t step = 100; step <= 1000; step += 100) steps.push_back(Permanent(step));
  return steps;
}();

TEST(PlanDeletionsTest, WithoutACountEveryPermanentOneStays) {
  EXPECT_THAT(Deleted(kTen, {}), IsEmpty());
  EXPECT_THAT(Deleted({}, {.keep_last = 1}), IsEmpty());
}

TEST(PlanDeletionsTest, TheLastNStay) {
  EXPECT_THAT(Deleted(kTen, {.keep_last = 7}), ElementsAre(100, 200, 300));
  EXPECT_THAT(Deleted(kTen, {.keep_last = 20}), IsEmpty());
}

TEST(PlanDeletionsTest, MultiplesOfKeepEveryStayAndDoNotCount) {
  EXPECT_THAT(Deleted(kTen, {.keep_last = 2, .keep_every = 500}),
              ElementsAre(100, 200, 300, 400, 600, 700));
}

TEST(PlanDeletionsTest, TheLatestCompleteOneAlwaysStays) {
  EXPECT_THAT(Deleted({Permanent(1), Permanent(2)}, {.keep_last = 0}), ElementsAre(1));
  EXPECT_THAT(Deleted({Permanent(1), Temporary(2)}, {.keep_last = 0}), ElementsAre(1));
  EXPECT_THAT(Deleted({Permanent(2), Permanent(1)}, {.keep_last = 0}), ElementsAre(1));
}

TEST(PlanDeletionsTest, ATemporaryLatestDoesNotCount) {
  EXPECT_THAT(Deleted({Permanent(1), Permanent(2), Temporary(3)}, {.keep_last = 1}),
              ElementsAre(1));
}

TEST(PlanDeletionsTest, TemporaryOnesGoOnceANewerOneIsComplete) {
  const std::vector<StepInfo> steps = {Temporary(1), Permanent(2), Temporary(3), Temporary(4)};
  EXPECT_THAT(Deleted(steps, {}), ElementsAre(1, 3));
  EXPECT_THAT(Deleted(steps, {.delete_temporary = false}), IsEmpty());
  EXPECT_THAT(Deleted({Temporary(1), Unfinished(2)}, {}), IsEmpty());
}

TEST(PlanDeletionsTest, WhatIsUnfinishedIsNeverTouched) {
  EXPECT_THAT(Deleted({Unfinished(1), Permanent(2), Permanent(3), Unfinished(4)}, {.keep_last = 1}),
              ElementsAre(2));
}

TEST(PlanDeletionsTest, WhatCannotBeJudgedIsNeverTouched) {
  StepInfo unreadable = Permanent(1);
  unreadable.metadata_readable = false;
  StepInfo nameless = Temporary(0);
  nameless.step.reset();
  EXPECT_THAT(Deleted({unreadable, nameless, Permanent(2), Permanent(3)}, {.keep_last = 1}),
              ElementsAre(2));
}

TEST(PlanDeletionsTest, TheOrderOfTimeCanDecide) {
  std::vector<StepInfo> steps = {Permanent(1), Permanent(2)};
  steps[0].timestamp = "2026-01-02T00:00:00";
  steps[1].timestamp = "2026-01-01T00:00:00";
  EXPECT_THAT(Deleted(steps, {.keep_last = 1}), ElementsAre(1));
  EXPECT_THAT(Deleted(steps, {.keep_last = 1, .latest_by = LatestBy::kTimestamp}), ElementsAre(2));
}

TEST(CheckRetentionOptionsTest, NamesTheOptionThatIsWrong) {
  EXPECT_THAT(CheckRetentionOptions({.keep_last = 0, .keep_every = 1}), IsOk());
  EXPECT_THAT(CheckRetentionOptions({.keep_last = -1}),
              StatusIs(kInvalid, "keep_last: expected at least 0, found -1"));
  EXPECT_THAT(CheckRetentionOptions({.keep_last = 1, .keep_every = 0}),
              StatusIs(kInvalid, "keep_every: expected at least 1, found 0"));
  EXPECT_THAT(
      CheckRetentionOptions({.keep_every = 5}),
      StatusIs(kInvalid, "keep_every: without keep_last every permanent checkpoint is kept"));
}

}  // namespace
}  // namespace tessera::steps
