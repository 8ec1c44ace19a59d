#include "tessera/cli/histogram_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

using ::testing::ElementsAre;

const Terminal kUnicode{};
const Terminal kAscii{.unicode = false};

TEST(SparkLineTest, ShowsShares) {
  EXPECT_EQ(SparkLine({0, 1, 40, 80, 60}, kUnicode), " ▁▄█▆");
  EXPECT_EQ(SparkLine({0, 1, 40, 80, 60}, kAscii), " .=@*");
  EXPECT_EQ(SparkLine({0, 0}, kUnicode), "  ");
  EXPECT_EQ(SparkLine({}, kUnicode), "");
}

TEST(BarTest, ShowsEighthsOfAColumn) {
  EXPECT_EQ(Bar(10, 10, 4, kUnicode), "████");
  EXPECT_EQ(Bar(5, 10, 3, kUnicode), "█▌");
  EXPECT_EQ(Bar(1, 1000000, 3, kUnicode), "▏");
  EXPECT_EQ(Bar(0, 10, 3, kUnicode), "");
  EXPECT_EQ(Bar(5, 10, 4, kAscii), "##");
  EXPECT_EQ(Bar(1, 1000000, 4, kAscii), "#");
}

TEST(WithFewerBinsTest, PutsNeighboursTogether) {
  const inspect::Histogram five{{0, 1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}};
  const inspect::Histogram three = WithFewerBins(five, 3);
  EXPECT_THAT(three.edges, ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(three.counts, ElementsAre(3, 7, 5));
  EXPECT_EQ(WithFewerBins(five, 5), five);
}

}  // namespace
}  // namespace tessera::cli
