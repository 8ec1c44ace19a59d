#include "tessera/safetensors/shard_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;

TEST(DeriveBasePrefixFromPathTest, CutsSuffixAndOneNumbering) {
  EXPECT_EQ(DeriveBasePrefixFromPath("/x/model.safetensors"), "/x/model");
  EXPECT_EQ(DeriveBasePrefixFromPath("/x/model.safetensors.index.json"), "/x/model");
  EXPECT_EQ(DeriveBasePrefixFromPath("/x/model-00001-of-00004"), "/x/model");
  EXPECT_EQ(DeriveBasePrefixFromPath("a-00001-of-00002-00003-of-00004.safetensors"),
            "a-00001-of-00002");
  EXPECT_EQ(DeriveBasePrefixFromPath("m-100000-of-100001.safetensors"), "m");
}

TEST(DeriveBasePrefixFromPathTest, KeepsWhatIsNoNumbering) {
  EXPECT_EQ(DeriveBasePrefixFromPath("/x/model-1-of-4.safetensors"), "/x/model-1-of-4");
  EXPECT_EQ(DeriveBasePrefixFromPath("x-00001-of-00002.safetensors.index.json"),
            "x-00001-of-00002");
  EXPECT_EQ(DeriveBasePrefixFromPath(""), "");
  EXPECT_EQ(DeriveBasePrefixFromPath("00001-of-00002"), "00001-of-00002");
}

TEST(ShardFilenameTest, PadsToFiveDigits) {
  EXPECT_THAT(ShardFilename("/c/m", 1, 4), IsOkAndHolds(Eq("/c/m-00001-of-00004.safetensors")));
  EXPECT_THAT(ShardFilename("m", 100000, 100001),
              IsOkAndHolds(Eq("m-100000-of-100001.safetensors")));
}

TEST(ShardFilenameTest, RefusesNumbersOutOfRange) {
  for (const auto& [index, total] : {std::pair{0, 0}, {0, 3}, {4, 3}, {-1, 3}}) {
    EXPECT_THAT(ShardFilename("m", index, total),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 <= shard")));
  }
}

RC_GTEST_PROP(ShardNamesProperty, TheStemComesBack, ()) {
  const auto stem =
      *rc::gen::container<std::string>(rc::gen::element('a', '/', '.', '-', 'o', 'f'));
  const auto total = *rc::gen::inRange<int64_t>(1, 2'000'000);
  const auto index = *rc::gen::inRange<int64_t>(1, total + 1);
  RC_ASSERT(DeriveBasePrefixFromPath(*ShardFilename(stem, index, total)) == stem);
  RC_ASSERT(DeriveBasePrefixFromPath(IndexFilename(stem)) == stem);
}

}  // namespace
}  // namespace tessera::safetensors
