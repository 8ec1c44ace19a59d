// Resharding between processes, run by mpirun with several ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/reshard_check.h"
#include "tessera/comm/testing/mpi_main.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using ::tessera::testing::IsOk;

TEST(ReshardMpiTest, TwoHundredRandomCasesEqualTheWholeArray) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto comm, comm::OpenMpi(comm::testing::TestSession()));
  EXPECT_THAT(testing::CheckReshards(10'000, 200, *comm), IsOk());
}

}  // namespace
}  // namespace tessera::array
