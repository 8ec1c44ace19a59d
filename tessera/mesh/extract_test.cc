#include "tessera/mesh/extract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/testing/meshes.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::M24;

using LeafTree = tree::Tree<LeafInfo>;
using SpecTree = tree::Tree<PartitionSpec>;

NamedSharding On(PartitionSpec spec) { return *NamedSharding::Make(M24(), std::move(spec)); }

LeafInfo Array(LeafSharding sharding) {
  return {LeafKind::kArray, ShapeDtype{{8}}, std::move(sharding), "device array"};
}
LeafInfo Host() { return {LeafKind::kHostArray, ShapeDtype{{2}}, {}, "host array"}; }
LeafInfo Number() { return {.kind = LeafKind::kNumber, .type_name = "number"}; }
LeafInfo Text() { return {.type_name = "text"}; }

LeafTree SampleLeaves() {
  return LeafTree::MakeDict({{"a", Array(On({"dp"}))},
                             {"b", Array(SingleDeviceSharding{})},
                             {"c", Number()},
                             {"n", LeafTree::None()}});
}

TEST(ExtractShardingStructureTest, GivesNamedShardingsOfDeviceArraysOnly) {
  const auto expected = ShardingTree::MakeDict({{"a", std::optional(On({"dp"}))},
                                                {"b", std::optional<NamedSharding>()},
                                                {"c", std::optional<NamedSharding>()},
                                                {"n", ShardingTree::None()}});
  EXPECT_THAT(ExtractShardingStructure(SampleLeaves()), IsOkAndHolds(expected));
  EXPECT_THAT(GetShardingsWithStructure(SampleLeaves()), IsOkAndHolds(expected));
  EXPECT_THAT(ExtractShardingStructure(LeafTree::MakeDict({})),
              IsOkAndHolds(ShardingTree::MakeDict({})));
}

TEST(ExtractShardingsTest, BindsBareSpecsToTheMesh) {
  const auto tree = LeafTree::MakeDict(
      {{"e", LeafInfo{LeafKind::kDescriptor, ShapeDtype{{8}}, PartitionSpec{"tp"}, "descriptor"}}});
  const auto expected = ShardingTree::MakeDict({{"e", std::optional(On({"tp"}))}});
  EXPECT_THAT(ExtractShardings(tree, M24()), IsOkAndHolds(expected));
  const auto without = ExtractShardings(tree);
  EXPECT_THAT(without, HasKind(ErrorKind::kNoMesh));
  EXPECT_THAT(without, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("e: extract_")));
  const MeshScope scope(M24());
  EXPECT_THAT(ExtractShardings(tree), IsOkAndHolds(expected));
}

TEST(ExtractShardingsTest, NeedsNoMeshWhereNoLeafDoes) {
  EXPECT_THAT(ExtractShardings(SampleLeaves()), IsOk());
  EXPECT_THAT(ExtractShardings(LeafTree::MakeDict({})), IsOk());
}

TEST(ExtractShardingsTest, AnUnknownAxisNamesTheLeaf) {
  const auto tree = LeafTree::MakeDict({{"w", Array(PartitionSpec{"xx"})}});
  EXPECT_THAT(ExtractShardings(tree, M24()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("w: spec P('xx')")));
}

TEST(GetPartitionSpecTest, NumbersAndUnplacedArraysAreReplicated) {
  EXPECT_THAT(GetPartitionSpec(SampleLeaves()),
              IsOkAndHolds(SpecTree::MakeDict({{"a", PartitionSpec{"dp"}},
                                               {"b", PartitionSpec()},
                                               {"c", PartitionSpec()},
                                               {"n", SpecTree::None()}})));
  EXPECT_THAT(GetPartitionSpec(LeafTree::MakeDict({{"h", Host()}})), IsOk());
}

TEST(GetPartitionSpecTest, ErrorsNameTheKey) {
  EXPECT_THAT(GetPartitionSpec(LeafTree::MakeDict({{"s", Text()}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "s: get_partition_spec: expected an array or a number, found text"));
  EXPECT_THAT(GetPartitionSpec(LeafTree::MakeDict({{"h", Host()}}), {.strict = true}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "h: get_partition_spec: the host array has no partition spec"));
}

TEST(GetPartitionSpecTest, TakesPlainNumbersAndText) {
  EXPECT_THAT(GetPartitionSpec(tree::Tree<int>::List({1, 2})),
              IsOkAndHolds(SpecTree::List({PartitionSpec(), PartitionSpec()})));
  EXPECT_THAT(GetPartitionSpec(tree::Tree<std::string>("s")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("found text")));
}

TEST(GetNamesFromPartitionSpecTest, NamesComeOnceInOrderOfAppearance) {
  EXPECT_THAT(GetNamesFromPartitionSpec(SpecTree::MakeDict(
                  {{"a", PartitionSpec{"dp", nullptr}}, {"b", PartitionSpec{{"fsdp", "tp"}}}})),
              IsOkAndHolds(ElementsAre("dp", "fsdp", "tp")));
  EXPECT_THAT(GetNamesFromPartitionSpec(PartitionSpec{"dp", {"b", "a"}}),
              ElementsAre("dp", "b", "a"));
  EXPECT_THAT(GetNamesFromPartitionSpec(SpecTree::MakeDict({{"a", SpecTree::None()}})),
              IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(GetNamesFromPartitionSpec(PartitionSpec{SpecEntry::Unconstrained()}), IsEmpty());
}

}  // namespace
}  // namespace tessera::mesh
