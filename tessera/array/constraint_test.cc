#include "tessera/array/constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/array/to_host.h"
#include "tessera/comm/alone.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using mesh::PartitionSpec;
using ::tessera::testing::HasKind;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Host;
using testing::HostIota;
using testing::Iota;
using ::testing::IsEmpty;
using testing::Mesh24;
using testing::On24;
using testing::ShardedIota;
using testing::SpecOf;
using testing::ValuesOf;

class WithShardingConstraintTest : public ::testing::Test {
 protected:
  ShardedArray OneDevice(const Dims& shape) {
    return ShardedIota(shape, mesh::SingleDeviceSharding{{0, 0}}, *platform_);
  }
  PartitionSpec Constrained(const Dims& shape, const PartitionSpec& spec) {
    const auto result = WithShardingConstraint(OneDevice(shape), spec, mover_, options_);
    EXPECT_EQ(ValuesOf(*ToHost(result->array, *platform_)), Iota(*NumElements(shape)));
    return SpecOf(result->array);
  }

  const std::unique_ptr<device::Platform> platform_ = Host(8);
  const std::unique_ptr<comm::Comm> comm_ = comm::MakeAlone();
  const Mover mover_ = {*platform_, *comm_};
  WithShardingConstraintOptions options_ = {.resolve = {.mesh = Mesh24()}};
};

TEST_F(WithShardingConstraintTest, TheVectorsOfTheReference) {
  EXPECT_EQ(Constrained({8, 16}, {"dp"}), (PartitionSpec{"dp", nullptr}));
  EXPECT_EQ(Constrained({6}, {"tp"}), PartitionSpec{});
  EXPECT_EQ(Constrained({8}, {"dp", "tp", "xx"}), (PartitionSpec{"dp"}));
  EXPECT_EQ(Constrained({8, 16}, {}), PartitionSpec{});
  EXPECT_EQ(Constrained({}, {"dp"}), PartitionSpec{});
}

TEST_F(WithShardingConstraintTest, LeavesTheArrayWithoutAMesh) {
  const ShardedArray array = OneDevice({6});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto result,
                               WithShardingConstraint(array, PartitionSpec{"tp"}, mover_));
  EXPECT_EQ(result.array.sharding(), array.sharding());
  EXPECT_THAT(result.corrections, IsEmpty());
}

TEST_F(WithShardingConstraintTest, TellsItsCorrections) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto result,
                               WithShardingConstraint(OneDevice({6}), On24({"tp"}), mover_));
  ASSERT_EQ(result.corrections.size(), 1u);
  EXPECT_EQ(result.corrections[0].Text(), "dimension 0: 'tp' -> None (does not divide)");
}

TEST_F(WithShardingConstraintTest, FitsTheSpecToEachLeaf) {
  const Value three = Opaque{nullptr, mesh::LeafKind::kNumber, "int"};
  const ValueTree tree = ValueTree::MakeDict({
      {"a", Value(OneDevice({8, 16}))},
      {"b",
       ValueTree::List({Value(OneDevice({7})), three, ValueTree::None(), Value(HostIota({8}))})},
  });
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto result,
                               WithShardingConstraint(tree, PartitionSpec{"dp"}, mover_, options_));
  const auto spec = [](const ValueTree& leaf) {
    return SpecOf(std::get<ShardedArray>(leaf.leaf()));
  };
  EXPECT_EQ(spec(*result.tree.Find("a")), (PartitionSpec{"dp", nullptr}));
  const auto list = result.tree.Find("b")->children();
  EXPECT_EQ(spec(list[0]), PartitionSpec{});
  EXPECT_TRUE(std::holds_alternative<Opaque>(list[1].leaf()));
  EXPECT_TRUE(list[2].is_none());
  EXPECT_TRUE(std::holds_alternative<HostArray>(list[3].leaf()));
  ASSERT_EQ(result.corrections.size(), 1u);
  EXPECT_EQ(result.corrections[0].path, "b.0");
  options_.place_host = true;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto placed,
                               WithShardingConstraint(tree, PartitionSpec{"dp"}, mover_, options_));
  EXPECT_EQ(spec(placed.tree.Find("b")->children()[3]), (PartitionSpec{"dp"}));
}

TEST_F(WithShardingConstraintTest, NamesTheLeafThatFails) {
  const ValueTree tree = ValueTree::MakeDict({{"w", Value(OneDevice({8, 8}))}});
  const auto result = WithShardingConstraint(tree, PartitionSpec{"dp", "dp"}, mover_, options_);
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("w: ")));
  EXPECT_THAT(result.status(), HasKind(ErrorKind::kDuplicateAxis));
}

}  // namespace
}  // namespace tessera::array
