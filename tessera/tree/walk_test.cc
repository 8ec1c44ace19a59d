#include "tessera/tree/walk.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;

using IntTree = Tree<int>;

IntTree Nested(size_t depth) {
  IntTree tree = 7;
  for (size_t i = 0; i < depth; ++i) tree = IntTree::List({std::move(tree)});
  return tree;
}

std::vector<std::string> Visits(const IntTree& tree, const WalkOptions<int>& options = {}) {
  std::vector<std::string> visits;
  const auto note = [&](const KeyPathView& path, const IntTree& node) {
    visits.push_back(Concat(path.Dotted(), "=",
                            node.is_leaf() ? std::to_string(node.leaf())
                                           : DescribeNode(node.kind(), node.def_or_null())));
  };
  EXPECT_THAT(ForEachLeafNode(tree, options, note), IsOk());
  return visits;
}

TEST(ForEachLeafTest, VisitsInCanonicalOrder) {
  const IntTree tree =
      IntTree::MakeDict({{"b", IntTree::List({1, IntTree::MakeDict({{"c", 2}})})}, {"a", 3}});
  EXPECT_THAT(Visits(tree), ElementsAre("a=3", "b.0=1", "b.1.c=2"));
  WalkOptions<int> given;
  given.insertion_order = true;
  EXPECT_THAT(Visits(tree, given), ElementsAre("b.0=1", "b.1.c=2", "a=3"));
}

TEST(ForEachLeafTest, OrdersTextByCodePointNumbersByValueAndListsByPosition) {
  const IntTree text = IntTree::MakeDict({{"a", 0}, {"B", 1}, {"9", 2}, {"10", 3}});
  EXPECT_THAT(Visits(text), ElementsAre("10=3", "9=2", "B=1", "a=0"));
  const IntTree numbers = IntTree::MakeDict({{10, 0}, {9, 1}});
  EXPECT_THAT(Visits(numbers), ElementsAre("9=1", "10=0"));
  const IntTree list = IntTree::List({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(Visits(list)[10], "10=10");
  const IntTree ordered = IntTree::MakeOrderedDict({{"b", 0}, {"a", 1}});
  EXPECT_THAT(Visits(ordered), ElementsAre("b=0", "a=1"));
}

TEST(ForEachLeafTest, NoneIsNoLeafUnlessAsked) {
  const IntTree tree = IntTree::MakeDict({{"a", IntTree::None()}, {"b", 1}});
  EXPECT_THAT(Visits(tree), ElementsAre("b=1"));
  WalkOptions<int> options;
  options.none_is_leaf = true;
  EXPECT_THAT(Visits(tree, options), ElementsAre("a=None", "b=1"));
  EXPECT_THAT(Visits(IntTree::None()), IsEmpty());
  EXPECT_THAT(Visits(IntTree::None(), options), ElementsAre("=None"));
}

TEST(ForEachLeafTest, ThePredicateIsAskedFirstEverywhere) {
  const IntTree tree = IntTree::Tuple({IntTree::List({1, 2}), IntTree::None(), 3});
  WalkOptions<int> options;
  options.is_leaf = [](const IntTree& node) {
    return node.kind() == NodeKind::kList || node.is_none();
  };
  EXPECT_THAT(Visits(tree, options), ElementsAre("0=list of 2", "1=None", "2=3"));
  options.is_leaf = [](const IntTree& node) { return node.is_container(); };
  EXPECT_THAT(Visits(tree, options), ElementsAre("=tuple of 3"));
}

TEST(ForEachLeafTest, EmptyContainersHaveNoLeaves) {
  EXPECT_THAT(Visits(IntTree::Tuple({1, IntTree::List({}), IntTree::Tuple({2})})),
              ElementsAre("0=1", "2.0=2"));
  EXPECT_THAT(Visits(IntTree::MakeDict({})), IsEmpty());
}

TEST(ForEachLeafTest, PassesLeafValuesAndDiagnosticPaths) {
  const IntTree opt =
      IntTree::Custom("Nested", "",
                      {IntTree::MakeNamedTuple("Adam", {{"mu", IntTree::MakeDict({{"w", 1}})}})})
          .value();
  std::vector<std::string> paths;
  EXPECT_THAT(ForEachLeaf(opt,
                          [&](const KeyPathView& path, const int& leaf) {
                            paths.push_back(Concat(path.Diagnostic(), "=", leaf));
                          }),
              IsOk());
  EXPECT_THAT(paths, ElementsAre("[<flat index 0>].mu['w']=1"));
}

TEST(ForEachLeafTest, StopsAtTheFirstError) {
  int calls = 0;
  const auto fail = [&](const KeyPathView& path, int leaf) {
    ++calls;
    return leaf == 2 ? InvalidArgument("bad leaf at ", path.Dotted()) : absl::OkStatus();
  };
  EXPECT_THAT(ForEachLeaf(IntTree::List({1, 2, 3}), fail), StatusIs(kInvalid, Eq("bad leaf at 1")));
  EXPECT_EQ(calls, 2);
}

TEST(ForEachLeafTest, DepthIsLimited) {
  const auto nothing = [](const KeyPathView&, int) {};
  EXPECT_THAT(ForEachLeaf(Nested(1000), nothing), IsOk());
  const std::string path = "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0... (984 more)";
  for (const size_t depth : {1001, 10'000, 1'000'000}) {
    EXPECT_THAT(
        ForEachLeaf(Nested(depth), nothing),
        StatusIs(kInvalid, Eq("the tree is nested deeper than 1000 containers, at " + path)));
  }
  EXPECT_THAT(ForEachLeaf(Nested(10'000), nothing, 10'000), IsOk());
}

TEST(ForEachLeafTest, ALeafPredicateKeepsTheWalkShallow) {
  WalkOptions<int> options;
  options.max_depth = 0;
  EXPECT_THAT(Visits(7, options), ElementsAre("=7"));
  options.is_leaf = [](const IntTree& node) { return node.is_container(); };
  EXPECT_THAT(Visits(Nested(5), options), ElementsAre("=list of 1"));
}

}  // namespace
}  // namespace tessera::tree
