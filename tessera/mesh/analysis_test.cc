#include "tessera/mesh/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/analyze_sharding_strategy.h"
#include "tessera/mesh/testing/meshes.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::M24;
using ::testing::Pair;
using ::testing::SizeIs;

using ArrayTree = tree::Tree<ShapeDtype>;
using SpecTree = tree::Tree<PartitionSpec>;
using SpecMap = std::map<std::string, PartitionSpec>;

ArrayTree Sample() {
  return ArrayTree::MakeDict({{"w", ShapeDtype{{8, 16}}}, {"b", ShapeDtype{{16}}}});
}

TEST(AnalyzeShardingStrategyTest, ComputesWhatEachDeviceHolds) {
  const auto specs = SpecTree::MakeDict({{"w", PartitionSpec{"dp", "tp"}}, {"b", PartitionSpec()}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto analysis,
                               AnalyzeShardingStrategy(Sample(), specs, M24()));
  EXPECT_EQ(analysis.total_parameters, 144);
  EXPECT_EQ(analysis.sharded_parameters, 128);
  EXPECT_THAT(analysis.memory_per_device, SizeIs(8));
  EXPECT_THAT(analysis.memory_per_device, Each(Field(&DeviceBytes::bytes, 128)));
  EXPECT_DOUBLE_EQ(analysis.balance_score, 1.0);
  EXPECT_DOUBLE_EQ(analysis.efficiency, 0.5625);
  EXPECT_THAT(analysis.partition_stats, ElementsAre(Pair("P('dp', 'tp')", SpecUse{1, 128, 512}),
                                                    Pair("P()", SpecUse{1, 16, 64})));
}

TEST(AnalyzeShardingStrategyTest, TakesSpecsByDottedOrSlashPath) {
  const auto tree = ArrayTree::MakeDict({{"a", Sample()}});
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto analysis,
      AnalyzeShardingStrategy(
          tree, SpecMap{{"a.w", {{"dp", "tp"}}}, {"a/b", {"dp"}}, {"a.x", {"dp"}}}, M24()));
  EXPECT_EQ(analysis.sharded_parameters, 144);
  EXPECT_THAT(analysis.memory_per_device, Each(Field(&DeviceBytes::bytes, 64 + 32)));
  EXPECT_THAT(analysis.unused_specs, ElementsAre("a.x"));
}

TEST(AnalyzeShardingStrategyTest, AnUnsplitSpecIsNotSharded) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto analysis,
                               AnalyzeShardingStrategy(Sample(), SpecMap{{"w", {nullptr}}}, M24()));
  EXPECT_EQ(analysis.sharded_parameters, 0);
}

TEST(AnalyzeShardingStrategyTest, AnEmptyTreeIsInBalance) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto analysis,
                               AnalyzeShardingStrategy(ArrayTree::MakeDict({}), SpecMap{}, M24()));
  EXPECT_EQ(analysis.total_parameters, 0);
  EXPECT_DOUBLE_EQ(analysis.balance_score, 1.0);
  EXPECT_DOUBLE_EQ(analysis.efficiency, 1.0);
}

TEST(AnalyzeShardingStrategyTest, SkipsAndCountsWhatIsNoArray) {
  const auto tree = tree::Tree<int>::List({1, 2, 3});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto analysis,
                               AnalyzeShardingStrategy(tree, SpecMap{{"0", {"dp"}}}, M24()));
  EXPECT_EQ(analysis.skipped_leaves, 3);
  EXPECT_THAT(analysis.unused_specs, ElementsAre("0"));
}

TEST(AnalyzeShardingStrategyTest, ErrorsNameTheArray) {
  const auto uneven = AnalyzeShardingStrategy(
      Sample(), SpecMap{{"b", {{"dp"}}}, {"w", {nullptr, nullptr, "dp"}}}, M24());
  EXPECT_THAT(uneven, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("w: NS(")));
  const auto tree = ArrayTree::MakeDict({{"b", ShapeDtype{{7}}}});
  const auto indivisible = AnalyzeShardingStrategy(tree, SpecMap{{"b", {"dp"}}}, M24());
  EXPECT_THAT(indivisible, HasKind(ErrorKind::kIndivisible));
  EXPECT_THAT(indivisible, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b: shape [7]")));
  EXPECT_THAT(AnalyzeShardingStrategy(Sample(), SpecMap{}), HasKind(ErrorKind::kNoMesh));
  EXPECT_THAT(AnalyzeShardingStrategy(Sample(), SpecMap{}, Mesh()), HasKind(ErrorKind::kNoMesh));
  EXPECT_THAT(
      AnalyzeShardingStrategy(Sample(), SpecTree::MakeDict({{"w", PartitionSpec()}}), M24()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b")));
}

TEST(AnalyzeArraysTest, RefusesTotalsPast63Bits) {
  const PlannedArray huge{"h", {std::numeric_limits<int64_t>::max()}, DType::kInt8, {}};
  EXPECT_THAT(AnalyzeArrays(std::vector{huge, huge}, M24()),
              StatusIs(absl::StatusCode::kInvalidArgument, "h: the total does not fit 63 bits"));
}

TEST(AnalyzeArraysTest, JsonHasEveryFigure) {
  const PlannedArray array{"a", {8}, DType::kBfloat16, {"dp"}};
  const Mesh mesh = *Mesh::MakeHost({{"dp", 2}});
  EXPECT_EQ(
      ToJson(*AnalyzeArrays(std::vector{array}, mesh)).dump(),
      R"j({"balance_score":1.0,"efficiency":1.0,"memory_per_device":{"0":8,"1":8},)j"
      R"j("partition_stats":{"P('dp')":{"arrays":1,"bytes":16,"parameters":8}},)j"
      R"j("sharded_parameters":8,"skipped_leaves":0,"total_parameters":8,"unused_specs":[]})j");
}

}  // namespace
}  // namespace tessera::mesh
