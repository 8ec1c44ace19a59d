// The MPI engine through the conformance suite, run by mpirun with several ranks.
#include "tessera/comm/mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

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

// How many of the words are not what Words() has at their place.
size_t CountWrong(std::span<const uint64_t> words) {
  size_t wrong = 0;
  for (size_t i = 0; i < words.size(); ++i) wrong += words[i] != i * 0x9E3779B97F4A7C15u ? 1 : 0;
  return wrong;
}

std::vector<uint64_t> Words(size_t count) {
  std::vector<uint64_t> words(count);
  for (size_t i = 0; i < count; ++i) words[i] = i * 0x9E3779B97F4A7C15u;
  return words;
}

// With TESSERA_COMM_LARGE_TEST=1 in the environment each message has more than 2 GiB.  For two
// ranks that takes 8 GiB of memory.
TEST(LargeMessageTest, MoreThanAnIntCanCountArrives) {
  const bool large = std::getenv("TESSERA_COMM_LARGE_TEST") != nullptr;
  const size_t count = large ? (size_t{9} << 25) + 1234 : 1234;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto comm, OpenMpi(TestSession()));
  const int last = comm->size() - 1;
  const auto out =
      std::make_shared<const std::vector<uint64_t>>(Words(comm->rank() == 0 ? count : 0));
  std::vector<uint64_t> in(comm->rank() == last ? count : 0);
  const std::span<const std::byte> out_bytes = std::as_bytes(std::span(*out));
  std::vector<Send> sends;
  std::vector<Receive> receives;
  if (comm->rank() == 0) sends.push_back({last, out_bytes});
  if (comm->rank() == last) receives.push_back({0, std::as_writable_bytes(std::span(in))});
  ASSERT_THAT(comm->Exchange(sends, receives), IsOk());
  EXPECT_EQ(CountWrong(in), 0u);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Bytes all, comm->Broadcast(Bytes::Borrow(out_bytes, out), 0));
  ASSERT_EQ(all.size(), count * sizeof(uint64_t));
  EXPECT_EQ(CountWrong({reinterpret_cast<const uint64_t*>(all.data()), count}), 0u);
}

}  // namespace
}  // namespace tessera::comm
