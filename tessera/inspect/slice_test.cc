#include "tessera/inspect/slice.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::inspect {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Selection Of(std::vector<Steps> dimensions) { return {std::move(dimensions)}; }

TEST(ParseSliceTest, TakesIndicesAndRanges) {
  EXPECT_THAT(ParseSlice("0:4,:,-1,::2", Dims{8, 3, 5, 5}),
              IsOkAndHolds(Of({{0, 4, 1}, {0, 3, 1}, {4, 1, 1, true}, {0, 3, 2}})));
  EXPECT_EQ(ParseSlice("0:4,:,-1,::2", Dims{8, 3, 5, 5})->shape(), (Dims{4, 3, 3}));
}

TEST(ParseSliceTest, TakesAllOfWhatIsNotNamed) {
  EXPECT_THAT(ParseSlice("", Dims{2, 3}), IsOkAndHolds(Of({{0, 2}, {0, 3}})));
  EXPECT_THAT(ParseSlice("1", Dims{2, 3}), IsOkAndHolds(Of({{1, 1, 1, true}, {0, 3}})));
  EXPECT_THAT(ParseSlice("1,", Dims{2, 3}), IsOkAndHolds(Of({{1, 1, 1, true}, {0, 3}})));
  EXPECT_THAT(ParseSlice("..., 1", Dims{2, 3}), IsOkAndHolds(Of({{0, 2}, {1, 1, 1, true}})));
  EXPECT_THAT(ParseSlice("1:, ..., 0:1", Dims{2, 3}), IsOkAndHolds(Of({{1, 1}, {0, 1}})));
  EXPECT_THAT(ParseSlice("...", Dims{}), IsOkAndHolds(Of({})));
}

TEST(ParseSliceTest, CutsRangesToTheDimension) {
  EXPECT_THAT(ParseSlice("-100:100", Dims{3}), IsOkAndHolds(Of({{0, 3}})));
  EXPECT_THAT(ParseSlice("5:", Dims{3}), IsOkAndHolds(Of({Steps()})));
  EXPECT_THAT(ParseSlice("::-1", Dims{3}), IsOkAndHolds(Of({{2, 3, -1}})));
  EXPECT_THAT(ParseSlice("99999999999999999999:0:-99999999999999999999", Dims{3}),
              IsOkAndHolds(Of({{2, 1, -3}})));
  EXPECT_THAT(ParseSlice(":", Dims{0}), IsOkAndHolds(Of({Steps()})));
}

TEST(ParseSliceTest, NamesTheDimensionTheTextAndTheSize) {
  EXPECT_THAT(
      ParseSlice(":,7", Dims{2, 3}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "slice '7' of dimension 1, which has size 3: expected an index from -3 to 2"));
  EXPECT_THAT(ParseSlice("0", Dims{0}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'0' of dimension 0, which has size 0: no index lies in it")));
  EXPECT_THAT(ParseSlice("::0", Dims{2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a step that is not 0")));
  EXPECT_THAT(ParseSlice("1:2:3:4", Dims{2}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                       HasSubstr("start:stop:step at the most")));
  EXPECT_THAT(ParseSlice("x", Dims{2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'x' of dimension 0"), HasSubstr("expected an integer"))));
  EXPECT_THAT(ParseSlice("0,,0", Dims{2, 2, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("between the commas")));
}

TEST(ParseSliceTest, NamesBothRanks) {
  EXPECT_THAT(ParseSlice("0,0,0", Dims{2, 3}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "slice '0,0,0': found 3 dimensions, expected at most the 2 of shape [2,3]"));
  EXPECT_THAT(ParseSlice("...,...", Dims{2, 3}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("found ... twice")));
}

TEST(SelectionTest, HasAHullAndParts) {
  const Selection selection = *ParseSlice("8:2:-3, 1", Dims{10, 4});
  EXPECT_EQ(selection.Hull(), *Box::Make(Dims{5, 1}, Dims{4, 1}));
  EXPECT_EQ(selection.Part(0, 1, 1).Hull(), *Box::Make(Dims{5, 1}, Dims{1, 1}));
  EXPECT_EQ(selection.counts(), (Dims{2, 1}));
  EXPECT_EQ(selection.shape(), Dims{2});
}

// The indices that Python's slice.indices and range give, by its documentation.
std::vector<int64_t> Naive(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                           int64_t size) {
  std::vector<int64_t> indices;
  const auto bound = [&](std::optional<int64_t> given, int64_t without) {
    if (!given.has_value()) return without;
    int64_t value = *given < 0 ? *given + size : *given;
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? size : size - 1;
    return value < low ? low : (value > high ? high : value);
  };
  const int64_t end = bound(stop, step > 0 ? size : -1);
  for (int64_t i = bound(start, step > 0 ? 0 : size - 1); step > 0 ? i < end : i > end; i += step) {
    indices.push_back(i);
  }
  return indices;
}

RC_GTEST_PROP(ParseSliceTest, SelectsWhatPythonDoes, ()) {
  const auto number = rc::gen::inRange<int64_t>(-12, 13);
  const auto start = *rc::gen::maybe(number);
  const auto stop = *rc::gen::maybe(number);
  const auto step = *rc::gen::maybe(rc::gen::nonZero<int8_t>());
  const auto size = *rc::gen::inRange<int64_t>(0, 10);
  const auto text = [](const auto& value) {
    return value ? std::to_string(*value) : std::string();
  };
  const auto selection = ParseSlice(text(start) + ":" + text(stop) + ":" + text(step), Dims{size});
  RC_ASSERT(selection.ok());
  std::vector<int64_t> found;
  const Steps steps = selection->dimensions[0];
  for (int64_t i = 0; i < steps.count; ++i) found.push_back(steps.at(i));
  const auto as_optional = [](const auto& value) {
    return value ? std::optional<int64_t>(*value) : std::nullopt;
  };
  RC_ASSERT(found == Naive(as_optional(start), as_optional(stop), step ? *step : 1, size));
}

}  // namespace
}  // namespace tessera::inspect
