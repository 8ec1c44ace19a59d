#include "tessera/zarr/chunk_key.h"

#include <gtest/gtest.h>

namespace tessera::zarr {
namespace {

constexpr auto kBare = ChunkKeys::Style::kBare;
constexpr auto kPrefix = ChunkKeys::Style::kPrefix;

TEST(ChunkKeyTest, JoinsTheIndicesWithTheSeparator) {
  EXPECT_EQ(ChunkKey({kBare, '.'}, Dims{12, 3}), "12.3");
  EXPECT_EQ(ChunkKey({kBare, '/'}, Dims{12, 3}), "12/3");
  EXPECT_EQ(ChunkKey({kBare, '.'}, Dims{0}), "0");
  EXPECT_EQ(ChunkKey({kBare, '.'}, Dims{INT64_MAX, 0}), "9223372036854775807.0");
}

TEST(ChunkKeyTest, PutsTheSeparatorAlsoBehindThePrefix) {
  EXPECT_EQ(ChunkKey({kPrefix, '/'}, Dims{0, 1}), "c/0/1");
  EXPECT_EQ(ChunkKey({kPrefix, '.'}, Dims{0, 1}), "c.0.1");
}

TEST(ChunkKeyTest, NamesTheOneChunkOfRankZero) {
  EXPECT_EQ(ChunkKey({kBare, '.'}, Dims{}), "0");
  EXPECT_EQ(ChunkKey({kBare, '/'}, Dims{}), "0");
  EXPECT_EQ(ChunkKey({kPrefix, '/'}, Dims{}), "c");
  EXPECT_EQ(ChunkKey({kPrefix, '.'}, Dims{}), "c");
}

}  // namespace
}  // namespace tessera::zarr
