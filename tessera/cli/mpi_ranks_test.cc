#include "tessera/cli/mpi_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::cli {
namespace {

class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
                             "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "PMIX_RANK"}) {
      unsetenv(name);
    }
  }
};

TEST_F(LaunchTest, WithoutALauncherThereIsOne) {
  EXPECT_EQ(LaunchOfEnvironment().size, 1);
  EXPECT_EQ(OpenRanks({})->comm, nullptr);
}

TEST_F(LaunchTest, LaunchersTellSizeAndRank) {
  setenv("PMIX_RANK", "3", 1);
  EXPECT_EQ(LaunchOfEnvironment().size, 0);
  EXPECT_EQ(LaunchOfEnvironment().rank, 3);
  setenv("PMI_SIZE", "8", 1);
  setenv("PMI_RANK", "5", 1);
  EXPECT_EQ(LaunchOfEnvironment().size, 8);
  EXPECT_EQ(LaunchOfEnvironment().rank, 5);
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(LaunchOfEnvironment().size, 1);
  setenv("OMPI_COMM_WORLD_SIZE", "many", 1);
  EXPECT_EQ(LaunchOfEnvironment().size, 8);
}

}  // namespace
}  // namespace tessera::cli
