#include "tessera/array/sharding_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/comm/alone.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/extract.h"

namespace tessera::array {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::LogCapture;
using ::tessera::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::Host;
using testing::HostIota;
using testing::InUse;
using testing::Iota;
using testing::Mesh24;
using testing::On24;
using testing::On24OverRanks;
using testing::PlatformOfRank;
using testing::ShardedIota;
using testing::SpecOf;
using testing::ValuesOf;
using Targets = tree::Tree<Target>;

const Value kNumberLeaf = Opaque{nullptr, mesh::LeafKind::kNumber, "int"};

class ShardingTreeTest : public ::testing::Test {
 protected:
  ShardedArray OneDevice(const Dims& shape, int64_t id = 0) {
    return ShardedIota(shape, mesh::SingleDeviceSharding{{id, 0}}, *platform_);
  }
  static const ShardedArray& ArrayAt(const ValueTree& tree, const char* key) {
    return std::get<ShardedArray>(tree.Find(key)->leaf());
  }

  const std::unique_ptr<device::Platform> platform_ = Host(8);
  const std::unique_ptr<comm::Comm> comm_ = comm::MakeAlone();
  const Mover mover_ = {*platform_, *comm_};
};

TEST_F(ShardingTreeTest, PlacesEachArrayOnItsTarget) {
  const ValueTree arrays = ValueTree::MakeOrderedDict({
      {"z", Value(OneDevice({8, 16}))},
      {"host", Value(HostIota({8, 16}))},
      {"spec", Value(HostIota({8}))},
      {"chosen", Value(HostIota({8}))},
      {"made", Value(HostIota({8}))},
      {"default", Value(OneDevice({8}))},
      {"number", kNumberLeaf},
      {"none", ValueTree::None()},
      {"list", ValueTree::List({Value(HostIota({4}))})},
  });
  const Targets targets = Targets::MakeOrderedDict({
      {"z", Target(On24({"dp", "tp"}))},
      {"host", Target(On24({"tp"}))},
      {"spec", Target(mesh::PartitionSpec{"dp"})},
      {"chosen", Target(ChooseSharding{[](const mesh::LeafInfo& info) -> mesh::Sharding {
         EXPECT_EQ(info.array->shape, (Dims{8}));
         return On24({"tp"});
       }})},
      {"made", Target(PlaceArray{[](const Value&) -> Value { return kNumberLeaf; }})},
      {"default", Targets::None()},
      {"number", Target(On24({}))},
      {"none", Target(On24({}))},
      {"list", Targets::List({Target(mesh::SingleDeviceSharding{{5, 0}})})},
  });
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueTree placed,
                               ApplyShardingTree(arrays, targets, mover_, {.mesh = Mesh24()}));
  EXPECT_EQ(SpecOf(ArrayAt(placed, "z")), (mesh::PartitionSpec{"dp", "tp"}));
  EXPECT_EQ(ArrayAt(placed, "z").shards()[7].box.Text(), "[4:8,12:16]");
  EXPECT_EQ(SpecOf(ArrayAt(placed, "host")), (mesh::PartitionSpec{"tp"}));
  EXPECT_EQ(SpecOf(ArrayAt(placed, "spec")), (mesh::PartitionSpec{"dp"}));
  EXPECT_EQ(SpecOf(ArrayAt(placed, "chosen")), (mesh::PartitionSpec{"tp"}));
  EXPECT_TRUE(std::holds_alternative<Opaque>(placed.Find("made")->leaf()));
  EXPECT_EQ(SpecOf(ArrayAt(placed, "default")), (mesh::PartitionSpec{}));
  EXPECT_EQ(ArrayAt(placed, "default").shards().size(), 8u);
  EXPECT_TRUE(std::holds_alternative<Opaque>(placed.Find("number")->leaf()));
  EXPECT_TRUE(placed.Find("none")->is_none());
  const auto& listed = std::get<ShardedArray>(placed.Find("list")->children()[0].leaf());
  EXPECT_EQ(listed.shards()[0].device.id, 5);
  EXPECT_EQ(placed.def(), arrays.def());
}

TEST_F(ShardingTreeTest, NoneTakesTheFirstDeviceWithoutAMesh) {
  const ValueTree arrays = ValueTree::List({Value(HostIota({8})), Value(OneDevice({8}, 3))});
  const Targets targets = Targets::List({Targets::None(), Targets::None()});
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueTree placed, ApplyShardingTree(arrays, targets, mover_));
  for (const ValueTree& leaf : placed.children()) {
    const auto& array = std::get<ShardedArray>(leaf.leaf());
    EXPECT_EQ(array.shards()[0].device.id, 0);
    EXPECT_EQ(ValuesOf(array.shards()[0]), Iota(8));
  }
  const Targets spec = Targets::List({Target(mesh::PartitionSpec{}), Targets::None()});
  EXPECT_THAT(ApplyShardingTree(arrays, spec, mover_), HasKind(ErrorKind::kNoMesh));
}

TEST_F(ShardingTreeTest, AnotherStructurePlacesNothingAndWarns) {
  const ValueTree arrays = ValueTree::MakeDict({{"b", Value(HostIota({8}))}});
  const Targets targets = Targets::MakeDict({{"c", Target(On24({}))}});
  LogCapture log;
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueTree same, ApplyShardingTree(arrays, targets, mover_));
  EXPECT_TRUE(std::holds_alternative<HostArray>(same.Find("b")->leaf()));
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_THAT(log.lines()[0].second, HasSubstr("arrays and shardings differ at the root"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueTree none,
                               ApplyShardingTree(arrays, Targets::None(), mover_));
  EXPECT_TRUE(std::holds_alternative<HostArray>(none.Find("b")->leaf()));
  EXPECT_EQ(log.lines().size(), 1u);
}

TEST_F(ShardingTreeTest, OneLeafThatDoesNotDivideIsNamedAndNothingLeaks) {
  const Targets targets =
      Targets::MakeDict({{"a", Target(On24({"dp"}))}, {"b", Target(On24({"dp"}))}});
  {
    const ValueTree arrays =
        ValueTree::MakeDict({{"a", Value(OneDevice({8}))}, {"b", Value(OneDevice({7}))}});
    const auto placed = ApplyShardingTree(arrays, targets, mover_);
    EXPECT_THAT(placed, HasKind(ErrorKind::kIndivisible));
    EXPECT_THAT(placed, StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("dimension 0 of size 7 does not split evenly by 2")));
    EXPECT_EQ(placed.status().message().substr(0, 3), "b: ");
  }
  EXPECT_THAT(InUse(*platform_), Each(0));
}

TEST_F(ShardingTreeTest, MakeItshardedReplicatesWhatIsHere) {
  const auto other = PlatformOfRank(2, 1);
  const ValueTree tree = ValueTree::MakeDict({
      {"a", Value(OneDevice({8}))},
      {"b", Value(ShardedIota({8}, On24OverRanks(2, {"dp"}), *other))},
      {"c", kNumberLeaf},
      {"d", Value(HostIota({2}))},
      {"e", ValueTree::None()},
  });
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueTree sharded, MakeItsharded(tree, Mesh24(), mover_));
  const ShardedArray& a = ArrayAt(sharded, "a");
  EXPECT_EQ(SpecOf(a), (mesh::PartitionSpec{}));
  ASSERT_EQ(a.shards().size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(a.shards()[i].replica_id, static_cast<int64_t>(i));
    EXPECT_EQ(ValuesOf(a.shards()[i]), Iota(8));
  }
  EXPECT_EQ(SpecOf(ArrayAt(sharded, "b")), (mesh::PartitionSpec{"dp"}));
  EXPECT_TRUE(std::holds_alternative<Opaque>(sharded.Find("c")->leaf()));
  EXPECT_TRUE(std::holds_alternative<HostArray>(sharded.Find("d")->leaf()));
  EXPECT_TRUE(sharded.Find("e")->is_none());
}

TEST_F(ShardingTreeTest, MakeItshardedNeedsAMeshForArraysOnly) {
  EXPECT_THAT(MakeItsharded(ValueTree::MakeDict({{"c", kNumberLeaf}}), std::nullopt, mover_),
              IsOk());
  const auto failed =
      MakeItsharded(ValueTree::MakeDict({{"a", Value(OneDevice({8}))}}), std::nullopt, mover_);
  EXPECT_THAT(failed, HasKind(ErrorKind::kNoMesh));
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a: ")));
}

TEST(MakeItshardedOverRanksTest, EachProcessPlacesItsOwnCopy) {
  EXPECT_THAT(
      comm::RunRanks(2,
                     [](comm::Comm& comm) -> absl::Status {
                       const auto platform = PlatformOfRank(2, comm.rank());
                       const mesh::Device mine = {platform->devices()[0]->id(), comm.rank()};
                       const ValueTree tree = ValueTree::List(
                           {Value(ShardedIota({8}, mesh::SingleDeviceSharding{mine}, *platform))});
                       TESSERA_ASSIGN_OR_RETURN(
                           const ValueTree sharded,
                           MakeItsharded(tree, testing::Mesh24OverRanks(2), {*platform, comm}));
                       const auto& array = std::get<ShardedArray>(sharded.children()[0].leaf());
                       EXPECT_EQ(array.shards().size(), 4u);
                       EXPECT_EQ(ValuesOf(array.shards()[3]), Iota(8));
                       return absl::OkStatus();
                     }),
      IsOk());
}

TEST(PlaceOverRanksTest, AFullDeviceOfOneRankIsEveryonesError) {
  std::vector<absl::Status> statuses(2);
  EXPECT_THAT(comm::RunRanks(2,
                             [&](comm::Comm& comm) -> absl::Status {
                               const int64_t limit = comm.rank() == 1 ? 4 : device::kNoLimit;
                               const auto platform = PlatformOfRank(2, comm.rank(), limit);
                               // Columns are no dense part of the host's memory, so that they are
                               // copied.
                               statuses[static_cast<size_t>(comm.rank())] =
                                   Place(HostIota({8, 8}), On24OverRanks(2, {nullptr, "tp"}),
                                         {*platform, comm})
                                       .status();
                               EXPECT_THAT(InUse(*platform), Each(0));
                               return absl::OkStatus();
                             }),
              IsOk());
  EXPECT_THAT(statuses, Each(StatusIs(absl::StatusCode::kResourceExhausted,
                                      HasSubstr("rank 1: device 4, box [0:8,0:2]: device 4 has no "
                                                "room for 64 bytes"))));
}

TEST(ValidateShardingTreeTest, TheVectorsOfTheReference) {
  using Trees = tree::Tree<int>;
  const auto check = [](const Trees& a, const Trees& b, bool null_is_leaf = true) {
    return ValidateShardingTree(a, b, null_is_leaf).same;
  };
  const auto dict = [](Trees value) { return Trees::MakeDict({{"a", std::move(value)}}); };
  EXPECT_TRUE(check(dict(1), dict(2)));
  EXPECT_TRUE(check(dict(1), dict(Trees::None())));
  EXPECT_FALSE(check(dict(1), dict(Trees::None()), false));
  EXPECT_FALSE(check(dict(Trees::List({1, 2})), dict(Trees::Tuple({1, 2}))));
  EXPECT_FALSE(check(dict(Trees::MakeDict({})), dict(Trees::None())));
  EXPECT_TRUE(check(Trees::MakeDict({}), Trees::MakeDict({})));
  EXPECT_EQ(ValidateShardingTree(dict(Trees::List({1})), dict(Trees::Tuple({1}))).difference,
            "at a: list of 1 vs tuple of 1");
}

TEST_F(ShardingTreeTest, ShardingsAreExtractedFromRealArrays) {
  const ValueTree tree = ValueTree::MakeDict({
      {"a", Value(ShardedIota({8}, On24({"dp"}), *platform_))},
      {"b", Value(OneDevice({8}))},
      {"c", kNumberLeaf},
      {"d", Value(HostIota({2}))},
  });
  for (const auto& extracted : {mesh::ExtractShardingStructure(tree), mesh::ExtractShardings(tree),
                                mesh::GetShardingsWithStructure(tree)}) {
    ASSERT_THAT(extracted, IsOk());
    EXPECT_EQ(extracted->Find("a")->leaf(), On24({"dp"}));
    for (const char* key : {"b", "c", "d"}) {
      EXPECT_EQ(extracted->Find(key)->leaf(), std::nullopt) << key;
    }
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto specs, mesh::GetPartitionSpec(tree));
  EXPECT_EQ(specs.Find("a")->leaf(), (mesh::PartitionSpec{"dp"}));
  EXPECT_EQ(specs.Find("d")->leaf(), (mesh::PartitionSpec{}));
}

}  // namespace
}  // namespace tessera::array
