#include "tessera/array/sharded_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

#include "tessera/array/testing/arrays.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::Ints;
using ::tessera::array::testing::InUse;
using ::tessera::array::testing::Iota;
using ::tessera::array::testing::Mesh24;
using ::tessera::array::testing::On24;
using ::tessera::array::testing::ValuesOf;
using ::tessera::array::testing::ViewOf;
using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FromHostTest, GivesEachDeviceItsBox) {
  const auto platform = Host(8);
  const Ints whole = Iota(16);
  {
    TESSERA_ASSERT_OK_AND_ASSIGN(const ShardedArray array,
                                 ShardedArray::FromHost(ViewOf(whole, {4, 4}), DType::kInt32,
                                                        On24({"tp", "dp"}), *platform));
    ASSERT_EQ(array.shards().size(), 8u);
    EXPECT_EQ(array.shards()[6].device, (mesh::Device{6, 0}));
    EXPECT_EQ(array.shards()[6].box.Text(), "[2:3,2:4]");
    EXPECT_EQ(array.shards()[6].replica_id, 0);
    EXPECT_THAT(ValuesOf(array.shards()[6]), ElementsAre(10, 11));
    EXPECT_TRUE(array.IsFullyAddressable());
    EXPECT_EQ(array.ToHostView(), std::nullopt);
    EXPECT_THAT(InUse(*platform), Each(8));
  }
  EXPECT_THAT(InUse(*platform), Each(0));
}

TEST(FromHostTest, EveryReplicaCountsItsOwnCopy) {
  const auto platform = Host(8);
  const Ints whole = Iota(4);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardedArray array,
      ShardedArray::FromHost(ViewOf(whole, {4}), DType::kInt32, On24({"dp"}), *platform));
  EXPECT_THAT(InUse(*platform), Each(8));
  EXPECT_EQ(array.shards()[7].replica_id, 3);
  EXPECT_THAT(ValuesOf(array.shards()[7]), ElementsAre(2, 3));
}

TEST(FromHostTest, LooksAtOwnedMemoryWhereAShardIsDense) {
  const auto platform = Host(8, 0);  // there is no room for copies
  const auto owner = std::make_shared<Ints>(Iota(16));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ShardedArray array,
                               ShardedArray::FromHost(ViewOf(*owner, {4, 4}), DType::kInt32,
                                                      On24({"dp"}), *platform, {.owner = owner}));
  EXPECT_EQ(array.shards()[4].buffer.data(), reinterpret_cast<const std::byte*>(owner->data() + 8));
  EXPECT_EQ(owner.use_count(), 9);
  EXPECT_THAT(InUse(*platform), Each(0));
}

TEST(FromHostTest, CopiesOwnedMemoryWhereAShardIsNotDense) {
  const auto platform = Host(8);
  const auto owner = std::make_shared<Ints>(Iota(16));
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardedArray array,
      ShardedArray::FromHost(ViewOf(*owner, {4, 4}), DType::kInt32, On24({nullptr, "tp"}),
                             *platform, {.owner = owner}));
  EXPECT_THAT(ValuesOf(array.shards()[1]), ElementsAre(1, 5, 9, 13));
  EXPECT_THAT(InUse(*platform), Each(16));
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(FromHostTest, TakesAnyStrides) {
  const auto platform = Host(1);
  const Ints whole = Iota(6);
  ConstStridedView turned = ViewOf(whole, {2, 3});
  std::swap(turned.shape[0], turned.shape[1]);
  std::swap(turned.strides[0], turned.strides[1]);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardedArray array,
      ShardedArray::FromHost(turned, DType::kInt32, mesh::SingleDeviceSharding{{0, 0}}, *platform));
  EXPECT_THAT(ValuesOf(array.shards()[0]), ElementsAre(0, 3, 1, 4, 2, 5));
  ASSERT_TRUE(array.ToHostView().has_value());
  EXPECT_EQ(array.ToHostView()->shape, (Dims{3, 2}));
}

TEST(FromHostTest, TakesScalarsAndEmptyArrays) {
  const auto platform = Host(8);
  const Ints one = {7};
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardedArray scalar,
      ShardedArray::FromHost(ViewOf(one, {}), DType::kInt32, On24({}), *platform));
  EXPECT_THAT(ValuesOf(scalar.shards()[3]), ElementsAre(7));
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardedArray empty,
      ShardedArray::FromHost(ViewOf({}, {0, 4}), DType::kInt32, On24({"dp", "tp"}), *platform));
  EXPECT_EQ(empty.shards()[7].buffer.size(), 0);
}

TEST(FromHostTest, KeepsToThisProcess) {
  const mesh::Mesh mesh = *mesh::Mesh::Make({{"dp", 4}}, {{10, 0}, {11, 1}, {12, 0}, {13, 1}});
  const mesh::Sharding sharding = *mesh::NamedSharding::Make(mesh, {"dp"});
  const auto platform = *device::MakeHostPlatform({.process = 1, .ids = {11, 13}});
  const Ints whole = Iota(4);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardedArray array,
      ShardedArray::FromHost(ViewOf(whole, {4}), DType::kInt32, sharding, *platform));
  ASSERT_EQ(array.shards().size(), 2u);
  EXPECT_THAT(ValuesOf(array.shards()[1]), ElementsAre(3));
  EXPECT_FALSE(array.IsFullyAddressable());
  const auto other = *device::MakeHostPlatform({.process = 1, .ids = {11}});
  EXPECT_THAT(ShardedArray::FromHost(ViewOf(whole, {4}), DType::kInt32, sharding, *other),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("device 13 of NS(")));
}

TEST(FromHostTest, RejectsWhatDoesNotFit) {
  const auto platform = Host(8);
  const Ints whole = Iota(14);
  const auto put = [&](const Dims& shape, DType dtype, const mesh::Sharding& sharding) {
    return ShardedArray::FromHost(ViewOf(whole, shape), dtype, sharding, *platform).status();
  };
  EXPECT_THAT(put({7, 2}, DType::kInt32, On24({"dp"})), HasKind(ErrorKind::kIndivisible));
  EXPECT_THAT(put({7, 2}, DType::kInt32, On24({"dp"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("dimension 0 of size 7 does not split evenly by 2")));
  EXPECT_THAT(put({14}, DType::kInt64, On24({})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the host array's elements have 4 bytes; int64 has 8"));
  EXPECT_THAT(put({14}, DType::kInt32, *mesh::NamedSharding::Make(Mesh24(), {}, "hbm")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("memory kind 'hbm'")));
  EXPECT_THAT(InUse(*platform), Each(0));
}

TEST(FromHostTest, AFullDeviceIsNamedAndNothingIsKept) {
  const auto platform = Host(8, 100);
  TESSERA_ASSERT_OK_AND_ASSIGN(device::WritableBuffer held, platform->Find(5)->Allocate(90));
  const Ints whole = Iota(16);
  EXPECT_THAT(ShardedArray::FromHost(ViewOf(whole, {4, 4}), DType::kInt32, On24({"dp"}), *platform),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "device 5, box [2:4,0:4]: device 5 has no room for 32 bytes: 90 of its "
                       "limit of 100 are in use"));
  held = device::WritableBuffer();
  EXPECT_THAT(InUse(*platform), Each(0));
}

absl::Status FillWithOrigin(const Box& box, const StridedView& target) {
  auto* out = reinterpret_cast<int32_t*>(target.data);
  for (int64_t i = 0; i < *box.num_elements(); ++i) {
    out[i] = static_cast<int32_t>(100 * box.begin(0) + i);
  }
  return absl::OkStatus();
}

TEST(FromCallbackTest, AsksForEachBoxOnce) {
  for (const bool pooled : {false, true}) {
    const auto platform = Host(8);
    ThreadPool pool(3);
    std::atomic<int> calls = 0;
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const ShardedArray array,
        ShardedArray::FromCallback({{4, 2}, DType::kInt32}, On24({"tp"}), *platform,
                                   [&](const Box& box, const StridedView& target) {
                                     ++calls;
                                     return FillWithOrigin(box, target);
                                   },
                                   {.pool = pooled ? &pool : nullptr}));
    EXPECT_EQ(calls, 4);
    EXPECT_THAT(ValuesOf(array.shards()[2]), ElementsAre(200, 201));
    EXPECT_THAT(ValuesOf(array.shards()[6]), ElementsAre(200, 201));
    EXPECT_NE(array.shards()[6].buffer.data(), array.shards()[2].buffer.data());
    EXPECT_THAT(InUse(*platform), Each(8));
  }
}

TEST(FromCallbackTest, NamesTheBoxThatFailedAndKeepsNothing) {
  const auto platform = Host(8);
  const auto fail = [](const Box& box, const StridedView&) {
    return box.begin(0) == 2 ? DataLoss("short read") : absl::OkStatus();
  };
  ThreadPool pool(2);
  for (ThreadPool* chosen : {static_cast<ThreadPool*>(nullptr), &pool}) {
    EXPECT_THAT(ShardedArray::FromCallback({{4, 2}, DType::kInt32}, On24({"tp"}), *platform, fail,
                                           {.pool = chosen}),
                StatusIs(absl::StatusCode::kDataLoss, "device 2, box [2:3,0:2]: short read"));
  }
  EXPECT_THAT(InUse(*platform), Each(0));
}

TEST(FromCallbackTest, AFullDeviceIsNamedBeforeAnyCall) {
  const auto platform = Host(8, 7);
  int calls = 0;
  EXPECT_THAT(ShardedArray::FromCallback({{4, 2}, DType::kInt32}, On24({"tp"}), *platform,
                                         [&](const Box&, const StridedView&) {
                                           ++calls;
                                           return absl::OkStatus();
                                         }),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("device 0 has no room")));
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(InUse(*platform), Each(0));
}

class FromPiecesTest : public ::testing::Test {
 protected:
  Piece MakePiece(int64_t device_id, const Ints& values, const Dims& shape) {
    auto buffer = *platform_->Find(device_id)->Allocate(static_cast<int64_t>(values.size()) * 4);
    std::copy(values.begin(), values.end(), reinterpret_cast<int32_t*>(buffer.data()));
    return {device_id, {shape, DType::kInt32}, std::move(buffer).Publish()};
  }
  absl::StatusOr<ShardedArray> Assemble(std::vector<Piece> pieces) {
    return ShardedArray::FromPieces({{4}, DType::kInt32}, sharding_, *platform_, std::move(pieces));
  }

  std::unique_ptr<device::Platform> platform_ = Host(3);
  mesh::Sharding sharding_ = *mesh::NamedSharding::Make(*mesh::Mesh::MakeHost({{"dp", 2}}), {"dp"});
};

TEST_F(FromPiecesTest, TakesPiecesInAnyOrder) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const ShardedArray array,
                               Assemble({MakePiece(1, {3, 4}, {2}), MakePiece(0, {1, 2}, {2})}));
  EXPECT_THAT(ValuesOf(array.shards()[0]), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf(array.shards()[1]), ElementsAre(3, 4));
}

TEST_F(FromPiecesTest, TakesStridedPieces) {
  Piece spread = MakePiece(0, {1, 0, 2}, {2});
  spread.strides = {8};
  TESSERA_ASSERT_OK_AND_ASSIGN(const ShardedArray array,
                               Assemble({spread, MakePiece(1, {3, 4}, {2})}));
  EXPECT_THAT(ValuesOf(array.shards()[0]), ElementsAre(1, 2));
}

TEST_F(FromPiecesTest, TakesPiecesWithoutElements) {
  const ShapeDtype empty{{4, 0}, DType::kInt32};
  std::vector<Piece> pieces;
  for (const mesh::Device& device : mesh::DevicesOf(sharding_)) {
    pieces.push_back({device.id, {*mesh::ShardShape(sharding_, empty.shape), empty.dtype}, {}});
  }
  EXPECT_THAT(ShardedArray::FromPieces(empty, sharding_, *platform_, std::move(pieces)), IsOk());
}

TEST_F(FromPiecesTest, NamesThePieceThatDoesNotFit) {
  const auto expect = [&](Piece piece, const std::string& message) {
    std::vector<Piece> pieces = {MakePiece(0, {1, 2}, {2}), std::move(piece)};
    EXPECT_THAT(Assemble(std::move(pieces)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  const std::string shard = "device 1, box [2:4]: ";
  expect(MakePiece(1, {3, 4, 5}, {3}), shard + "the piece has shape [3]; expected [2]");
  expect(MakePiece(1, {3}, {2}), shard + "the piece of shape [2] and strides [4] reaches past");
  expect(MakePiece(0, {3, 4}, {2}), "device 0 is given two pieces");
  expect(MakePiece(2, {3, 4}, {2}), shard + "no piece was given");
  Piece piece = MakePiece(1, {3, 4}, {2});
  piece.array.dtype = DType::kFloat32;
  expect(piece, shard + "the piece is float32, the array int32");
  piece = MakePiece(1, {3, 4}, {2});
  piece.box = *Box::Make(Dims{0}, Dims{2});
  expect(piece, shard + "the piece is for box [0:2]");
  piece = MakePiece(2, {3, 4}, {2});
  piece.device_id = 1;
  expect(piece, shard + "the piece lies on device 2 in device memory");
  piece = MakePiece(1, {3, 4}, {2});
  piece.strides = {-4};
  expect(piece, shard + "the piece has stride -4 in dimension 0");
  piece.strides = {4, 4};
  expect(piece, shard + "the piece has 2 strides for 1 dimensions");
}

TEST_F(FromPiecesTest, RejectsAPieceTooMany) {
  EXPECT_THAT(
      Assemble({MakePiece(0, {1, 2}, {2}), MakePiece(1, {1, 2}, {2}), MakePiece(2, {1, 2}, {2})}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("device 2 has a piece, but is no device of NS(")));
}

TEST(DescribeLeafTest, TellsTheShardingOfAnArray) {
  const auto platform = Host(8);
  const Ints whole = Iota(4);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardedArray array,
      ShardedArray::FromHost(ViewOf(whole, {4}), DType::kInt32, On24({"dp"}), *platform));
  const mesh::LeafInfo info = DescribeLeaf(array);
  EXPECT_EQ(info.kind, mesh::LeafKind::kArray);
  EXPECT_EQ(info.array, (ShapeDtype{{4}, DType::kInt32}));
  EXPECT_EQ(std::get<mesh::NamedSharding>(info.sharding).spec(), (mesh::PartitionSpec{"dp"}));
}

}  // namespace
}  // namespace tessera::array
