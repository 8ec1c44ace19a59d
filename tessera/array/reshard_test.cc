#include "tessera/array/reshard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tessera/array/testing/reshard_check.h"
#include "tessera/comm/alone.h"
#include "tessera/comm/threads.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"

namespace tessera::array {
namespace {

using comm::Comm;
using mesh::Mesh;
using mesh::NamedSharding;
using mesh::PartitionSpec;
using mesh::Sharding;
using mesh::SingleDeviceSharding;
using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using testing::CheckReshards;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// For each number of ranks, of which there are four: 2,000 together.
constexpr int kCases = 500;

TEST(ReshardOracleTest, RandomCasesEqualTheWholeArrayAlone) {
  EXPECT_THAT(CheckReshards(0, kCases, *comm::MakeAlone()), IsOk());
}

class ReshardOnThreadsTest : public ::testing::TestWithParam<int> {};

TEST_P(ReshardOnThreadsTest, RandomCasesEqualTheWholeArray) {
  const auto first = static_cast<uint64_t>(1'000 * GetParam());
  EXPECT_THAT(
      comm::RunRanks(GetParam(), [&](Comm& comm) { return CheckReshards(first, kCases, comm); }),
      IsOk());
}

INSTANTIATE_TEST_SUITE_P(Ranks, ReshardOnThreadsTest, ::testing::Values(2, 3, 4));

TEST(ReshardOracleTest, RandomCasesOnDevicesThatTheHostCannotReach) {
  EXPECT_THAT(
      comm::RunRanks(
          3, [](Comm& comm) { return CheckReshards(9'000, 100, comm, testing::DeviceKind::kFar); }),
      IsOk());
}

// Device r belongs to rank r.
Mesh OnePerRank(int ranks) {
  std::vector<mesh::Device> devices;
  for (int i = 0; i < ranks; ++i) devices.push_back({i, i});
  return *Mesh::Make({{"x", ranks}}, devices);
}

Sharding OnMesh(const Mesh& mesh, PartitionSpec spec) { return *NamedSharding::Make(mesh, spec); }

std::unique_ptr<device::Platform> PlatformOf(int rank, int64_t limit = device::kNoLimit) {
  return *device::MakeHostPlatform(
      {.count = 1, .limit_bytes = limit, .process = rank, .ids = {rank}});
}

// What Reshard returns on each of `ranks` ranks, from what each of them is given.
struct Given {
  Dims shape{4, 4};
  DType dtype = DType::kFloat32;
  Sharding from = SingleDeviceSharding{};
  Sharding to = SingleDeviceSharding{};
  int64_t budget_bytes = int64_t{1} << 20;
  int64_t limit = device::kNoLimit;
  int process_shift = 0;
};

std::vector<absl::Status> ReshardOnRanks(int ranks, const std::function<Given(int rank)>& give) {
  std::vector<absl::Status> results(static_cast<size_t>(ranks));
  const absl::Status status = comm::RunRanks(ranks, [&](Comm& comm) -> absl::Status {
    const Given given = give(comm.rank());
    const auto platform = PlatformOf(comm.rank(), given.limit);
    const std::vector<std::byte> memory(static_cast<size_t>(*NumBytes(given.dtype, given.shape)));
    TESSERA_ASSIGN_OR_RETURN(
        const ShardedArray source,
        ShardedArray::FromHost(RowMajorView(memory.data(), given.shape, DTypeBytes(given.dtype)),
                               given.dtype, given.from, *platform));
    const auto other = PlatformOf(comm.rank() + given.process_shift, given.limit);
    results[static_cast<size_t>(comm.rank())] =
        Reshard(source, given.to, given.process_shift == 0 ? *platform : *other, comm,
                {.budget_bytes = given.budget_bytes})
            .status();
    // The ranks can still talk to each other after the error.
    return comm.Barrier();
  });
  EXPECT_THAT(status, IsOk());
  return results;
}

Given RowsToColumns(int ranks) {
  const Mesh mesh = OnePerRank(ranks);
  return {.from = OnMesh(mesh, {"x"}), .to = OnMesh(mesh, {nullptr, "x"})};
}

TEST(ReshardTest, ShapesThatDifferBetweenRanksAreNamedOnEveryRank) {
  const auto results = ReshardOnRanks(4, [](int rank) {
    Given given = RowsToColumns(4);
    if (rank == 2) given.shape = {8, 4};
    return given;
  });
  for (const absl::Status& status : results) {
    EXPECT_THAT(status, StatusIs(kInvalid,
                                 "ranks differ in the shape: ranks 0, 1, 3 have [4,4], "
                                 "rank 2 has [8,4]"));
  }
}

TEST(ReshardTest, DtypesThatDifferBetweenRanksAreNamedOnEveryRank) {
  const auto results = ReshardOnRanks(2, [](int rank) {
    Given given = RowsToColumns(2);
    if (rank == 1) given.dtype = DType::kInt32;
    return given;
  });
  for (const absl::Status& status : results) {
    EXPECT_THAT(
        status,
        StatusIs(kInvalid, "ranks differ in the dtype: rank 0 has float32, rank 1 has int32"));
  }
}

TEST(ReshardTest, ShardingsThatDifferBetweenRanksAreNamedOnEveryRank) {
  const Mesh swapped = *Mesh::Make({{"x", 2}}, {{1, 1}, {0, 0}});
  const auto targets = ReshardOnRanks(2, [&](int rank) {
    Given given = RowsToColumns(2);
    if (rank == 1) given.to = OnMesh(swapped, {nullptr, "x"});
    return given;
  });
  const auto sources = ReshardOnRanks(2, [&](int rank) {
    Given given = RowsToColumns(2);
    if (rank == 1) given.from = OnMesh(OnePerRank(2), {nullptr, "x"});
    return given;
  });
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(targets[i], StatusIs(kInvalid, AllOf(HasSubstr("the target's sharding"),
                                                     HasSubstr("on devices 0@0 1@1, rank 1 has"),
                                                     HasSubstr("on devices 1@1 0@0"))));
    EXPECT_THAT(sources[i], StatusIs(kInvalid, AllOf(HasSubstr("the source's sharding: rank 0"),
                                                     HasSubstr("rank 1 has NS("))));
  }
}

TEST(ReshardTest, BudgetsThatDifferBetweenRanksAreNamedOnEveryRank) {
  const auto results = ReshardOnRanks(2, [](int rank) {
    Given given = RowsToColumns(2);
    given.budget_bytes = 100 + rank;
    return given;
  });
  for (const absl::Status& status : results) {
    EXPECT_THAT(status,
                StatusIs(kInvalid, "ranks differ in budget_bytes: rank 0 has 100, rank 1 has 101"));
  }
}

TEST(ReshardTest, ASpecThatDoesNotDivideIsAnErrorOnEveryRank) {
  const auto results = ReshardOnRanks(2, [](int) {
    Given given = RowsToColumns(2);
    given.shape = {4, 3};
    return given;
  });
  for (const absl::Status& status : results) {
    EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("dimension 1 of size 3")));
    EXPECT_THAT(status, HasKind(ErrorKind::kIndivisible));
  }
}

TEST(ReshardTest, ADeviceWithoutRoomIsAnErrorOnEveryRank) {
  const auto results = ReshardOnRanks(3, [](int rank) {
    const Mesh mesh = OnePerRank(3);
    Given given{.shape = {6, 6}, .from = OnMesh(mesh, {"x"}), .to = OnMesh(mesh, {nullptr, "x"})};
    if (rank == 1) given.limit = 60;  // 48 are taken by the source
    return given;
  });
  for (const absl::Status& status : results) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                 "rank 1: device 1, box [0:6,2:4]: device 1 has no room for 48 "
                                 "bytes: 48 of its limit of 60 are in use"));
  }
}

TEST(ReshardTest, ADeviceOfNoRankIsAnErrorOnEveryRank) {
  const auto results = ReshardOnRanks(2, [](int) {
    Given given = RowsToColumns(2);
    given.to = SingleDeviceSharding{{7, 5}};
    return given;
  });
  for (const absl::Status& status : results) {
    EXPECT_THAT(status, StatusIs(kInvalid, "device 7 belongs to process 5, but there are 2 ranks"));
  }
}

TEST(ReshardTest, ADeviceThatItsProcessLacksIsAnErrorOnEveryRank) {
  const auto results = ReshardOnRanks(2, [](int) {
    Given given = RowsToColumns(2);
    given.to = SingleDeviceSharding{{9, 1}};
    return given;
  });
  for (const absl::Status& status : results) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                                 HasSubstr("rank 1: device 9 of SDS(9) belongs to process 1")));
  }
}

TEST(ReshardTest, APlatformOfAnotherProcessIsAnErrorOnEveryRank) {
  const auto results = ReshardOnRanks(2, [](int rank) {
    Given given = RowsToColumns(2);
    given.process_shift = rank == 1 ? 3 : 0;
    return given;
  });
  for (const absl::Status& status : results) {
    EXPECT_THAT(status, StatusIs(kInvalid,
                                 "rank 1: the platform is that of process 4, expected "
                                 "the rank's"));
  }
}

TEST(ReshardTest, ARankThatDoesNotComeIsNamedWithinTheLimit) {
  std::vector<absl::Status> results(2);
  EXPECT_THAT(
      comm::RunRanks(3,
                     [&](Comm& comm) -> absl::Status {
                       if (comm.rank() == 2) return absl::OkStatus();
                       const auto platform = PlatformOf(comm.rank());
                       const Mesh mesh = OnePerRank(3);
                       const std::vector<std::byte> memory(9 * 4);
                       TESSERA_ASSIGN_OR_RETURN(
                           const ShardedArray source,
                           ShardedArray::FromHost(RowMajorView(memory.data(), Dims{3, 3}, 4),
                                                  DType::kFloat32, OnMesh(mesh, {"x"}), *platform));
                       results[static_cast<size_t>(comm.rank())] =
                           Reshard(source, OnMesh(mesh, {nullptr, "x"}), *platform, comm).status();
                       return absl::OkStatus();
                     }),
      IsOk());
  for (const absl::Status& status : results)
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 2"));
}

// Sources and result of one process with two devices.
class ReshardAloneTest : public ::testing::Test {
 protected:
  ShardedArray Make(const Sharding& sharding) {
    return *ShardedArray::FromHost(
        RowMajorView(reinterpret_cast<const std::byte*>(numbers_.data()), Dims{4, 4}, 4),
        DType::kInt32, sharding, *platform_);
  }

  const Mesh mesh_ = *Mesh::MakeHost({{"x", 2}});
  const std::unique_ptr<device::Platform> platform_ = *device::MakeHostPlatform({.count = 2});
  const std::unique_ptr<Comm> comm_ = comm::MakeAlone();
  const std::vector<int32_t> numbers_ = [] {
    std::vector<int32_t> numbers(16);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }();
};

TEST_F(ReshardAloneTest, RowsBecomeColumns) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardedArray result,
      Reshard(Make(OnMesh(mesh_, {"x"})), OnMesh(mesh_, {nullptr, "x"}), *platform_, *comm_));
  const auto* values = reinterpret_cast<const int32_t*>(result.shards()[1].buffer.data());
  EXPECT_THAT(std::vector<int32_t>(values, values + 8), ElementsAre(2, 3, 6, 7, 10, 11, 14, 15));
}

TEST_F(ReshardAloneTest, KeptShardsShareTheirBuffersAndOthersAreFreed) {
  ShardedArray source = Make(OnMesh(mesh_, {"x"}));
  const std::byte* const before = source.shards()[0].buffer.data();
  TESSERA_ASSERT_OK_AND_ASSIGN(const ShardedArray same,
                               Reshard(source, OnMesh(mesh_, {"x", nullptr}), *platform_, *comm_));
  EXPECT_EQ(same.shards()[0].buffer.data(), before);
  EXPECT_EQ(platform_->Find(0)->in_use(), 32);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      ShardedArray everywhere,
      Reshard(source, NamedSharding::Replicated(mesh_), *platform_, *comm_));
  EXPECT_EQ(platform_->Find(0)->in_use(), 32 + 64);
  everywhere = same;
  EXPECT_EQ(platform_->Find(0)->in_use(), 32);
}

}  // namespace
}  // namespace tessera::array
