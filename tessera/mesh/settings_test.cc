#include "tessera/mesh/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;

TEST(MinShardingSizeTest, ReadsPythonIntegers) {
  EXPECT_THAT(ParseMinShardingSize(std::nullopt), IsOkAndHolds(16384));
  EXPECT_THAT(ParseMinShardingSize(" 1_024 "), IsOkAndHolds(1024));
  EXPECT_THAT(ParseMinShardingSize("-3"), IsOkAndHolds(0));
  EXPECT_THAT(ParseMinShardingSize(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 "MIN_SHARDING_SIZE: '' is not an integer"));
}

TEST(LogShardingMoveTest, FourWordsInAnyCaseTurnItOn) {
  for (const char* text : {"true", "yes", "1", "on", "True", "ON"}) {
    EXPECT_TRUE(ParseLogShardingMove(text)) << text;
  }
  for (const char* text : {"", "false", "0", "2", "y", " true"}) {
    EXPECT_FALSE(ParseLogShardingMove(text)) << text;
  }
  EXPECT_FALSE(ParseLogShardingMove(std::nullopt));
}

}  // namespace
}  // namespace tessera::mesh
