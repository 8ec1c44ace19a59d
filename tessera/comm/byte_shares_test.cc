#include "tessera/comm/byte_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tessera::comm {
namespace {

using ::testing::ElementsAre;

std::vector<int> Dealt(int ranks, const std::vector<int64_t>& pieces) {
  ByteShares shares(ranks);
  std::vector<int> dealt;
  for (const int64_t bytes : pieces) dealt.push_back(shares.Deal(bytes));
  return dealt;
}

TEST(ByteSharesTest, APieceFallsToTheRankWithTheFewestBytes) {
  EXPECT_THAT(Dealt(3, {100, 10, 10, 50, 60, 1}), ElementsAre(0, 1, 2, 1, 2, 1));
}

TEST(ByteSharesTest, PiecesWithoutBytesGoRound) {
  EXPECT_THAT(Dealt(2, {0, 0, 0, 0}), ElementsAre(0, 1, 0, 1));
}

TEST(ByteSharesTest, OneRankGetsAll) { EXPECT_THAT(Dealt(1, {5, 0, 7}), ElementsAre(0, 0, 0)); }

TEST(ByteSharesTest, SizesPastAnyDiskDoNotOverflow) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Dealt(2, {most, most, most, most}), ElementsAre(0, 1, 0, 1));
}

}  // namespace
}  // namespace tessera::comm
