#include "tessera/convert/staging.h"

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
using ::testing::AllOf;
using ::testing::HasSubstr;

class StagingTest : public ::testing::Test {
 protected:
  DestinationPath Destination() const { return {folder_.path().string(), "made"}; }
  std::string DataFile() const { return DataFolder(Destination().staging()) + "/a"; }

  // A conversion that got as far as `state`, and ended.
  void Leave(const std::string& digest, Staging::State state) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto staging, Staging::Take(Destination(), digest, true));
    std::ofstream(DataFile()) << "data";
    ASSERT_THAT(staging->SetState(state), IsOk());
  }

  // Whether the next one goes on with it.
  void ExpectResumed(const std::string& digest, bool resume, bool expected) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto staging, Staging::Take(Destination(), digest, resume));
    EXPECT_EQ(staging->resumed(), expected);
    EXPECT_EQ(fs::exists(DataFile()), expected);
  }

  store::testing::TemporaryFolder folder_;
};

TEST_F(StagingTest, GoesOnWithTheSameConversionOnly) {
  Leave("digest", Staging::State::kPrepared);
  ExpectResumed("digest", true, true);
  ExpectResumed("another", true, false);
}

TEST_F(StagingTest, BeginsAnewWhenAskedTo) {
  Leave("digest", Staging::State::kPrepared);
  ExpectResumed("digest", false, false);
}

TEST_F(StagingTest, DoesNotTrustDataThatMayBeTheOldDestination) {
  Leave("digest", Staging::State::kPublishing);
  ExpectResumed("digest", true, false);
}

TEST_F(StagingTest, DoesNotTrustWhatWasNotPrepared) {
  Leave("digest", Staging::State::kBegun);
  ExpectResumed("digest", true, false);
}

TEST_F(StagingTest, IsHeldByOneAtATime) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto staging, Staging::Take(Destination(), "digest", true));
  EXPECT_THAT(Staging::Take(Destination(), "digest", true),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("process "), HasSubstr("converting to this destination"))));
  EXPECT_THAT(staging->Remove(), IsOk());
  EXPECT_FALSE(fs::exists(Destination().staging()));
}

TEST_F(StagingTest, LeavesFoldersOfOthersAlone) {
  fs::create_directories(Destination().staging());
  std::ofstream(Destination().staging() + "/mine") << "text";
  EXPECT_THAT(Staging::Take(Destination(), "digest", true),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has no conversion.json but 1 other files")));
  std::ofstream(Destination().staging() + "/conversion.json") << "text";
  EXPECT_THAT(Staging::Take(Destination(), "digest", true),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("it is no record of a conversion")));
  EXPECT_TRUE(fs::exists(Destination().staging() + "/mine"));
}

}  // namespace
}  // namespace tessera::convert
