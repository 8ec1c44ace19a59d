#include "tessera/tree/structure.h"

#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/tree/testing/tree_json.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::StatusIs;
using ::tessera::tree::testing::MakeTree;
using ::testing::Eq;

using IntTree = Tree<int>;

TEST(StructureTest, EqualsWhenOnlyLeavesAndKeyOrderDiffer) {
  const IntTree a = IntTree::MakeDict({{"a", 1}, {"b", 2}});
  const IntTree b = IntTree::MakeDict({{"b", 9}, {"a", 8}});
  EXPECT_EQ(StructureOf(a).value(), StructureOf(b).value());
  EXPECT_EQ(StructureOf(IntTree(5)).value(), StructureOf(Tree<std::string>("x")).value());
}

TEST(StructureTest, DiffersByKindAndByEmptiness) {
  EXPECT_NE(StructureOf(IntTree::List({1, 2})).value(),
            StructureOf(IntTree::Tuple({1, 2})).value());
  EXPECT_NE(StructureOf(MakeTree(R"({"dict": {"a": {"dict": {}}}})")).value(),
            StructureOf(MakeTree(R"({"dict": {"a": null}})")).value());
}

TEST(FirstDifferenceTest, NamesThePath) {
  EXPECT_EQ(FirstDifference(MakeTree(R"({"dict": {"layers": {"list": [{"list": ["l", "l"]}]}}})"),
                            MakeTree(R"({"dict": {"layers": {"list": [{"tuple": ["l", "l"]}]}}})")),
            "at layers.0: list of 2 vs tuple of 2");
  EXPECT_EQ(FirstDifference(MakeTree(R"({"list": []})"), MakeTree("null")),
            "at the root: list of 0 vs None");
  EXPECT_EQ(
      FirstDifference(MakeTree(R"({"dict": {"a": "l"}})"), MakeTree(R"({"dict": {"b": "l"}})")),
      "at the root: dict of 1: only the first has 'a', only the second has 'b'");
  EXPECT_EQ(FirstDifference(MakeTree(R"({"dict": {"a": "l"}})"),
                            MakeTree(R"({"dict": {"a": {"dict": {"x": "l"}}}})")),
            "at a: leaf vs dict of 1");
}

TEST(FirstDifferenceTest, TheFirstOfSeveralIsTheFirstInCanonicalOrder) {
  EXPECT_EQ(FirstDifference(MakeTree(R"({"dict": {"b": {"list": []}, "a": {"list": []}}})"),
                            MakeTree(R"({"dict": {"b": null, "a": null}})")),
            "at a: list of 0 vs None");
}

TEST(SameStructureTest, AgreesWithTheSeedsVectors) {
  const IntTree one = IntTree::MakeDict({{"a", 1}});
  EXPECT_TRUE(SameStructure(one, IntTree::MakeDict({{"a", 2}})));
  EXPECT_TRUE(SameStructure(IntTree::MakeDict({}), IntTree::MakeDict({})));
  EXPECT_FALSE(SameStructure(IntTree::MakeDict({{"a", IntTree::List({1, 2})}}),
                             IntTree::MakeDict({{"a", IntTree::Tuple({1, 2})}})));
  EXPECT_FALSE(SameStructure(IntTree::MakeDict({{"a", IntTree::MakeDict({})}}),
                             IntTree::MakeDict({{"a", IntTree::None()}})));
}

TEST(SameStructureTest, NoneStandsForALeafOnlyOnRequest) {
  const IntTree leaf = IntTree::MakeDict({{"a", 1}});
  const IntTree none = IntTree::MakeDict({{"a", IntTree::None()}});
  const IntTree list = IntTree::MakeDict({{"a", IntTree::List({})}});
  EXPECT_FALSE(SameStructure(leaf, none));
  EXPECT_TRUE(SameStructure(leaf, none, {.null_is_leaf = true}));
  EXPECT_TRUE(SameStructure(none, leaf, {.null_is_leaf = true}));
  EXPECT_TRUE(SameStructure(none, none));
  EXPECT_TRUE(SameStructure(none, none, {.null_is_leaf = true}));
  EXPECT_EQ(FirstDifference(none, list, {.null_is_leaf = true}), "at a: None vs list of 0");
  EXPECT_EQ(FirstDifference(list, none, {.null_is_leaf = true}), "at a: list of 0 vs None");
}

TEST(SameStructureTest, WorksAtAnyDepth) {
  IntTree deep = 1;
  for (int i = 0; i < 200'000; ++i) deep = IntTree::List({std::move(deep)});
  EXPECT_TRUE(SameStructure(deep, deep));
  EXPECT_EQ(FirstDifference(deep, deep.children()[0]),
            "at 0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0... (199983 more): list of 1 vs leaf");
}

TEST(StructureTest, RefusesTreesThatAreTooDeep) {
  IntTree deep = 1;
  for (int i = 0; i < 10'000; ++i) deep = IntTree::Tuple({std::move(deep)});
  EXPECT_THAT(StructureOf(deep), StatusIs(absl::StatusCode::kInvalidArgument,
                                          ::testing::StartsWith("the tree is nested deeper")));
}

}  // namespace
}  // namespace tessera::tree
