#include "tessera/core/chunk_grid.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

Box BoxOf(Dims origin, Dims shape) { return Box::Make(origin, shape).value(); }

TEST(CellRangeTest, NumbersTheCellsOfABoxInCOrder) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const CellRange cells,
                               CellRange::Of(BoxOf({3, 4}, {3, 5}), Dims{2, 4}));
  ASSERT_EQ(cells.size(), 4);
  EXPECT_EQ(cells.at(0), (Dims{1, 1}));
  EXPECT_EQ(cells.at(1), (Dims{1, 2}));
  EXPECT_EQ(cells.at(2), (Dims{2, 1}));
  EXPECT_EQ(cells.at(3), (Dims{2, 2}));
}

TEST(CellRangeTest, HasOneCellForRankZeroAndNoneForAnEmptyBox) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const CellRange scalar, CellRange::Of(Box(), Dims{}));
  ASSERT_EQ(scalar.size(), 1);
  EXPECT_EQ(scalar.at(0), Dims{});
  TESSERA_ASSERT_OK_AND_ASSIGN(const CellRange none,
                               CellRange::Of(BoxOf({0, 0}, {0, 5}), Dims{1, 5}));
  EXPECT_EQ(none.size(), 0);
}

TEST(CellRangeTest, RefusesMoreCellsThanCanBeCounted) {
  const int64_t huge = std::numeric_limits<int64_t>::max() - 1;
  EXPECT_THAT(CellRange::Of(Box::Whole(Dims{huge, huge}), Dims{1, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("63 bits")));
}

TEST(ChunkGridTest, CutsChunksAtTheUpperEdges) {
  const Dims shape{7, 5};
  const Dims chunk{3, 5};
  EXPECT_EQ(GridShape(shape, chunk), (Dims{3, 1}));
  EXPECT_EQ(CellBox(Dims{0, 0}, chunk, shape), BoxOf({0, 0}, {3, 5}));
  EXPECT_EQ(CellBox(Dims{2, 0}, chunk, shape), BoxOf({6, 0}, {1, 5}));
  EXPECT_EQ(CellNumber(Dims{2, 0}, GridShape(shape, chunk)), 2);
  EXPECT_EQ(GridShape(Dims{0, 5}, Dims{1, 5}), (Dims{0, 1}));
}

TEST(ChunkGridTest, TheLastChunkMayEndPastWhat63BitsHold) {
  const int64_t huge = std::numeric_limits<int64_t>::max() - 1;
  EXPECT_EQ(CellBox(Dims{1}, Dims{huge - 3}, Dims{huge}), BoxOf({huge - 3}, {3}));
}

}  // namespace
}  // namespace tessera
