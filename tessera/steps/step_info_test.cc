#include "tessera/steps/step_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::steps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StepInfo Step(int64_t step, std::string timestamp) {
  StepInfo info;
  info.step = step;
  info.committed = true;
  info.timestamp = std::move(timestamp);
  return info;
}

TEST(LatestStepTest, TheGreatestStepOrTheGreatestTime) {
  const std::vector<StepInfo> steps = {Step(30, "2026-01-01T00:00:00"),
                                       Step(20, "2026-01-03T00:00:00"),
                                       Step(10, "2026-01-02T00:00:00")};
  EXPECT_THAT(LatestFirst(steps), ElementsAre(0, 1, 2));
  EXPECT_THAT(LatestFirst(steps, LatestBy::kTimestamp), ElementsAre(1, 2, 0));
  EXPECT_EQ(LatestStep(steps), 0u);
}

TEST(LatestStepTest, TimeDecidesBetweenEqualStepsAndStepsBetweenEqualTimes) {
  const std::vector<StepInfo> same_step = {Step(1, "2026-01-01T00:00:00"),
                                           Step(1, "2026-01-01T00:00:00.5"), Step(1, "")};
  EXPECT_THAT(LatestFirst(same_step), ElementsAre(1, 0, 2));
  const std::vector<StepInfo> same_time = {Step(1, "2026-01-01T00:00:00"),
                                           Step(2, "2026-01-01T00:00:00")};
  EXPECT_EQ(LatestStep(same_time, LatestBy::kTimestamp), 1u);
}

TEST(LatestStepTest, WhatIsNotCommittedIsNotThere) {
  std::vector<StepInfo> steps = {Step(1, ""), Step(2, "")};
  steps[1].committed = false;
  EXPECT_EQ(LatestStep(steps), 0u);
  steps[0].committed = false;
  EXPECT_EQ(LatestStep(steps), std::nullopt);
  EXPECT_THAT(LatestFirst({}), IsEmpty());
}

TEST(LatestStepTest, UnreadableMetadataIsBehindAllOthers) {
  std::vector<StepInfo> steps = {Step(1, ""), Step(9, ""), Step(3, "")};
  steps[1].metadata_readable = false;
  EXPECT_THAT(LatestFirst(steps), ElementsAre(2, 0, 1));
}

TEST(LatestStepTest, ZonesCountWhenAllTimesHaveOne) {
  std::vector<StepInfo> steps = {Step(1, "2026-01-01T12:00:00+05:00"),
                                 Step(1, "2026-01-01T10:00:00Z")};
  EXPECT_EQ(LatestStep(steps), 1u);
  steps.push_back(Step(0, "2026-01-01T00:00:00"));
  EXPECT_EQ(LatestStep(steps), 0u);
}

}  // namespace
}  // namespace tessera::steps
