#include "tessera/probe/scratch.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::probe {
namespace {

namespace fs = std::filesystem;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ScratchTest : public ::testing::Test {
 protected:
  std::string Path(std::string_view name = "") const { return (folder_.path() / name).string(); }
  void MakeLeftover(std::string_view name) const {
    fs::create_directories(Path(name) + "/small-files");
    std::ofstream(Path(name) + "/small-files/file-1") << "text";
  }

  store::testing::TemporaryFolder folder_;
};

TEST_F(ScratchTest, IsGoneWithAllThatLiesInItWhenItEnds) {
  {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Scratch scratch, Scratch::Make(Path()));
    EXPECT_THAT(scratch.path(), HasSubstr(".tessera-doctor-"));
    fs::create_directories(scratch.Path("a/b"));
    std::ofstream(scratch.Path("a/b/c")) << "text";
  }
  EXPECT_TRUE(fs::is_empty(Path()));
}

TEST_F(ScratchTest, IsRemovedOnce) {
  TESSERA_ASSERT_OK_AND_ASSIGN(Scratch scratch, Scratch::Make(Path()));
  Scratch moved = std::move(scratch);
  EXPECT_THAT(moved.Remove(), IsOk());
  EXPECT_TRUE(fs::is_empty(Path()));
  EXPECT_THAT(moved.Remove(), IsOk());
}

TEST_F(ScratchTest, WantsAFolder) {
  std::ofstream(Path("file")) << "text";
  EXPECT_THAT(Scratch::Make(Path("file")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("found a file")));
  EXPECT_THAT(Scratch::Make(Path("missing")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("No such file")));
  // Nobody, not even root, makes folders there.
  EXPECT_THAT(Scratch::Make("/proc/self"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("make a folder in it")));
}

TEST_F(ScratchTest, RemovesWhatAKilledRunHasLeft) {
  MakeLeftover(".tessera-doctor-killed");
  MakeLeftover("tessera-doctor-other");
  const Leftovers leftovers = RemoveLeftovers(Path());
  EXPECT_THAT(leftovers.removed, ElementsAre(Path(".tessera-doctor-killed")));
  EXPECT_THAT(leftovers.kept, IsEmpty());
  EXPECT_FALSE(fs::exists(Path(".tessera-doctor-killed")));
  EXPECT_TRUE(fs::exists(Path("tessera-doctor-other/small-files/file-1")));
}

TEST_F(ScratchTest, KeepsWhatIsInUse) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Scratch scratch, Scratch::Make(Path()));
  const Leftovers leftovers = RemoveLeftovers(Path());
  EXPECT_THAT(leftovers.removed, IsEmpty());
  EXPECT_THAT(leftovers.kept, ElementsAre(scratch.path()));
  EXPECT_TRUE(fs::exists(scratch.path()));
}

TEST_F(ScratchTest, FollowsNoLinkOutOfTheFolder) {
  fs::create_directories(Path("precious/inside"));
  fs::create_directory_symlink(Path("precious"), Path(".tessera-doctor-linked"));
  MakeLeftover(".tessera-doctor-killed");
  fs::create_directory_symlink(Path("precious"), Path(".tessera-doctor-killed/link"));
  const Leftovers leftovers = RemoveLeftovers(Path());
  EXPECT_THAT(leftovers.removed, ElementsAre(Path(".tessera-doctor-killed")));
  EXPECT_THAT(leftovers.kept, ElementsAre(Path(".tessera-doctor-linked")));
  EXPECT_TRUE(fs::exists(Path("precious/inside")));
}

TEST_F(ScratchTest, FindsNothingWhereThereIsNoFolder) {
  const Leftovers leftovers = RemoveLeftovers(Path("missing"));
  EXPECT_THAT(leftovers.removed, IsEmpty());
  EXPECT_THAT(leftovers.kept, IsEmpty());
}

}  // namespace
}  // namespace tessera::probe
