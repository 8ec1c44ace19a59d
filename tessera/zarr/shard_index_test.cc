#include "tessera/zarr/shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Optional;

std::vector<std::byte> BytesOf(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// Two chunks: four bytes at the start, and one that is missing.  FORMAT.md has the same example.
const std::vector<std::byte> kIndex =
    BytesOf({0,    0,    0,    0,    0,    0,    0,    0,    4,    0,    0,    0,
             0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
             0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x8a, 0x07, 0x29, 0xc5});

class ShardIndexTest : public ::testing::Test {
 protected:
  codec::ArrayCodec Codec(int64_t chunks) {
    return codec::ArrayCodec::Make(
               {{{chunks, 2}, DType::kUint64}, {}, codec::Endian::kLittle, {codec::Crc32cSpec{}}})
        .value();
  }
  codec::Scratch scratch_;
};

TEST_F(ShardIndexTest, ReadsAndWritesTheExampleOfTheFormat) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const ShardIndex index,
                               ShardIndex::Decode(Codec(2), kIndex, scratch_));
  EXPECT_EQ(index.chunk_count(), 2);
  EXPECT_THAT(index.At(0, 40), IsOkAndHolds(Optional(Extent{0, 4})));
  EXPECT_THAT(index.At(1, 40), IsOkAndHolds(std::nullopt));
  ShardIndex made(2);
  made.Set(0, {0, 4});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto encoded, made.Encode(Codec(2), scratch_));
  EXPECT_EQ(std::vector<std::byte>(encoded.begin(), encoded.end()), kIndex);
}

TEST_F(ShardIndexTest, RejectsExtentsPastTheShard) {
  ShardIndex index(3);
  index.Set(0, {36, 5});
  index.Set(1, {~uint64_t{0}, 2});
  index.Set(2, {2, ~uint64_t{0}});
  for (const int chunk : {0, 1, 2}) {
    EXPECT_THAT(index.At(chunk, 40),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("but the shard has 40")));
  }
  EXPECT_THAT(index.At(0, 41), IsOkAndHolds(Optional(Extent{36, 5})));
}

TEST_F(ShardIndexTest, RejectsEveryTruncationAndFlippedByte) {
  for (size_t length = 0; length < kIndex.size(); ++length) {
    EXPECT_THAT(ShardIndex::Decode(Codec(2), std::span(kIndex).first(length), scratch_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("shard index")));
  }
  for (size_t i = 0; i < kIndex.size(); ++i) {
    std::vector<std::byte> damaged = kIndex;
    damaged[i] ^= std::byte{0x40};
    EXPECT_THAT(ShardIndex::Decode(Codec(2), damaged, scratch_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("crc32c")));
  }
}

}  // namespace
}  // namespace tessera::zarr
