#include "tessera/explain/border_cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tessera::explain {
namespace {

using ::testing::ElementsAre;

constexpr Border kBoth = Border::kShardAndChunk;
constexpr Border kShard = Border::kShard;
constexpr Border kChunk = Border::kChunk;

TEST(CutsOfTest, TellsShardAndChunkBordersApart) {
  EXPECT_THAT(CutsOf(12, 6, 4, 9).cuts, ElementsAre(Cut{0, kBoth}, Cut{4, kChunk}, Cut{6, kShard},
                                                    Cut{8, kChunk}, Cut{12, kBoth}));
  EXPECT_THAT(CutsOf(12, 6, 3, 9).cuts, ElementsAre(Cut{0, kBoth}, Cut{3, kChunk}, Cut{6, kBoth},
                                                    Cut{9, kChunk}, Cut{12, kBoth}));
  EXPECT_THAT(CutsOf(10, 10, 4, 9).cuts,
              ElementsAre(Cut{0, kBoth}, Cut{4, kChunk}, Cut{8, kChunk}, Cut{10, kBoth}));
  EXPECT_THAT(CutsOf(1, 1, 5, 9).cuts, ElementsAre(Cut{0, kBoth}, Cut{1, kBoth}));
}

TEST(CutsOfTest, LeavesOutTheMiddle) {
  const DimensionCuts cuts = CutsOf(100, 10, 10, 5);
  EXPECT_THAT(cuts.cuts, ElementsAre(Cut{0, kBoth}, Cut{10, kBoth}, Cut{20, kBoth}, Cut{80, kBoth},
                                     Cut{90, kBoth}, Cut{100, kBoth}));
  EXPECT_EQ(cuts.elided, 2);
  EXPECT_EQ(CutsOf(50, 10, 10, 5).elided, SIZE_MAX);
}

TEST(CutsOfTest, HugeSizesDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(CutsOf(kMost, kMost, 1, 4).cuts.back(), (Cut{kMost, kBoth}));
  EXPECT_THAT(CutsOf(kMost, kMost, kMost - 1, 4).cuts,
              ElementsAre(Cut{0, kBoth}, Cut{kMost - 1, kChunk}, Cut{kMost, kBoth}));
}

}  // namespace
}  // namespace tessera::explain
