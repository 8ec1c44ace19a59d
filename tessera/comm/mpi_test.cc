// The MPI engine through the conformance suite, run by mpirun with several ranks.
#include "tessera/comm/mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <thread>

#include "tessera/comm/testing/conformance.h"
#include "tessera/comm/testing/mpi_main.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::comm {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using testing::CommConformance;
using testing::CommFailureConformance;
using testing::EngineMaker;
using testing::EngineName;
using ::testing::HasSubstr;
using testing::RankBody;
using testing::TestSession;

EngineMaker Mpi(const char* name, int64_t block_bytes) {
  return {name, [block_bytes](const RankBody& body) -> absl::Status {
            TESSERA_ASSIGN_OR_RETURN(const auto comm,
                                     OpenMpi(TestSession(), {.block_bytes = block_bytes}));
            return body(*comm);
          }};
}

INSTANTIATE_TEST_SUITE_P(Mpi, CommConformance,
                         ::testing::Values(Mpi("whole", int64_t{1} << 30),
                                           Mpi("in_blocks", 20'000)),
                         EngineName);
INSTANTIATE_TEST_SUITE_P(Mpi, CommFailureConformance,
                         ::testing::Values(Mpi("whole", int64_t{1} << 30)), EngineName);

TEST(OpenMpiTest, TakesTheRanksOfTheParent) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int expected = 0;
  MPI_Comm_rank(half, &expected);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto comm,
                               OpenMpi(TestSession(), {.parent = MPI_Comm_c2f(half)}));
  MPI_Comm_free(&half);
  EXPECT_EQ(comm->rank(), expected);
  EXPECT_THAT(comm->AllReduce(rank % 2, ReduceOp::kMin), IsOkAndHolds(rank % 2));
  EXPECT_THAT(comm->AllReduce(rank % 2, ReduceOp::kMax), IsOkAndHolds(rank % 2));
}

TEST(OpenMpiTest, RefusesBlocksThatMpiCannotCount) {
  EXPECT_THAT(OpenMpi(TestSession(), {.block_bytes = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("block_bytes is from 0")));
  EXPECT_THAT(OpenMpi(TestSession(), {.block_bytes = int64_t{1} << 31}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 to 2147483647")));
}

TEST(OpenMpiTest, TwoCommsWorkAtTheSameTime) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto first, OpenMpi(TestSession()));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto second, OpenMpi(TestSession()));
  const auto count = [](Comm& comm) {
    for (int i = 0; i < 50; ++i) ASSERT_THAT(comm.AllReduce(i, ReduceOp::kMax), IsOkAndHolds(i));
  };
  std::jthread other([&] { count(*second); });
  count(*first);
}

TEST(MpiSessionTest, AnotherSessionJoinsTheFirst) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto joined, MpiSession::Open());
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto comm, OpenMpi(*joined));
  EXPECT_THAT(comm->Barrier(), IsOk());
}

// TESSERA_COMM_LARGE_TEST=1 moves more than 2 GiB at once: twice that in memory for each of two
// ranks, and half a minute.
TEST(LargeMessageTest, MoreThanAnIntCanCountArrives) {
  const char* const wanted = std::getenv("TESSERA_COMM_LARGE_TEST");
  const size_t size = wanted != nullptr ? (size_t{9} << 28) + 12345 : 12345;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto comm, OpenMpi(TestSession()));
  const bool sender = comm->rank() == 0;
  const bool receiver = comm->rank() == comm->size() - 1;
  const auto at = [](size_t i) { return static_cast<std::byte>((i * 2654435761u) >> 24); };
  std::vector<std::byte> bytes(sender || receiver ? size : 0);
  for (size_t i = 0; i < bytes.size() && sender; ++i) bytes[i] = at(i);
  std::vector<Send> sends;
  std::vector<Receive> receives;
  if (sender) sends.push_back({comm->size() - 1, bytes});
  if (receiver && !sender) receives.push_back({0, bytes});
  if (comm->size() == 1) sends.clear();
  ASSERT_THAT(comm->Exchange(sends, receives), IsOk());
  size_t wrong = 0;
  for (size_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] != at(i) ? 1 : 0;
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace tessera::comm
