#include "tessera/checkpoint/open_location.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
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

// A model in a cache of Hugging Face: snapshots are links to blobs.
class CacheTest : public ::testing::Test {
 protected:
  CacheTest() {
    std::filesystem::create_directories(snapshot_ / "part");
    std::filesystem::create_directories(model_ / "blobs");
    std::ofstream(model_ / "blobs" / "b10b") << "weights";
    std::ofstream(folder_.path() / "outside") << "secret";
    std::filesystem::create_symlink("../../blobs/b10b", snapshot_ / "model.safetensors");
    std::filesystem::create_symlink("../../../blobs/b10b", snapshot_ / "part" / "x.safetensors");
    std::filesystem::create_symlink("../../../outside", snapshot_ / "out");
  }

  const store::testing::TemporaryFolder folder_;
  const std::filesystem::path model_ = folder_.path() / "models--org--name";
  const std::filesystem::path snapshot_ = model_ / "snapshots" / "0123abcd";
};

TEST_F(CacheTest, LinksToBlobsAreFollowed) {
  for (const std::string& path : {snapshot_.string(), snapshot_.string() + "/"}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Location location, OpenLocation(path));
    EXPECT_EQ(location.file, "");
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto read, location.store->Read("model.safetensors"));
    ASSERT_TRUE(read.value.has_value());
    EXPECT_EQ(read.value->text(), "weights");
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(const Location location,
                               OpenLocation((snapshot_ / "part" / "x.safetensors").string()));
  EXPECT_EQ(location.file, "x.safetensors");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto listed, location.store->List(""));
  EXPECT_THAT(listed, ElementsAre(store::ListEntry{"x.safetensors", 7}));
}

TEST_F(CacheTest, LinksOutOfTheModelAreNot) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Location location, OpenLocation(snapshot_.string()));
  EXPECT_FALSE(location.store->Read("out").ok());
  // Without blobs it is a folder like any other.
  std::filesystem::rename(model_ / "blobs", model_ / "others");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Location plain, OpenLocation(snapshot_.string()));
  EXPECT_FALSE(plain.store->Read("model.safetensors").ok());
}

}  // namespace
}  // namespace tessera::checkpoint
