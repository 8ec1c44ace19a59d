#include "tessera/array/to_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tessera/array/testing/arrays.h"
#include "tessera/comm/alone.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Host;
using testing::HostIota;
using testing::Ints;
using testing::InUse;
using testing::Iota;
using testing::On24;
using testing::On24OverRanks;
using testing::PlatformOfRank;
using testing::ShardedIota;
using testing::ValuesOf;

TEST(HostArrayTest, BorrowsOwnedMemoryOnly) {
  const Ints values = Iota(4);
  EXPECT_THAT(HostArray::Borrow(testing::ViewOf(values, {4}), DType::kInt32, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("keeps the memory")));
  EXPECT_THAT(
      HostArray::CopyOf({{5}, DType::kInt32}, std::as_bytes(std::span(values))),
      StatusIs(absl::StatusCode::kInvalidArgument, "int32[5] has 20 bytes, but 16 were given"));
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const HostArray copy,
      HostArray::CopyOf({{2, 2}, DType::kInt32}, std::as_bytes(std::span(values))));
  EXPECT_EQ(ValuesOf(copy), values);
  EXPECT_EQ(ValuesOf(copy.Rows(1, 1)), (Ints{2, 3}));
}

TEST(ToHostTest, GathersWhateverTheSharding) {
  const auto platform = Host(8);
  for (const mesh::PartitionSpec& spec :
       {mesh::PartitionSpec{}, mesh::PartitionSpec{"dp"}, mesh::PartitionSpec{"dp", "tp"},
        mesh::PartitionSpec{"tp", "dp"}, mesh::PartitionSpec{nullptr, {"tp", "dp"}}}) {
    const ShardedArray array = ShardedIota({8, 16}, On24(spec), *platform);
    TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray host, ToHost(array, *platform));
    EXPECT_EQ(ValuesOf(host), Iota(128)) << spec.Text();
  }
  EXPECT_THAT(InUse(*platform), Each(0));
}

TEST(ToHostTest, TakesScalarsAndEmptyArrays) {
  const auto platform = Host(8);
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray scalar,
                               ToHost(ShardedIota({}, On24({}), *platform), *platform));
  EXPECT_EQ(ValuesOf(scalar), Ints{0});
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray empty,
                               ToHost(ShardedIota({0, 4}, On24({"dp"}), *platform), *platform));
  EXPECT_EQ(empty.shape(), (Dims{0, 4}));
}

// Also larger than what streams past the caches.
TEST(ToHostTest, GathersLargeArrays) {
  const auto platform = Host(8);
  const Dims shape{2048, 4096};
  for (const mesh::PartitionSpec& spec :
       {mesh::PartitionSpec{"tp"}, mesh::PartitionSpec{nullptr, {"dp", "tp"}}}) {
    const ShardedArray array = ShardedIota(shape, On24(spec), *platform);
    Ints found(2048 * 4096, -1);
    ASSERT_THAT(GatherInto(array, *platform, DType::kInt32,
                           RowMajorView(reinterpret_cast<std::byte*>(found.data()), shape, 4)),
                IsOk());
    EXPECT_EQ(found == Iota(2048 * 4096), true) << spec.Text();
  }
}

ShardedArray Floats(device::Platform& platform) {
  const std::vector<float> values = {1, -2, 0.5, 65536, 3, 4, 5, 6};
  return *ShardedArray::FromHost(
      RowMajorView(reinterpret_cast<const std::byte*>(values.data()), Dims{8}, 4), DType::kFloat32,
      On24({"dp"}), platform);
}

TEST(ToHostTest, CastsFloatsAndNothingElse) {
  const auto platform = Host(8);
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray cast, ToHost(Floats(*platform), *platform,
                                                            {.float_dtype = DType::kBfloat16}));
  EXPECT_EQ(cast.shape_dtype(), (ShapeDtype{{8}, DType::kBfloat16}));
  uint16_t codes[8];
  std::memcpy(codes, cast.view().data, sizeof(codes));
  EXPECT_THAT(codes, ElementsAre(0x3f80, 0xc000, 0x3f00, 0x4780, 0x4040, 0x4080, 0x40a0, 0x40c0));
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray ints,
                               ToHost(ShardedIota({8}, On24({"dp"}), *platform), *platform,
                                      {.float_dtype = DType::kBfloat16, .cpu_offload = true}));
  EXPECT_EQ(ints.dtype(), DType::kInt32);
  EXPECT_EQ(ValuesOf(ints), Iota(8));
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray again,
                               ToHost(cast, {.float_dtype = DType::kFloat32}));
  float floats[8];
  std::memcpy(floats, again.view().data, sizeof(floats));
  EXPECT_THAT(floats, ElementsAre(1, -2, 0.5, 65536, 3, 4, 5, 6));
  EXPECT_THAT(ToHost(cast, {.float_dtype = DType::kInt8}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "to_host: the float dtype is int8; expected a floating dtype"));
}

TEST(ToHostTest, SharesWhatOneShardHoldsIfAsked) {
  const auto platform = Host(8);
  const ShardedArray array = ShardedIota({4}, On24({}), *platform);
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray shared, ToHost(array, *platform, {.share = true}));
  EXPECT_EQ(shared.view().data, array.shards()[0].buffer.data());
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray copy, ToHost(array, *platform));
  EXPECT_NE(copy.view().data, array.shards()[0].buffer.data());
}

TEST(ToHostTest, RejectsWhatIsNotHere) {
  const auto platform = PlatformOfRank(2, 0);
  const ShardedArray half = ShardedIota({8}, On24OverRanks(2, {"dp"}), *platform);
  EXPECT_THAT(ToHost(half, *platform), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                HasSubstr("has shards in other processes")));
  // A replica of every box is enough.
  const ShardedArray all = ShardedIota({8}, On24OverRanks(2, {"tp"}), *platform);
  EXPECT_FALSE(all.IsFullyAddressable());
  EXPECT_TRUE(IsWholeHere(all));
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray host, ToHost(all, *platform));
  EXPECT_EQ(ValuesOf(host), Iota(8));
  const auto other = PlatformOfRank(2, 1);
  EXPECT_THAT(ToHost(all, *other),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("is none of this platform")));
}

TEST(GatherIntoTest, RejectsAnotherTarget) {
  const auto platform = Host(8);
  const ShardedArray array = ShardedIota({4}, On24({}), *platform);
  std::byte memory[64] = {};
  EXPECT_THAT(GatherInto(array, *platform, DType::kInt32, RowMajorView(memory, Dims{5}, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "an array of shape [4] cannot be gathered into one of shape [5]"));
}

TEST(ToHostOverRanksTest, GivesEveryRankTheWhole) {
  for (const int ranks : {1, 2, 4}) {
    for (const mesh::PartitionSpec& spec :
         {mesh::PartitionSpec{}, mesh::PartitionSpec{"dp"}, mesh::PartitionSpec{"dp", "tp"},
          mesh::PartitionSpec{nullptr, {"tp", "dp"}}}) {
      // A small budget makes many rounds of it.
      for (const int64_t budget : {int64_t{1}, int64_t{1} << 30}) {
        EXPECT_THAT(comm::RunRanks(ranks,
                                   [&](comm::Comm& comm) -> absl::Status {
                                     const auto platform = PlatformOfRank(ranks, comm.rank());
                                     const ShardedArray array = ShardedIota(
                                         {8, 16}, On24OverRanks(ranks, spec), *platform);
                                     TESSERA_ASSIGN_OR_RETURN(
                                         const HostArray host,
                                         ToHost(array, *platform, comm, {.budget_bytes = budget}));
                                     if (ValuesOf(host) == Iota(128)) return absl::OkStatus();
                                     return Internal("wrong values under ", spec.Text());
                                   }),
                    IsOk());
      }
    }
  }
}

TEST(ToHostOverRanksTest, CastsWhatComesFromOthers) {
  EXPECT_THAT(
      comm::RunRanks(
          2,
          [&](comm::Comm& comm) -> absl::Status {
            const auto platform = PlatformOfRank(2, comm.rank());
            const std::vector<float> values = {1, 2, 3, 4};
            TESSERA_ASSIGN_OR_RETURN(
                const ShardedArray array,
                ShardedArray::FromHost(
                    RowMajorView(reinterpret_cast<const std::byte*>(values.data()), Dims{4}, 4),
                    DType::kFloat32, On24OverRanks(2, {"dp"}), *platform));
            ToHostRanksOptions options;
            options.host.float_dtype = DType::kFloat64;
            TESSERA_ASSIGN_OR_RETURN(const HostArray host, ToHost(array, *platform, comm, options));
            double found[4];
            std::memcpy(found, host.view().data, sizeof(found));
            EXPECT_THAT(found, ElementsAre(1, 2, 3, 4));
            return absl::OkStatus();
          }),
      IsOk());
}

TEST(ToHostOverRanksTest, RanksThatDisagreeAllLearnIt) {
  std::vector<absl::Status> statuses(2);
  EXPECT_THAT(comm::RunRanks(2,
                             [&](comm::Comm& comm) -> absl::Status {
                               const auto platform = PlatformOfRank(2, comm.rank());
                               const int64_t rows = comm.rank() == 0 ? 8 : 4;
                               const ShardedArray array =
                                   ShardedIota({rows}, On24OverRanks(2, {"dp"}), *platform);
                               statuses[static_cast<size_t>(comm.rank())] =
                                   ToHost(array, *platform, comm).status();
                               return absl::OkStatus();
                             }),
              IsOk());
  EXPECT_THAT(statuses, Each(StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("rank 0 has int32[8] on NS(Mesh('dp': 2, 'tp': 4), "
                                                "P('dp')), rank 1 has int32[4] on NS("))));
}

}  // namespace
}  // namespace tessera::array
