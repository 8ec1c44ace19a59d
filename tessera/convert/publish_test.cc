#include "tessera/convert/publish.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::convert {
namespace {

namespace fs = std::filesystem;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

class PublishTest : public ::testing::Test {
 protected:
  std::string Path(std::string_view name) const { return (folder_.path() / name).string(); }
  void WriteFile(std::string_view name, std::string_view text) const {
    fs::create_directories(fs::path(Path(name)).parent_path());
    std::ofstream(Path(name)) << text;
  }
  std::string ReadFile(std::string_view name) const {
    std::ifstream file(Path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  store::testing::TemporaryFolder folder_;
};

TEST_F(PublishTest, MovesAFolderToAFreePath) {
  WriteFile("new/a", "1");
  EXPECT_THAT(Publish(Path("new"), Path("there"), false), IsOk());
  EXPECT_EQ(ReadFile("there/a"), "1");
  EXPECT_FALSE(IsThere(Path("new")));
}

TEST_F(PublishTest, RefusesAPathThatIsTakenUnlessAskedTo) {
  WriteFile("new/a", "1");
  WriteFile("there/b", "2");
  EXPECT_THAT(Publish(Path("new"), Path("there"), false),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("there already")));
  EXPECT_EQ(ReadFile("there/b"), "2");
  EXPECT_THAT(Publish(Path("new"), Path("there"), true), IsOk());
  EXPECT_EQ(ReadFile("there/a"), "1");
  EXPECT_EQ(ReadFile("new/b"), "2");
}

TEST_F(PublishTest, ExchangesAFileWithAFolder) {
  WriteFile("new", "file");
  WriteFile("there/b", "2");
  EXPECT_THAT(Publish(Path("new"), Path("there"), true), IsOk());
  EXPECT_EQ(ReadFile("there"), "file");
  EXPECT_EQ(ReadFile("new/b"), "2");
}

TEST_F(PublishTest, MovesWhereOverwritingFindsNothing) {
  WriteFile("new", "file");
  EXPECT_THAT(Publish(Path("new"), Path("there"), true), IsOk());
  EXPECT_EQ(ReadFile("there"), "file");
}

TEST_F(PublishTest, SaysWhatIsMissing) {
  EXPECT_THAT(Publish(Path("new"), Path("there"), false),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("No such file")));
}

TEST_F(PublishTest, ResolvesNamesInFolders) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto path, ResolveDestination(Path("a/b/model.safetensors/")));
  EXPECT_EQ(path.name, "model.safetensors");
  EXPECT_EQ(path.path(), Path("a/b/model.safetensors"));
  EXPECT_EQ(path.staging(), Path("a/b/.model.safetensors.tessera-convert"));
  EXPECT_TRUE(fs::is_directory(Path("a/b")));
  for (const char* wrong : {"/", "..", ".", "", "a/.."}) {
    EXPECT_THAT(ResolveDestination(wrong), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr("expected a name in a folder")))
        << wrong;
  }
}

}  // namespace
}  // namespace tessera::convert
