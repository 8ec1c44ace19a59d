#include "tessera/array/broadcast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "tessera/array/testing/arrays.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::HostIota;
using testing::Ints;
using testing::Iota;
using testing::On24OverRanks;
using testing::PlatformOfRank;
using testing::ValuesOf;

TEST(ChunkHostArrayTest, ChunksAreViewsOfTheArray) {
  const HostArray array = HostIota({10});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto chunks, ChunkTensorByMemory(array, 16));
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(ValuesOf(chunks[0].array), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(ValuesOf(chunks[2].array), (Ints{7, 8, 9}));
  EXPECT_EQ(chunks[1].array.view().data, array.view().data + 16);
  EXPECT_FALSE(chunks[0].over_limit);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto rows, ChunkTensorByMemory(HostIota({2, 100}), 100));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[1].over_limit);
  EXPECT_EQ(rows[1].array.shape(), (Dims{1, 100}));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto scalar, ChunkTensorByMemory(HostIota({}), 1));
  EXPECT_EQ(scalar.size(), 1u);
}

TEST(BroadcastTensorTest, GivesEveryRankTheRootsArray) {
  for (const Dims& shape : {Dims{10}, Dims{2, 100}, Dims{}, Dims{0, 4}, Dims{7, 3}}) {
    for (const int64_t max_bytes : {1, 16, 1000}) {
      EXPECT_THAT(comm::RunRanks(3,
                                 [&](comm::Comm& comm) -> absl::Status {
                                   const HostArray mine = HostIota(shape);
                                   TESSERA_ASSIGN_OR_RETURN(
                                       const HostArray got,
                                       BroadcastTensor({shape, DType::kInt32},
                                                       comm.rank() == 1 ? &mine : nullptr, comm,
                                                       {.root = 1, .max_bytes = max_bytes}));
                                   EXPECT_EQ(got.shape(), shape);
                                   EXPECT_EQ(ValuesOf(got), Iota(*NumElements(shape)));
                                   return absl::OkStatus();
                                 }),
                  IsOk())
          << ShapeText(shape);
    }
  }
}

TEST(BroadcastTensorTest, SendsViewsThatAreNotDense) {
  EXPECT_THAT(
      comm::RunRanks(2,
                     [&](comm::Comm& comm) -> absl::Status {
                       const auto values = std::make_shared<Ints>(Iota(12));
                       ConstStridedView turned = testing::ViewOf(*values, {3, 4});
                       std::swap(turned.shape[0], turned.shape[1]);
                       std::swap(turned.strides[0], turned.strides[1]);
                       const HostArray mine = *HostArray::Borrow(turned, DType::kInt32, values);
                       TESSERA_ASSIGN_OR_RETURN(const HostArray got,
                                                BroadcastTensor({{4, 3}, DType::kInt32}, &mine,
                                                                comm, {.max_bytes = 24}));
                       EXPECT_EQ(ValuesOf(got), (Ints{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
                       return absl::OkStatus();
                     }),
      IsOk());
}

TEST(BroadcastTensorTest, KeepsEveryBit) {
  // A negative zero and a NaN with a payload.
  const std::vector<uint32_t> codes = {0x80000000u, 0x7fc01234u, 0xffa00001u};
  EXPECT_THAT(comm::RunRanks(2,
                             [&](comm::Comm& comm) -> absl::Status {
                               const ShapeDtype array = {{3}, DType::kFloat32};
                               const HostArray mine =
                                   *HostArray::CopyOf(array, std::as_bytes(std::span(codes)));
                               TESSERA_ASSIGN_OR_RETURN(const HostArray got,
                                                        BroadcastTensor(array, &mine, comm));
                               EXPECT_EQ(std::memcmp(got.view().data, codes.data(), 12), 0);
                               return absl::OkStatus();
                             }),
              IsOk());
}

TEST(BroadcastTensorTest, PlacesWhatCame) {
  EXPECT_THAT(
      comm::RunRanks(
          2,
          [&](comm::Comm& comm) -> absl::Status {
            const auto platform = PlatformOfRank(2, comm.rank());
            const HostArray mine = HostIota({8});
            const Mover mover = {*platform, comm};
            TESSERA_ASSIGN_OR_RETURN(
                const ShardedArray got,
                BroadcastTensor({{8}, DType::kInt32}, comm.rank() == 0 ? &mine : nullptr,
                                On24OverRanks(2, {"dp"}), mover));
            const int32_t first = comm.rank() * 4;
            EXPECT_EQ(ValuesOf(got.shards()[0]), (Ints{first, first + 1, first + 2, first + 3}));
            EXPECT_THAT(
                BroadcastTensor({{7}, DType::kInt32}, &mine, On24OverRanks(2, {"dp"}), mover),
                HasKind(ErrorKind::kIndivisible));
            return absl::OkStatus();
          }),
      IsOk());
}

// What every rank gets when rank 1 gives `other`, and the root `value`.
std::vector<absl::Status> Broadcast(const ShapeDtype& array, const ShapeDtype& other,
                                    const HostArray* value, int64_t max_bytes = 100) {
  std::vector<absl::Status> statuses(2);
  EXPECT_THAT(comm::RunRanks(2,
                             [&](comm::Comm& comm) -> absl::Status {
                               statuses[static_cast<size_t>(comm.rank())] =
                                   BroadcastTensor(comm.rank() == 0 ? array : other, value, comm,
                                                   {.max_bytes = max_bytes})
                                       .status();
                               return absl::OkStatus();
                             }),
              IsOk());
  return statuses;
}

TEST(BroadcastTensorTest, RanksThatDisagreeAllLearnIt) {
  const HostArray value = HostIota({8});
  const ShapeDtype good = {{8}, DType::kInt32};
  const auto is = [](const std::string& message) {
    return Each(StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  EXPECT_THAT(Broadcast(good, {{4}, DType::kInt32}, &value),
              is("rank 0 has int32[8] in pieces of 100 bytes, rank 1 has int32[4] in"));
  EXPECT_THAT(Broadcast(good, {{8}, DType::kFloat32}, &value), is("rank 1 has float32[8]"));
  EXPECT_THAT(Broadcast(good, good, nullptr),
              is("rank 0: broadcast_tensor: the root has no array"));
  const ShapeDtype matrix = {{2, 4}, DType::kInt32};
  EXPECT_THAT(Broadcast(matrix, matrix, &value),
              is("the root sends int32[8]; expected int32[2,4]"));
  EXPECT_THAT(Broadcast(good, good, &value, 0), is("the limit is 0 bytes; expected more than 0"));
}

}  // namespace
}  // namespace tessera::array
