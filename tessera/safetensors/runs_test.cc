#include "tessera/safetensors/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> RunsOf(const Box& box, const Dims& shape) {
  std::vector<std::string> runs;
  EXPECT_THAT(ForEachRun(box, shape,
                         [&](const Box& run) {
                           runs.push_back(run.Text());
                           return absl::OkStatus();
                         }),
              IsOk());
  return runs;
}

Box MakeBox(const Dims& origin, const Dims& shape) { return Box::Make(origin, shape).value(); }

TEST(ForEachRunTest, ABoxOfWholeRowsIsOneRun) {
  EXPECT_THAT(RunsOf(Box::Whole(Dims{}), {}), ElementsAre("[]"));
  EXPECT_THAT(RunsOf(Box::Whole(Dims{3, 4, 5}), {3, 4, 5}), ElementsAre("[0:3,0:4,0:5]"));
  EXPECT_THAT(RunsOf(MakeBox({1, 0, 0}, {2, 4, 5}), {3, 4, 5}), ElementsAre("[1:3,0:4,0:5]"));
  EXPECT_EQ(RunElements(MakeBox({1, 0, 0}, {2, 4, 5}), Dims{3, 4, 5}), 40);
  EXPECT_THAT(RunsOf(MakeBox({1, 2, 0}, {1, 2, 5}), {3, 4, 5}), ElementsAre("[1:2,2:4,0:5]"));
}

TEST(ForEachRunTest, EveryOuterIndexIsARunOfItsOwn) {
  EXPECT_THAT(RunsOf(MakeBox({1, 1, 2}, {2, 2, 3}), {3, 4, 5}),
              ElementsAre("[1:2,1:2,2:5]", "[1:2,2:3,2:5]", "[2:3,1:2,2:5]", "[2:3,2:3,2:5]"));
  EXPECT_EQ(RunElements(MakeBox({1, 1, 2}, {2, 2, 3}), Dims{3, 4, 5}), 3);
  EXPECT_THAT(RunsOf(MakeBox({0, 1, 0}, {2, 2, 5}), {3, 4, 5}),
              ElementsAre("[0:1,1:3,0:5]", "[1:2,1:3,0:5]"));
}

TEST(ForEachRunTest, NothingHasNoRunsAndAnErrorEndsIt) {
  EXPECT_THAT(RunsOf(MakeBox({0, 1}, {0, 2}), {3, 4}), IsEmpty());
  int calls = 0;
  EXPECT_THAT(ForEachRun(MakeBox({0, 0}, {3, 2}), Dims{3, 4},
                         [&](const Box&) {
                           ++calls;
                           return DataLoss("enough");
                         }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("enough")));
  EXPECT_EQ(calls, 1);
}

TEST(ElementNumberTest, CountsInCOrder) {
  EXPECT_EQ(ElementNumber(Dims{}, Dims{}), 0u);
  EXPECT_EQ(ElementNumber(Dims{2, 1, 4}, Dims{3, 4, 5}), 49u);
}

}  // namespace
}  // namespace tessera::safetensors
