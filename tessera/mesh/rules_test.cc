#include "tessera/mesh/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/match_partition_rules.h"
#include "tessera/mesh/settings.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ArrayTree = tree::Tree<ShapeDtype>;
using LeafTree = tree::Tree<LeafInfo>;
using SpecTree = tree::Tree<PartitionSpec>;
using Rules = std::vector<PartitionRule>;

ShapeDtype F32(Dims shape) { return {std::move(shape), DType::kFloat32}; }
LeafInfo NumberLeaf() { return {.kind = LeafKind::kNumber, .type_name = "number"}; }

template <typename T>
absl::StatusOr<SpecTree> Match(const Rules& rules, const tree::Tree<T>& tree,
                               MatchOptions options = {}) {
  TESSERA_ASSIGN_OR_RETURN(MatchedTree matched, MatchPartitionRules(rules, tree, options));
  return matched.specs;
}

TEST(MatchPartitionRulesTest, TheDocumentedExample) {
  const Rules rules{{".*weight", {"model", nullptr}}};
  const auto numbers =
      LeafTree::MakeDict({{"layer/weight", NumberLeaf()}, {"layer/bias", NumberLeaf()}});
  EXPECT_THAT(Match(rules, numbers),
              IsOkAndHolds(SpecTree::MakeDict(
                  {{"layer/weight", PartitionSpec()}, {"layer/bias", PartitionSpec()}})));
  EXPECT_THAT(Match(rules, numbers, {.strict = false}),
              StatusIs(kInvalid, HasSubstr("no rule takes 'layer/bias'")));
  EXPECT_THAT(Match(rules, numbers,
                    {.strict = false, .on_unmatched = MatchOptions::OnUnmatched::kReplicate}),
              IsOkAndHolds(SpecTree::MakeDict({{"layer/weight", PartitionSpec{"model", nullptr}},
                                               {"layer/bias", PartitionSpec()}})));
}

TEST(MatchPartitionRulesTest, ErrorsListEveryUnmatchedLeaf) {
  const auto tree = ArrayTree::MakeDict({{"a", F32({2})}, {"b", F32({2})}, {"c", F32({})}});
  EXPECT_THAT(Match({}, tree), StatusIs(kInvalid, HasSubstr("no rule takes 'a', 'b'; add one")));
  EXPECT_THAT(Match({}, ArrayTree::MakeDict({{"w", F32({})}})),
              IsOkAndHolds(SpecTree::MakeDict({{"w", PartitionSpec()}})));
}

TEST(MatchPartitionRulesTest, SpecsAreCutToTheRankOnlyWhenStrict) {
  const Rules rules{{"w", {"a", "b", "c"}}};
  const auto tree = ArrayTree::MakeDict({{"w", F32({4, 4})}});
  EXPECT_THAT(Match(rules, tree),
              IsOkAndHolds(SpecTree::MakeDict({{"w", PartitionSpec{"a", "b"}}})));
  EXPECT_THAT(Match(rules, tree, {.strict = false}),
              IsOkAndHolds(SpecTree::MakeDict({{"w", PartitionSpec{"a", "b", "c"}}})));
}

TEST(MatchPartitionRulesTest, SmallArraysAreReplicated) {
  const Rules rules{{"w", {"a"}}};
  const auto tree = ArrayTree::MakeDict({{"w", F32({10})}, {"w2", F32({11})}});
  EXPECT_THAT(
      Match(rules, tree, {.min_size = 11}),
      IsOkAndHolds(SpecTree::MakeDict({{"w", PartitionSpec()}, {"w2", PartitionSpec{"a"}}})));
}

// Run again by ctest with the variable set.
TEST(SettingsInUseTest, NoMinimumMeansTheVariables) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const int64_t size, MinShardingSize());
  const auto tree = ArrayTree::MakeDict({{"w", F32({size - 1})}, {"w2", F32({size})}});
  EXPECT_THAT(
      Match(Rules{{"w", {"a"}}}, tree, {.min_size = std::nullopt}),
      IsOkAndHolds(SpecTree::MakeDict({{"w", PartitionSpec()}, {"w2", PartitionSpec{"a"}}})));
}

TEST(MatchPartitionRulesTest, NamesAreSlashPaths) {
  EXPECT_THAT(
      Match(Rules{{"a", {"x"}}, {"a/b", {"y"}}},
            ArrayTree::MakeDict({{"a", ArrayTree::MakeDict({{"b", F32({2})}})}})),
      IsOkAndHolds(SpecTree::MakeDict({{"a", SpecTree::MakeDict({{"b", PartitionSpec{"x"}}})}})));
  EXPECT_THAT(Match(Rules{{"^l/1$", {"x"}}, {".*", {}}},
                    ArrayTree::MakeDict({{"l", ArrayTree::List({F32({2}), F32({2})})}})),
              IsOkAndHolds(SpecTree::MakeDict(
                  {{"l", SpecTree::List({PartitionSpec(), PartitionSpec{"x"}})}})));
  EXPECT_THAT(Match(Rules{{"^$", {"x"}}}, ArrayTree(F32({2}))),
              IsOkAndHolds(SpecTree(PartitionSpec{"x"})));
}

TEST(MatchPartitionRulesTest, TellsWhichRuleTookWhichLeaf) {
  const Rules rules{{"kernel", {"tp"}}, {"q/kernel", {"dp"}}, {"nothing", {}}, {".*", {}}};
  const auto tree =
      ArrayTree::MakeDict({{"q", ArrayTree::MakeDict({{"kernel", F32({4})}})}, {"scale", F32({})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const MatchedTree matched, MatchPartitionRules(rules, tree));
  EXPECT_THAT(matched.matches.leaves,
              ElementsAre(LeafMatch{{"tp"}, 0}, LeafMatch{{}, std::nullopt}));
  EXPECT_THAT(matched.matches.unused_rules, ElementsAre(1, 2, 3));
  EXPECT_THAT(FindShadowedRules(rules, matched.leaves, matched.matches),
              IsOkAndHolds(ElementsAre(1, 3)));
  EXPECT_THAT(matched.matches.unmatched, IsEmpty());
}

TEST(MatchPartitionRulesTest, AMeshChecksAxesAndDivisibility) {
  const Mesh mesh = *Mesh::MakeHost({{"dp", 2}});
  const auto tree = ArrayTree::MakeDict({{"w", F32({7})}});
  const auto uneven = Match(Rules{{"w", {"dp"}}}, tree, {.mesh = mesh});
  EXPECT_THAT(uneven, HasKind(ErrorKind::kIndivisible));
  EXPECT_THAT(uneven, StatusIs(kInvalid, HasSubstr("w: shape [7]: dimension 0 of size 7")));
  EXPECT_THAT(Match(Rules{{"w", {"tp"}}}, tree, {.mesh = mesh}),
              StatusIs(kInvalid, HasSubstr("w: spec P('tp'): the mesh has no axis 'tp'")));
}

TEST(MatchPartitionRulesTest, ARuleThatIsNoRegexIsNamed) {
  EXPECT_THAT(Match(Rules{{".*", {}}, {"[", {}}}, ArrayTree::MakeDict({{"w", F32({2})}})),
              StatusIs(kInvalid, HasSubstr("[")));
}

TEST(MatchPartitionRulesTest, ARuleThatBacktracksWithoutEndStops) {
  const auto tree = ArrayTree::MakeDict({{std::string(60, 'a') + "!", F32({2})}});
  EXPECT_THAT(Match(Rules{{R"(^(\w+\w*)+$)", {}}}, tree),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(R"(^(\w+\w*)+$)")));
}

TEST(PartitionRulesJsonTest, RoundTrips) {
  const Rules rules{{"a/.*", {"dp", {"fsdp", "tp"}}}, {".*", {}}};
  EXPECT_EQ(ToJson(rules).dump(), R"([["a/.*",["dp",["fsdp","tp"]]],[".*",[]]])");
  EXPECT_THAT(PartitionRulesFromJson(ToJson(rules)), IsOkAndHolds(rules));
}

TEST(PartitionRulesJsonTest, ErrorsNameTheRule) {
  EXPECT_THAT(PartitionRulesFromJson(Json::parse(R"({"a": []})")),
              StatusIs(kInvalid, "rules: expected a list of [pattern, spec], found object"));
  EXPECT_THAT(PartitionRulesFromJson(Json::parse(R"([["a", []], ["b"]])")),
              StatusIs(kInvalid, R"(rules[1]: expected [pattern, spec], found ["b"])"));
  EXPECT_THAT(PartitionRulesFromJson(Json::parse(R"([["a", [1]]])")),
              StatusIs(kInvalid, HasSubstr("rules[0][1][0]: expected null")));
}

}  // namespace
}  // namespace tessera::mesh
