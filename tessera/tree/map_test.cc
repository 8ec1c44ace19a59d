#include "tessera/tree/map.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

using IntTree = Tree<int>;
using TextTree = Tree<std::string>;

TEST(MapTest, ReplacesLeavesAndKeepsTheRest) {
  const IntTree tree = IntTree::MakeDict({{"b", IntTree::List({1, IntTree::None()})}, {"a", 3}});
  EXPECT_THAT(Map(tree, [](int n) { return std::to_string(n * 2); }),
              IsOkAndHolds(TextTree::MakeDict(
                  {{"b", TextTree::List({"2", TextTree::None()})}, {"a", "6"}})));
}

TEST(MapTest, KeepsTheOrderThatItemsWereGivenInButVisitsCanonically) {
  const IntTree tree = IntTree::MakeDict({{"b", 1}, {"a", 2}});
  std::vector<int> visited;
  const auto mapped = Map(tree, [&](int n) {
    visited.push_back(n);
    return n;
  });
  EXPECT_THAT(visited, ElementsAre(2, 1));
  EXPECT_THAT(mapped->def()->insertion, ElementsAre(1, 0));
}

TEST(MapTest, AnEmptyTreeIsReturnedWithoutACall) {
  const auto fail = [](int) -> int {
    ADD_FAILURE();
    return 0;
  };
  EXPECT_THAT(Map(IntTree::MakeDict({}), fail), IsOkAndHolds(IntTree::MakeDict({})));
  EXPECT_THAT(Map(IntTree::None(), fail), IsOkAndHolds(IntTree::None()));
}

TEST(MapTest, TheFirstErrorIsReturned) {
  const auto half = [](int n) -> absl::StatusOr<int> {
    if (n % 2 != 0) return InvalidArgument(n, " is odd");
    return n / 2;
  };
  EXPECT_THAT(Map(IntTree::List({2, 4}), half), IsOkAndHolds(IntTree::List({1, 2})));
  EXPECT_THAT(Map(IntTree::List({2, 3, 5}), half), StatusIs(kInvalid, Eq("3 is odd")));
}

TEST(MapTest, AReturnedTreeIsGrafted) {
  EXPECT_THAT(Map(IntTree::List({1}),
                  [](int n) {
                    return IntTree::Tuple({n, n});
                  }),
              IsOkAndHolds(IntTree::List({IntTree::Tuple({1, 1})})));
}

TEST(MapWithPathTest, PassesThePath) {
  const IntTree tree = IntTree::MakeDict({{"b", IntTree::List({1})}, {"a", 3}});
  EXPECT_THAT(MapWithPath(tree, [](const KeyPathView& path,
                                   int n) { return Concat(path.Slashed(), "=", n); }),
              IsOkAndHolds(TextTree::MakeDict({{"a", "a=3"}, {"b", TextTree::List({"b/0=1"})}})));
}

TEST(MapNodesTest, SeesWhatThePredicateAccepts) {
  WalkOptions<int> options;
  options.is_leaf = [](const IntTree& node) { return node.kind() == NodeKind::kList; };
  const IntTree tree = IntTree::Tuple({IntTree::List({1, 2}), 3});
  EXPECT_THAT(
      MapNodes(tree, options,
               [](const KeyPathView&, const IntTree& node) { return node.children().size(); }),
      IsOkAndHolds(Tree<size_t>::Tuple({size_t{2}, size_t{0}})));
}

TEST(MapTest, RefusesTreesThatAreTooDeep) {
  IntTree deep = 1;
  for (int i = 0; i < 10'000; ++i) deep = IntTree::List({std::move(deep)});
  EXPECT_THAT(Map(deep, [](int n) { return n; }), StatusIs(kInvalid, HasSubstr("nested deeper")));
  EXPECT_THAT(MapTrees([](int n, const IntTree&) { return n; }, deep, deep),
              StatusIs(kInvalid, HasSubstr("nested deeper")));
}

TEST(MapTreesTest, OtherTreesMayHoldAnySubtreeAtALeaf) {
  const IntTree first = IntTree::MakeDict({{"a", 1}});
  const TextTree other = TextTree::MakeDict({{"a", TextTree::MakeDict({{"x", "two"}})}});
  EXPECT_THAT(MapTrees(
                  [](int n, const TextTree& subtree) {
                    return Concat(n, " and ", subtree.Find("x")->leaf());
                  },
                  first, other),
              IsOkAndHolds(TextTree::MakeDict({{"a", "1 and two"}})));
}

TEST(MapTreesTest, TakesAnyNumberOfTrees) {
  const IntTree tree = IntTree::List({1, 2});
  const auto sum = [](int a, const IntTree& b, const IntTree& c) {
    return a + b.leaf() + c.leaf();
  };
  EXPECT_THAT(MapTrees(sum, tree, tree, tree), IsOkAndHolds(IntTree::List({3, 6})));
  EXPECT_THAT(MapTrees([](int a) { return a; }, tree), IsOkAndHolds(tree));
}

TEST(MapTreesTest, TheFirstTreeGoverns) {
  const auto first = [](int a, const IntTree&) { return a; };
  const IntTree one = IntTree::MakeDict({{"a", 1}});
  EXPECT_THAT(MapTrees(first, IntTree::MakeDict({{"a", IntTree::None()}}), one),
              StatusIs(kInvalid, Eq("tree 1 against tree 2: at a: None vs leaf")));
  EXPECT_THAT(MapTrees(first, one, IntTree::MakeDict({{"b", 1}})),
              StatusIs(kInvalid, HasSubstr("at the root: dict of 1: only the first has 'a'")));
  EXPECT_THAT(MapTrees(first, IntTree::MakeDict({{"a", IntTree::List({1})}}), one),
              StatusIs(kInvalid, HasSubstr("at a: list of 1 vs leaf")));
  const auto second = [](int a, const IntTree&, const IntTree&) { return a; };
  EXPECT_THAT(MapTrees(second, one, one, IntTree(1)),
              StatusIs(kInvalid, Eq("tree 1 against tree 3: at the root: dict of 1 vs leaf")));
}

TEST(ZipTest, PairsTheLeavesOfLikeTrees) {
  using Pairs = Tree<std::pair<int, std::string>>;
  EXPECT_THAT(Zip(IntTree::List({1, 2}), TextTree::List({"x", "y"})),
              IsOkAndHolds(Pairs::List({std::pair(1, "x"), std::pair(2, "y")})));
  EXPECT_THAT(Zip(IntTree::List({1}), TextTree::List({TextTree::List({"x"})})),
              StatusIs(kInvalid, Eq("at 0: leaf vs list of 1")));
}

}  // namespace
}  // namespace tessera::tree
