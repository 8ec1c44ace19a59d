#include "tessera/store/gcs_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::store {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(IsGcsPathTest, TheSchemeIsExact) {
  EXPECT_TRUE(IsGcsPath("gs://b/c"));
  EXPECT_TRUE(IsGcsPath("gs://"));
  for (const char* path : {"GS://b", "gs:/b", "/l", "", "s3://b"}) EXPECT_FALSE(IsGcsPath(path));
}

TEST(ParseGcsPathTest, SplitsAtTheFirstSlash) {
  EXPECT_THAT(ParseGcsPath("gs://bucket/p/f"), IsOkAndHolds(GcsPath{"bucket", "p/f"}));
  EXPECT_THAT(ParseGcsPath("gs://bucket"), IsOkAndHolds(GcsPath{"bucket", ""}));
  EXPECT_THAT(ParseGcsPath("gs://bucket/"), IsOkAndHolds(GcsPath{"bucket", ""}));
  EXPECT_THAT(ParseGcsPath("gs://b//a"), IsOkAndHolds(GcsPath{"b", "/a"}));
}

TEST(ParseGcsPathTest, RefusesOtherSchemesAndNoBucket) {
  EXPECT_THAT(ParseGcsPath("s3://b/c"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'s3://b/c' is no")));
  EXPECT_THAT(ParseGcsPath("gs:///c"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'gs:///c' names no bucket")));
}

}  // namespace
}  // namespace tessera::store
