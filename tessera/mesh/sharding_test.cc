#include "tessera/mesh/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/testing/arbitrary.h"
#include "tessera/mesh/testing/meshes.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::M18;
using testing::M24;

Sharding On(const Mesh& mesh, PartitionSpec spec) { return *NamedSharding::Make(mesh, spec); }

TEST(NamedShardingTest, RefusesUnknownAndRepeatedAxes) {
  EXPECT_THAT(NamedSharding::Make(M24(), {"xx"}),
              StatusIs(kInvalid, "spec P('xx'): the mesh has no axis 'xx'; its axes are dp, tp"));
  const auto twice = NamedSharding::Make(M24(), {"dp", {"tp", "dp"}});
  EXPECT_THAT(twice, StatusIs(kInvalid, HasSubstr("the axis 'dp' is used twice")));
  EXPECT_THAT(twice, HasKind(ErrorKind::kDuplicateAxis));
}

TEST(ShardShapeTest, DividesEachDimensionByItsAxes) {
  const Dims shape{8, 16};
  EXPECT_THAT(ShardShape(On(M24(), {"dp", "tp"}), shape), IsOkAndHolds(ElementsAre(4, 4)));
  EXPECT_THAT(ShardShape(On(M24(), {"tp", "dp"}), shape), IsOkAndHolds(ElementsAre(2, 8)));
  EXPECT_THAT(ShardShape(On(M24(), {{"dp", "tp"}}), shape), IsOkAndHolds(ElementsAre(1, 16)));
  EXPECT_THAT(ShardShape(On(M24(), {nullptr, "tp"}), shape), IsOkAndHolds(ElementsAre(8, 4)));
  EXPECT_THAT(ShardShape(On(M24(), {}), shape), IsOkAndHolds(ElementsAre(8, 16)));
  EXPECT_THAT(ShardShape(On(M24(), {"dp", "tp"}), Dims{0, 16}), IsOkAndHolds(ElementsAre(0, 4)));
  EXPECT_THAT(ShardShape(On(M24(), {}), Dims{}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ShardShape(On(M18(), {"dp", "tp"}), Dims{7, 8}), IsOkAndHolds(ElementsAre(7, 1)));
}

TEST(ShardShapeTest, AnUnevenSplitNamesDimensionSizeAndFactor) {
  const auto shape = ShardShape(On(M24(), {"tp"}), Dims{6, 16});
  EXPECT_THAT(shape, StatusIs(kInvalid,
                              "shape [6,16]: dimension 0 of size 6 does not split evenly "
                              "by 4 under NS(Mesh('dp': 2, 'tp': 4), P('tp'))"));
  EXPECT_THAT(shape, HasKind(ErrorKind::kIndivisible));
}

TEST(ShardShapeTest, ASpecLongerThanTheRankIsRefusedEvenForAxesOfSizeOne) {
  EXPECT_THAT(ShardShape(On(M18(), {nullptr, "dp"}), Dims{8}),
              StatusIs(kInvalid, HasSubstr("the spec has 2 entries, but the array has rank 1")));
  EXPECT_THAT(ShardShape(On(M24(), {"dp"}), Dims{}),
              StatusIs(kInvalid, HasSubstr("a scalar takes P()")));
}

TEST(ShardShapeTest, AnUnconstrainedEntryIsUnimplemented) {
  EXPECT_THAT(ShardShape(On(M24(), {SpecEntry::Unconstrained()}), Dims{8}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("dimension 0")));
}

struct Expected {
  int64_t device;
  Box box;
  int64_t replica_id;
};

// Checks the named devices against PlaceShards of an array on M24.
void ExpectShards(const PartitionSpec& spec, const Dims& shape,
                  const std::vector<Expected>& expected) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto shards, PlaceShards(On(M24(), spec), shape));
  ASSERT_EQ(shards.size(), 8u);
  for (const Expected& row : expected) {
    const DeviceShard& shard = shards[static_cast<size_t>(row.device)];
    EXPECT_EQ(shard.device.id, row.device);
    EXPECT_EQ(shard.box, row.box) << spec.Text() << " device " << row.device << ": "
                                  << shard.box.Text();
    EXPECT_EQ(shard.replica_id, row.replica_id) << spec.Text() << " device " << row.device;
  }
}

Box Rows(int64_t begin, int64_t end, int64_t column_begin, int64_t column_end) {
  return *Box::Make(Dims{begin, column_begin}, Dims{end - begin, column_end - column_begin});
}

TEST(PlaceShardsTest, TheTableOfTheReference) {
  const Dims shape{8, 16};
  ExpectShards({"dp", "tp"}, shape,
               {{0, Rows(0, 4, 0, 4), 0}, {1, Rows(0, 4, 4, 8), 0}, {7, Rows(4, 8, 12, 16), 0}});
  ExpectShards({"tp", "dp"}, shape,
               {{1, Rows(2, 4, 0, 8), 0}, {4, Rows(0, 2, 8, 16), 0}, {7, Rows(6, 8, 8, 16), 0}});
  ExpectShards({{"tp", "dp"}}, shape,
               {{1, Rows(2, 3, 0, 16), 0}, {3, Rows(6, 7, 0, 16), 0}, {4, Rows(1, 2, 0, 16), 0}});
  ExpectShards({nullptr, "tp"}, shape,
               {{3, Rows(0, 8, 12, 16), 0}, {4, Rows(0, 8, 0, 4), 1}, {7, Rows(0, 8, 12, 16), 1}});
  ExpectShards({"dp"}, shape,
               {{1, Rows(0, 4, 0, 16), 1}, {3, Rows(0, 4, 0, 16), 3}, {4, Rows(4, 8, 0, 16), 0}});
  ExpectShards({}, shape, {{0, Rows(0, 8, 0, 16), 0}, {7, Rows(0, 8, 0, 16), 7}});
}

TEST(PlaceShardsTest, BlocksOfAnEmptyDimensionAreCopiesOfEachOther) {
  ExpectShards({"dp", "tp"}, {0, 16},
               {{0, Rows(0, 0, 0, 4), 0}, {3, Rows(0, 0, 12, 16), 0}, {4, Rows(0, 0, 0, 4), 1}});
}

TEST(PlaceShardsTest, NothingGoesOnTheEmptyMesh) {
  EXPECT_THAT(PlaceShards(NamedSharding::Replicated(Mesh()), Dims{8}), HasKind(ErrorKind::kNoMesh));
}

TEST(PlaceShardsTest, OneDeviceHoldsTheWhole) {
  EXPECT_THAT(PlaceShards(SingleDeviceSharding{{.id = 5}}, Dims{8}),
              IsOkAndHolds(ElementsAre(DeviceShard{{.id = 5}, Box::Whole(Dims{8}), 0})));
}

TEST(ShardingTest, ReplicatedAndAddressableAreIndependent) {
  EXPECT_TRUE(IsFullyReplicated(On(M18(), {"dp"})));
  EXPECT_FALSE(IsFullyReplicated(On(M24(), {"dp"})));
  const Mesh two = *Mesh::Make({{"dp", 2}}, {{.id = 0, .process = 0}, {.id = 1, .process = 1}});
  EXPECT_FALSE(IsFullyAddressable(On(two, {}), 0));
  EXPECT_TRUE(IsFullyAddressable(On(M24(), {"dp"}), 0));
  EXPECT_FALSE(IsFullyAddressable(NamedSharding::Replicated(Mesh()), 0));
  EXPECT_THAT(AddressableDevices(On(two, {}), 1), ElementsAre(Device{.id = 1, .process = 1}));
}

TEST(ShardingTest, EqualityIsStricterThanEquivalence) {
  EXPECT_FALSE(On(M24(), {"dp"}) == On(M24(), {"dp", nullptr}));
  EXPECT_THAT(AreEquivalent(On(M24(), {"dp"}), On(M24(), {"dp", nullptr}), 2), IsOkAndHolds(true));
  EXPECT_THAT(AreEquivalent(On(M18(), {"dp"}), On(M18(), {}), 1), IsOkAndHolds(true));
  EXPECT_THAT(AreEquivalent(On(M24(), {{"dp", "tp"}}), On(M24(), {{"tp", "dp"}}), 1),
              IsOkAndHolds(false));
  EXPECT_FALSE(Sharding(SingleDeviceSharding{}) == On(M24(), {}));
}

// Marks how often each element of a small array is covered by boxes of replica 0.
std::vector<int> Coverage(const std::vector<DeviceShard>& shards, const Dims& shape) {
  std::vector<int> count(static_cast<size_t>(*NumElements(shape)), 0);
  const Dims strides = RowMajorStrides(shape, 1);
  for (const DeviceShard& shard : shards) {
    if (shard.replica_id != 0 || shard.box.empty()) continue;
    Dims index = shard.box.origin();
    while (true) {
      size_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d)
        offset += static_cast<size_t>(index[d] * strides[d]);
      ++count[offset];
      int d = shard.box.rank() - 1;
      while (d >= 0 && ++index[d] == shard.box.end(d)) {
        index[d] = shard.box.begin(d);
        --d;
      }
      if (d < 0) break;
    }
  }
  return count;
}

RC_GTEST_PROP(PlaceShardsProperty, BoxesOfReplicaZeroTileTheArray, ()) {
  const Mesh mesh = testing::ArbitraryMesh();
  const PartitionSpec spec = testing::ArbitrarySpec(mesh, 3);
  const Dims shape = testing::ArbitraryShapeFor(mesh, spec, 3);
  const auto shards = PlaceShards(*NamedSharding::Make(mesh, spec), shape);
  RC_ASSERT(shards.ok());
  for (int count : Coverage(*shards, shape)) RC_ASSERT(count == 1);
}

RC_GTEST_PROP(PlaceShardsProperty, ReplicaIdsNumberTheCopies, ()) {
  const Mesh mesh = testing::ArbitraryMesh();
  const PartitionSpec spec = testing::ArbitrarySpec(mesh, 3);
  const Dims shape = testing::ArbitraryShapeFor(mesh, spec, 3);
  const auto shards = PlaceShards(*NamedSharding::Make(mesh, spec), shape);
  RC_ASSERT(shards.ok());
  std::map<std::string, int64_t> copies;
  for (const DeviceShard& shard : *shards) {
    RC_ASSERT(shard.replica_id == copies[shard.box.Text()]++);
  }
  if (Box::Whole(shape).empty()) return;
  // Without empty dimensions every box has as many copies as every other.
  for (const auto& [box, count] : copies) {
    RC_ASSERT(count * static_cast<int64_t>(copies.size()) == mesh.size());
  }
}

}  // namespace
}  // namespace tessera::mesh
