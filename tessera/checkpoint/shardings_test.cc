#include "tessera/checkpoint/shardings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Mesh24;
using ::tessera::array::testing::On24;
using ::tessera::testing::HasKind;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using mesh::Mesh;
using mesh::NamedSharding;
using mesh::PartitionRule;
using mesh::PartitionSpec;
using mesh::SingleDeviceSharding;

// a.w of [8,16] and b of [7].
class PlaceArraysTest : public ::testing::Test {
 protected:
  PlaceArraysTest() {
    Add({"a", "w"}, {8, 16});
    Add({"b"}, {7});
  }
  void Add(std::vector<std::string> key, Dims shape) {
    auto metadata =
        std::make_shared<zarr::Metadata>(zarr::JaxMetadata({shape, DType::kFloat32}, shape));
    std::string name;
    for (const std::string& part : key) name += (name.empty() ? "" : ".") + part;
    arrays_.push_back(std::make_unique<CheckpointArray>(
        CheckpointArray{std::move(key), name, name, std::move(metadata)}));
  }
  absl::StatusOr<std::vector<Placement>> Place(const PlacementRequest& request) {
    std::vector<const CheckpointArray*> arrays;
    for (const auto& array : arrays_) arrays.push_back(array.get());
    return PlaceArrays(arrays, request);
  }

  std::vector<std::unique_ptr<CheckpointArray>> arrays_;
};

std::vector<PartitionRule> Rules(PartitionSpec first) {
  return {{"a/w$", std::move(first)}, {".*", PartitionSpec()}};
}

TEST_F(PlaceArraysTest, WithoutAMeshEverythingIsOnTheDefaultDevice) {
  const Placement one{SingleDeviceSharding{{3, 1}}, PlacedBy::kDevice};
  EXPECT_THAT(Place({.default_device = {3, 1}}), IsOkAndHolds(ElementsAre(one, one)));
}

TEST_F(PlaceArraysTest, AMeshOfOneAxisReplicates) {
  const Mesh mesh = *Mesh::MakeHost({{"x", 8}});
  const Placement all{NamedSharding::Replicated(mesh), PlacedBy::kMesh};
  EXPECT_THAT(Place({.mesh = mesh}), IsOkAndHolds(ElementsAre(all, all)));
}

TEST_F(PlaceArraysTest, AMeshOfMoreAxesNeedsAWordForEveryArray) {
  EXPECT_THAT(Place({.mesh = Mesh24()}),
              StatusIs(kInvalid, AllOf(HasSubstr("2 arrays"), HasSubstr("a.w: no sharding"),
                                       HasSubstr("b: no sharding"))));
  EXPECT_THAT(Place({.mesh = Mesh()}), HasKind(ErrorKind::kNoMesh));
}

TEST_F(PlaceArraysTest, RulesDecideInOrder) {
  EXPECT_THAT(Place({.mesh = Mesh24(), .rules = Rules({"dp", "tp"})}),
              IsOkAndHolds(ElementsAre(Placement{On24({"dp", "tp"}), PlacedBy::kRule, 0},
                                       Placement{On24({}), PlacedBy::kRule, 1})));
  EXPECT_THAT(Place({.mesh = Mesh24(), .rules = {{{"a/w", {}}}}}),
              StatusIs(kInvalid, HasSubstr("b: no partition rule matches")));
  EXPECT_THAT(Place({.rules = Rules({"dp"})}), HasKind(ErrorKind::kNoMesh));
}

TEST_F(PlaceArraysTest, AnArraysOwnShardingBeatsRules) {
  const auto nested = ShardingChoices::MakeDict(
      {{"a", ShardingChoices::MakeDict({{"w", ShardingChoice(PartitionSpec{nullptr, "tp"})}})}});
  const auto flat =
      ShardingChoices::MakeDict({{"a.w", ShardingChoice(PartitionSpec{nullptr, "tp"})}});
  for (const auto& choices : {nested, flat}) {
    EXPECT_THAT(Place({.mesh = Mesh24(), .rules = Rules({"dp", "tp"}), .shardings = choices}),
                IsOkAndHolds(ElementsAre(Placement{On24({nullptr, "tp"}), PlacedBy::kSharding},
                                         Placement{On24({}), PlacedBy::kRule, 1})));
  }
}

TEST_F(PlaceArraysTest, AFunctionSeesTheRecordAndMayPass) {
  const ShardingFunction choose =
      [](const ledger::ArrayRecord& record) -> absl::StatusOr<ChosenSharding> {
    if (record.shape.size() < 2) return std::nullopt;
    return On24({"dp"});
  };
  EXPECT_THAT(Place({.mesh = Mesh24(),
                     .rules = Rules({}),
                     .shardings = ShardingChoices(ShardingChoice(choose))}),
              IsOkAndHolds(ElementsAre(Placement{On24({"dp"}), PlacedBy::kSharding},
                                       Placement{On24({}), PlacedBy::kRule, 1})));
}

TEST_F(PlaceArraysTest, TheTargetsShardingComesAfterRules) {
  PlacementRequest request{.mesh = *Mesh::MakeHost({{"x", 2}})};
  request.targets.emplace("b", SingleDeviceSharding{{1, 0}});
  EXPECT_THAT(
      Place(request),
      IsOkAndHolds(ElementsAre(Placement{NamedSharding::Replicated(*request.mesh), PlacedBy::kMesh},
                               Placement{SingleDeviceSharding{{1, 0}}, PlacedBy::kTarget})));
}

TEST_F(PlaceArraysTest, SpecsAreCutToTheRankAndThatIsRecorded) {
  const std::vector<PartitionRule> rules{{"a/w", {}}, {"b", {nullptr, "tp"}}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto placed, Place({.mesh = Mesh24(), .rules = rules}));
  EXPECT_EQ(placed[1].sharding, mesh::Sharding(On24({nullptr})));
  ASSERT_EQ(placed[1].corrections.size(), 1);
  EXPECT_EQ(placed[1].corrections[0].Text(), "dimension 1: 'tp' -> None (past the rank)");
}

TEST_F(PlaceArraysTest, WhatDoesNotDivideIsAnErrorOrCorrected) {
  const std::vector<PartitionRule> rules{{".*", {"dp"}}};
  const auto refused = Place({.mesh = Mesh24(), .rules = rules});
  EXPECT_THAT(refused, StatusIs(kInvalid, HasSubstr("b: shape [7]")));
  EXPECT_THAT(refused, HasKind(ErrorKind::kIndivisible));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto placed,
                               Place({.mesh = Mesh24(), .rules = rules, .auto_correct = true}));
  EXPECT_EQ(placed[0].sharding, mesh::Sharding(On24({"dp"})));
  EXPECT_EQ(placed[1].sharding, mesh::Sharding(On24({})));
  EXPECT_EQ(placed[1].corrections[0].Text(), "dimension 0: 'dp' -> None (does not divide)");
}

TEST_F(PlaceArraysTest, MistakesInSpecsAreErrorsEvenWhenCorrecting) {
  for (const bool correct : {false, true}) {
    EXPECT_THAT(Place({.mesh = Mesh24(), .rules = Rules({"xx"}), .auto_correct = correct}),
                StatusIs(kInvalid, HasSubstr("no axis 'xx'")));
    EXPECT_THAT(Place({.mesh = Mesh24(), .rules = Rules({{"dp", "xx"}}), .auto_correct = correct}),
                StatusIs(kInvalid, HasSubstr("no axis 'xx'")));
    EXPECT_THAT(Place({.mesh = Mesh24(), .rules = Rules({"dp", "dp"}), .auto_correct = correct}),
                HasKind(ErrorKind::kDuplicateAxis));
    EXPECT_THAT(Place({.mesh = Mesh24(),
                       .rules = Rules({mesh::SpecEntry::Unconstrained()}),
                       .auto_correct = correct}),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("unconstrained")));
  }
}

TEST_F(PlaceArraysTest, ScalarsAndEmptyArraysAreKept) {
  arrays_.clear();
  Add({"s"}, {});
  Add({"e"}, {0, 16});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto placed,
                               Place({.mesh = Mesh24(), .rules = {{{".*", {"dp", "tp"}}}}}));
  EXPECT_EQ(placed[0].sharding, mesh::Sharding(On24({})));
  EXPECT_EQ(placed[0].corrections.size(), 2);
  EXPECT_EQ(placed[1].sharding, mesh::Sharding(On24({"dp", "tp"})));
}

TEST(TargetOfTest, LeavesAreDescribed) {
  const auto platform = array::testing::Host(8);
  const auto state = array::ValueTree::MakeDict(
      {{"w", array::Value(array::testing::ShardedIota({8}, On24({"dp"}), *platform))},
       {"h", array::Value(array::testing::HostIota({3}))},
       {"n", array::Value(array::MakeScalar(int64_t{5}))}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const TargetTree target, TargetOf(state));
  EXPECT_EQ(target.Find("w")->leaf().sharding, mesh::Sharding(On24({"dp"})));
  EXPECT_EQ(target.Find("h")->leaf().array, (ShapeDtype{{3}, DType::kInt32}));
  EXPECT_EQ(target.Find("h")->leaf().sharding, std::nullopt);
  EXPECT_EQ(target.Find("n")->leaf().value.scalar, tree::Scalar(int64_t{5}));
}

}  // namespace
}  // namespace tessera::checkpoint
