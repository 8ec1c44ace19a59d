#include "tessera/checkpoint/chunk_shape.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tessera::checkpoint {
namespace {

using Reason = ChunkReason;

constexpr int64_t kMiB = int64_t{1} << 20;

ChunkChoice OfF32(const Dims& array, const Dims& shard, int64_t most = 64 * kMiB) {
  return ChooseChunkShape(array, shard, DType::kFloat32, most);
}

TEST(ChooseChunkShapeTest, ASmallShardIsOneChunk) {
  EXPECT_EQ(OfF32({16, 8}, {4, 8}), (ChunkChoice{{4, 8}, Reason::kShard, 128}));
  EXPECT_EQ(OfF32({}, {}), (ChunkChoice{{}, Reason::kShard, 4}));
}

TEST(ChooseChunkShapeTest, ASizeOfZeroBecomesOne) {
  EXPECT_EQ(OfF32({0, 8}, {0, 8}), (ChunkChoice{{1, 8}, Reason::kShard, 32}));
}

TEST(ChooseChunkShapeTest, ALargeShardIsCutAlongTheOutermostDimension) {
  EXPECT_EQ(OfF32({8192, 65536}, {1024, 65536}),
            (ChunkChoice{{256, 65536}, Reason::kDivided, 64 * kMiB}));
}

TEST(ChooseChunkShapeTest, TheLeastFactorThatIsEnoughIsTaken) {
  // 6 rows of 40 bytes within 100: three parts of two rows, not six of one.
  EXPECT_EQ(OfF32({12, 10}, {6, 10}, 100), (ChunkChoice{{2, 10}, Reason::kDivided, 80}));
}

TEST(ChooseChunkShapeTest, GoesOnWithTheNextDimensionWhereOneIsNotEnough) {
  EXPECT_EQ(OfF32({8, 64 * kMiB}, {4, 64 * kMiB}),
            (ChunkChoice{{1, 16 * kMiB}, Reason::kDivided, 64 * kMiB}));
}

TEST(ChooseChunkShapeTest, APrimeNumberOfRowsOfSeveralShardsIsLeftAlone) {
  // 50257 is prime, and a chunk a row would be absurd; the columns have a factor of 3.
  EXPECT_EQ(OfF32({2 * 50257, 768}, {50257, 768}),
            (ChunkChoice{{50257, 256}, Reason::kDivided, 50257 * 256 * 4}));
}

TEST(ChooseChunkShapeTest, APrimeNumberOfRowsOfOneShardEndsWithAShorterChunk) {
  EXPECT_EQ(OfF32({50257, 768}, {50257, 768}),
            (ChunkChoice{{16753, 768}, Reason::kUneven, 16753 * 768 * 4}));
}

TEST(ChooseChunkShapeTest, ALargePrimeSizeOfSeveralShardsStaysWhole) {
  EXPECT_EQ(OfF32({2 * 100000007}, {100000007}),
            (ChunkChoice{{100000007}, Reason::kIndivisible, 400000028}));
}

TEST(ChooseChunkShapeTest, SmallChunksAreBetterThanNoCut) {
  // 97 is prime; one row each is far less than allowed, yet not absurdly so.
  EXPECT_EQ(OfF32({194, 1}, {97, 1}, 100), (ChunkChoice{{1, 1}, Reason::kDivided, 4}));
}

TEST(ChooseChunkShapeTest, ShapesWithoutElementsDoNotOverflow) {
  const Dims huge{0, int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(OfF32(huge, huge), (ChunkChoice{{1, 1, 1}, Reason::kDivided, 4}));
}

TEST(ChooseChunkShapeTest, TellsItsReason) {
  EXPECT_EQ(OfF32({16, 8}, {4, 8}).Text(), "[4,8] (shard, 128 bytes)");
  EXPECT_EQ(OfF32({12, 10}, {6, 10}, 100).Text(), "[2,10] (divided, 80 bytes)");
}

RC_GTEST_PROP(ChooseChunkShapeTest, NoChunkReachesOverTheBorderOfAShard, ()) {
  Dims array, shard;
  const int rank = *rc::gen::inRange(0, 4);
  for (int i = 0; i < rank; ++i) {
    const int64_t size = *rc::gen::inRange<int64_t>(1, 40);
    shard.push_back(size);
    array.push_back(size * *rc::gen::inRange<int64_t>(1, 4));
  }
  const int64_t most = *rc::gen::inRange<int64_t>(1, 5000);
  const ChunkChoice choice = OfF32(array, shard, most);
  RC_ASSERT(choice.bytes == *NumBytes(DType::kFloat32, choice.shape));
  RC_ASSERT(choice.bytes <= most || choice.reason == Reason::kIndivisible);
  for (size_t i = 0; i < shard.size(); ++i) {
    RC_ASSERT(choice.shape[i] >= 1 && choice.shape[i] <= shard[i]);
    RC_ASSERT(array[i] == shard[i] || shard[i] % choice.shape[i] == 0);
  }
}

}  // namespace
}  // namespace tessera::checkpoint
