#include "tessera/checkpoint/open_location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(FolderOfTest, APathIsTheFolderAndTheIndexLiesInIt) {
  EXPECT_THAT(FolderOf("/data/run-1"), IsOkAndHolds(std::string("/data/run-1")));
  EXPECT_THAT(FolderOf("run-1"), IsOkAndHolds(std::string("run-1")));
  EXPECT_THAT(FolderOf("/data/run-1/tensorstore_index.json"),
              IsOkAndHolds(std::string("/data/run-1")));
  EXPECT_THAT(FolderOf("/tensorstore_index.json"), IsOkAndHolds(std::string("/")));
  EXPECT_THAT(FolderOf("tensorstore_index.json"), IsOkAndHolds(std::string(".")));
}

TEST(FolderOfTest, AFileUrlIsAPath) {
  EXPECT_THAT(FolderOf("file:///data/a%20b"), IsOkAndHolds(std::string("/data/a b")));
  EXPECT_THAT(FolderOf("file://localhost/data"), IsOkAndHolds(std::string("/data")));
  EXPECT_THAT(FolderOf("file:///d/tensorstore_index.json"), IsOkAndHolds(std::string("/d")));
  EXPECT_THAT(FolderOf("file://elsewhere/data"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the host 'elsewhere'")));
  EXPECT_THAT(FolderOf("file:///data%2"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hexadecimal")));
  EXPECT_THAT(FolderOf("file:///data%zz"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hexadecimal")));
}

TEST(FolderOfTest, OtherSchemesAreNamed) {
  EXPECT_THAT(FolderOf("gs://bucket/run"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("gs://")));
  EXPECT_THAT(FolderOf("s3://bucket/run"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("s3://")));
  EXPECT_THAT(FolderOf(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a folder")));
}

TEST(OpenLocationTest, AFolderThatIsNotThereIsNotMade) {
  const store::testing::TemporaryFolder folder;
  EXPECT_THAT(OpenLocation(folder.path().string()), IsOk());
  const auto missing = folder.path() / "missing";
  EXPECT_THAT(OpenLocation(missing.string()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
  EXPECT_FALSE(std::filesystem::exists(missing));
}

}  // namespace
}  // namespace tessera::checkpoint
