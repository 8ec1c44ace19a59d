#include "tessera/steps/interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::steps {
namespace {

using namespace std::chrono_literals;
using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;

const SavePolicy kPolicy{{{10, 100}, {50, 1000}, {200, {}}}, 10min};

SaveKind KindAt(const SavePolicy& policy, int64_t step) {
  return DecideSave(policy, {.step = step}).kind;
}

TEST(CheckSavePolicyTest, AcceptsIntervalsThatGrow) {
  EXPECT_THAT(CheckSavePolicy({}), IsOk());
  EXPECT_THAT(CheckSavePolicy(kPolicy), IsOk());
  EXPECT_THAT(CheckSavePolicy({{{10, {}}}, {}}), IsOk());
}

TEST(CheckSavePolicyTest, NamesTheIntervalThatIsWrong) {
  EXPECT_THAT(CheckSavePolicy({{{10, 100}, {0, 200}}, {}}),
              StatusIs(kInvalid, "intervals[1].every: expected at least 1, found 0"));
  EXPECT_THAT(
      CheckSavePolicy({{{10, 100}, {20, 100}}, {}}),
      StatusIs(kInvalid, "intervals[1].until: expected more than the 100 before it, found 100"));
  EXPECT_THAT(CheckSavePolicy({{{10, {}}, {20, {}}}, {}}),
              StatusIs(kInvalid, "intervals[0].until: only the last interval may go on for ever"));
  EXPECT_THAT(CheckSavePolicy({{}, 0s}),
              StatusIs(kInvalid, "save_interval: expected more than 0 s, found 0 s"));
}

TEST(DecideSaveTest, TheFirstIntervalThatReachesTheStepCounts) {
  EXPECT_EQ(KindAt(kPolicy, 10), SaveKind::kPermanent);
  EXPECT_EQ(KindAt(kPolicy, 15), SaveKind::kNone);
  EXPECT_EQ(KindAt(kPolicy, 100), SaveKind::kPermanent);
  EXPECT_EQ(KindAt(kPolicy, 110), SaveKind::kNone);
  EXPECT_EQ(KindAt(kPolicy, 150), SaveKind::kPermanent);
  EXPECT_EQ(KindAt(kPolicy, 1000), SaveKind::kPermanent);
  EXPECT_EQ(KindAt(kPolicy, 1050), SaveKind::kNone);
  EXPECT_EQ(KindAt(kPolicy, 1200), SaveKind::kPermanent);
}

TEST(DecideSaveTest, PastTheLastIntervalOnlyTimeSaves) {
  const SavePolicy policy{{{10, 100}}, 10min};
  EXPECT_EQ(KindAt(policy, 110), SaveKind::kNone);
  EXPECT_EQ(DecideSave(policy, {.step = 110, .since_last_save = 10min}).kind, SaveKind::kTemporary);
}

TEST(DecideSaveTest, TimeMakesATemporaryOne) {
  EXPECT_EQ(DecideSave(kPolicy, {.step = 11, .since_last_save = 10min}),
            (SaveDecision{SaveKind::kTemporary, false,
                          "the last save was 600 s ago, the interval is 600 s"}));
  EXPECT_EQ(DecideSave(kPolicy, {.step = 11, .since_last_save = 10min - 1ns}),
            (SaveDecision{SaveKind::kNone, false, "neither a step nor the time to save"}));
  EXPECT_EQ(DecideSave(kPolicy, {.step = 11, .since_last_save = -1h}).kind, SaveKind::kNone);
  EXPECT_EQ(DecideSave({}, {.step = 11, .since_last_save = 1000h}).kind, SaveKind::kNone);
}

TEST(DecideSaveTest, AStepOfTheIntervalsIsPermanentWhateverTheTime) {
  EXPECT_EQ(DecideSave(kPolicy, {.step = 20, .since_last_save = 1h}),
            (SaveDecision{SaveKind::kPermanent, false, "step 20 is a multiple of 10"}));
}

TEST(DecideSaveTest, StepZeroRestartsTheClock) {
  EXPECT_EQ(DecideSave(kPolicy, {.step = 0, .since_last_save = 1h}),
            (SaveDecision{SaveKind::kNone, true, "step 0 is where the run begins"}));
  EXPECT_EQ(DecideSave(kPolicy, {.step = 0, .force = true}),
            (SaveDecision{SaveKind::kPermanent, true, "it was asked for"}));
}

TEST(DecideSaveTest, AStepIsNotSavedTwice) {
  EXPECT_EQ(DecideSave(kPolicy, {.step = 20, .last_saved_step = 20, .since_last_save = 1h}),
            (SaveDecision{SaveKind::kNone, false, "step 20 is saved already"}));
  EXPECT_EQ(DecideSave(kPolicy, {.step = 20, .last_saved_step = 20, .force = true}).kind,
            SaveKind::kPermanent);
  EXPECT_EQ(DecideSave(kPolicy, {.step = 20, .last_saved_step = 30}).kind, SaveKind::kPermanent);
}

TEST(SaveKindNameTest, IsOneWord) {
  EXPECT_EQ(SaveKindName(SaveKind::kNone), "none");
  EXPECT_EQ(SaveKindName(SaveKind::kTemporary), "temporary");
  EXPECT_EQ(SaveKindName(SaveKind::kPermanent), "permanent");
}

}  // namespace
}  // namespace tessera::steps
