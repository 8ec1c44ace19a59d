#include "tessera/convert/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::convert {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::Field;
using ::testing::HasSubstr;

UnitQuestion Question(Dims shape, Dims source, Dims target) {
  return {.shape = std::move(shape),
          .source_cell = std::move(source),
          .target_cell = std::move(target),
          .element_bytes = 4,
          .good_bytes = 0,
          .share_bytes = 1000,
          .most_bytes = 4000};
}

TEST(ChooseUnitsTest, TakesTheSmallestBoxOfWholeCellsOfBothSides) {
  EXPECT_THAT(ChooseUnits(Question({100, 8}, {10, 8}, {25, 4})),
              IsOkAndHolds(UnitChoice{{50, 8}, UnitKind::kWhole, 2, 1600, 1}));
  // At the edge all of a dimension is whole cells as well.
  EXPECT_THAT(ChooseUnits(Question({45, 8}, {10, 8}, {25, 4})),
              IsOkAndHolds(UnitChoice{{45, 8}, UnitKind::kWhole, 1, 1440, 1}));
  EXPECT_THAT(ChooseUnits(Question({}, {}, {})),
              IsOkAndHolds(UnitChoice{{}, UnitKind::kWhole, 1, 4, 1}));
}

TEST(ChooseUnitsTest, JoinsSmallOnesInnerDimensionsFirst) {
  UnitQuestion question = Question({100, 100}, {1, 10}, {1, 1});
  question.good_bytes = 1000;
  EXPECT_THAT(ChooseUnits(question),
              IsOkAndHolds(UnitChoice{{2, 100}, UnitKind::kWhole, 50, 800, 1}));
  question.good_bytes = 100;
  EXPECT_THAT(ChooseUnits(question),
              IsOkAndHolds(UnitChoice{{1, 20}, UnitKind::kWhole, 500, 80, 1}));
}

TEST(ChooseUnitsTest, WritesWholeSourceCellsInRunsWhereTheTargetTakesParts) {
  // Columns of a source, rows of a target: only all of it is whole cells of both.
  UnitQuestion question = Question({100, 100}, {100, 1}, {1, 100});
  question.target_divides = true;
  EXPECT_THAT(ChooseUnits(question),
              IsOkAndHolds(UnitChoice{{100, 2}, UnitKind::kSource, 50, 800, 1}));
  question.share_bytes = 100;  // a cell does not fit a share, but what there is
  EXPECT_THAT(ChooseUnits(question),
              IsOkAndHolds(UnitChoice{{100, 1}, UnitKind::kSource, 100, 400, 1}));
}

TEST(ChooseUnitsTest, StreamsASourceCellThatDoesNotFit) {
  UnitQuestion question = Question({1000, 100}, {1000, 10}, {1, 100});
  question.target_divides = true;
  question.source_streams = true;
  EXPECT_THAT(ChooseUnits(question),
              IsOkAndHolds(UnitChoice{{1000, 10}, UnitKind::kStream, 10, 0, 1}));
  question.source_streams = false;  // then parts of it are read
  EXPECT_THAT(ChooseUnits(question),
              IsOkAndHolds(AllOf(Field(&UnitChoice::kind, UnitKind::kTarget),
                                 Field(&UnitChoice::shape, Dims{500, 1}),
                                 Field(&UnitChoice::amplification, DoubleEq(20)))));
}

TEST(ChooseUnitsTest, ReadsTheSourceSeveralTimesForWholeTargetCells) {
  // Half of the memory holds 5 of the target's columns, which are 5 of a source cell's 20.
  const auto choice = ChooseUnits(Question({100, 100}, {10, 20}, {100, 1}));
  EXPECT_THAT(choice, IsOkAndHolds(UnitChoice{{100, 5}, UnitKind::kTarget, 20, 2000, 4}));
}

TEST(ChooseUnitsTest, RefusesACellThatDoesNotFit) {
  EXPECT_THAT(ChooseUnits(Question({1000, 100}, {10, 10}, {1000, 2})),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("a unit of [1000,2] needs 8000 bytes, and there is memory for "
                                 "4000")));
}

TEST(ReadAmplificationTest, CountsTheCellsThatEachUnitMeets) {
  EXPECT_DOUBLE_EQ(ReadAmplification(Dims{10}, Dims{3}, Dims{3}), 1);
  EXPECT_DOUBLE_EQ(ReadAmplification(Dims{10}, Dims{3}, Dims{10}), 1);
  // Units 0:2 2:4 4:6 6:8 8:10 meet cells of 3, 6, 3, 3 and 4 elements.
  EXPECT_DOUBLE_EQ(ReadAmplification(Dims{10}, Dims{3}, Dims{2}), 1.9);
  EXPECT_DOUBLE_EQ(ReadAmplification(Dims{10, 10}, Dims{10, 3}, Dims{5, 2}), 3.8);
  EXPECT_DOUBLE_EQ(ReadAmplification(Dims{0}, Dims{3}, Dims{1}), 1);
}

}  // namespace
}  // namespace tessera::convert
