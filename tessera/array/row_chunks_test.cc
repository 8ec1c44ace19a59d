#include "tessera/array/row_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> Rows(const Dims& shape, int64_t max_bytes) {
  std::vector<int64_t> rows;
  const auto chunks = ChunkTensorByMemory({shape, DType::kFloat32}, max_bytes);
  for (const RowChunk& chunk : *chunks) rows.push_back(chunk.rows);
  return rows;
}

TEST(EstimateArrayNbytesTest, CountsPackedOrPadded) {
  EXPECT_THAT(EstimateArrayNbytes({{2, 3}, DType::kFloat32}), IsOkAndHolds(24));
  EXPECT_THAT(EstimateArrayNbytes({{2, 3}, DType::kBfloat16}), IsOkAndHolds(12));
  EXPECT_THAT(EstimateArrayNbytes({{0, 4}, DType::kFloat32}), IsOkAndHolds(0));
  EXPECT_THAT(EstimateArrayNbytes({{}, DType::kFloat32}), IsOkAndHolds(4));
  EXPECT_THAT(EstimateArrayNbytes({{5}, DType::kInt4}), IsOkAndHolds(3));
  EXPECT_THAT(EstimateArrayNbytes({{5}, DType::kInt4}, ElementStorage::kPadded), IsOkAndHolds(5));
}

TEST(ChunkTensorByMemoryTest, TheVectorsOfTheReference) {
  EXPECT_THAT(Rows({10}, 40), ElementsAre(10));
  EXPECT_THAT(Rows({10}, 16), ElementsAre(4, 3, 3));
  EXPECT_THAT(Rows({11}, 16), ElementsAre(4, 4, 3));
  EXPECT_THAT(Rows({3, 4}, 16), ElementsAre(1, 1, 1));
  EXPECT_THAT(Rows({}, 1), ElementsAre(1));
  EXPECT_THAT(Rows({0, 4}, 1), ElementsAre(0));
}

TEST(ChunkTensorByMemoryTest, RowsOverTheLimitAreFlagged) {
  EXPECT_THAT(ChunkTensorByMemory({{2, 100}, DType::kFloat32}, 100),
              IsOkAndHolds(ElementsAre(RowChunk{0, 1, true}, RowChunk{1, 1, true})));
}

TEST(ChunkTensorByMemoryTest, RefusesALimitOfNothing) {
  EXPECT_THAT(ChunkTensorByMemory({{2}, DType::kFloat32}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the limit is 0 bytes")));
}

RC_GTEST_PROP(RowChunksProperty, ChunksFollowEachOtherAndFit, ()) {
  const Dims shape{*rc::gen::inRange<int64_t>(0, 200), *rc::gen::inRange<int64_t>(1, 9)};
  const int64_t limit = *rc::gen::inRange<int64_t>(1, 2000);
  const auto chunks = ChunkTensorByMemory({shape, DType::kFloat32}, limit);
  int64_t next = 0;
  for (const RowChunk& chunk : *chunks) {
    RC_ASSERT(chunk.begin == next);
    next += chunk.rows;
    const int64_t bytes = chunk.rows * shape[1] * 4;
    RC_ASSERT(bytes <= limit || (chunk.rows == 1 && chunk.over_limit));
    RC_ASSERT(chunks->front().rows - chunk.rows <= 1);
  }
  RC_ASSERT(next == shape[0]);
}

}  // namespace
}  // namespace tessera::array
