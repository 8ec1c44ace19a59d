#include "tessera/tree/flatten.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/tree/testing/random_tree.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::tessera::tree::testing::RandomTree;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

using IntTree = Tree<int>;

// None shows as -1.
std::vector<int> Values(const std::vector<const IntTree*>& leaves) {
  std::vector<int> values;
  for (const IntTree* leaf : leaves) values.push_back(leaf->is_leaf() ? leaf->leaf() : -1);
  return values;
}

std::vector<int> FlatValues(const IntTree& tree, const WalkOptions<int>& options = {}) {
  return Values(Flatten(tree, options)->leaves);
}

IntTree Example() {
  return IntTree::MakeDict({{"b", IntTree::List({1, IntTree::MakeDict({{"c", 2}})})}, {"a", 3}});
}

TEST(FlattenTest, AgreesWithTheSeedsVectors) {
  EXPECT_THAT(FlatValues(Example()), ElementsAre(3, 1, 2));
  const IntTree null = IntTree::MakeDict({{"a", IntTree::None()}, {"b", 1}});
  EXPECT_THAT(FlatValues(null), ElementsAre(1));
  WalkOptions<int> options;
  options.none_is_leaf = true;
  EXPECT_THAT(FlatValues(null, options), ElementsAre(-1, 1));
  EXPECT_THAT(FlatValues(IntTree::Tuple({1, IntTree::List({}), IntTree::Tuple({2})})),
              ElementsAre(1, 2));
}

TEST(FlattenTest, LeavesPointIntoTheTree) {
  const IntTree tree = IntTree::List({1, 2});
  EXPECT_EQ(Flatten(tree)->leaves[1], &tree.children()[1]);
}

TEST(FlattenWithPathTest, GivesAPathPerLeaf) {
  const IntTree tree = Example();
  const auto flat = FlattenWithPath(tree);
  ASSERT_EQ(flat->paths.size(), 3u);
  EXPECT_THAT(Values(flat->leaves), ElementsAre(3, 1, 2));
  EXPECT_EQ(flat->paths[0].Diagnostic(), "['a']");
  EXPECT_EQ(flat->paths[1].Diagnostic(), "['b'][0]");
  EXPECT_EQ(flat->paths[2].Diagnostic(), "['b'][1]['c']");
}

TEST(UnflattenTest, PutsNewLeavesIntoTheStructure) {
  const IntTree tree = Example();
  const auto flat = Flatten(tree);
  using Text = Tree<std::string>;
  EXPECT_THAT(Unflatten(flat->structure, std::vector<std::string>{"x", "y", "z"}),
              IsOkAndHolds(Text::MakeDict(
                  {{"a", "x"}, {"b", Text::List({"y", Text::MakeDict({{"c", "z"}})})}})));
}

TEST(UnflattenTest, NeedsExactlyTheLeafCount) {
  const Structure structure = StructureOf(Example()).value();
  EXPECT_THAT(Unflatten(structure, std::vector<int>{1, 2}),
              StatusIs(kInvalid, Eq("the structure has 3 leaves, but 2 were given")));
  EXPECT_THAT(Unflatten(structure, std::vector<int>{1, 2, 3, 4}),
              StatusIs(kInvalid, Eq("the structure has 3 leaves, but 4 were given")));
  EXPECT_THAT(Unflatten(structure, std::vector<int>{}),
              StatusIs(kInvalid, Eq("the structure has 3 leaves, but 0 were given")));
  EXPECT_THAT(Unflatten(StructureOf(IntTree::None()).value(), std::vector<int>{}),
              IsOkAndHolds(IntTree::None()));
}

TEST(UnflattenTest, GraftsSubtrees) {
  const Structure structure = StructureOf(IntTree::List({1, 2})).value();
  EXPECT_THAT(Unflatten(structure, std::vector<IntTree>{IntTree::Tuple({5}), IntTree::None()}),
              IsOkAndHolds(IntTree::List({IntTree::Tuple({5}), IntTree::None()})));
}

TEST(FlattenTest, RefusesTreesThatAreTooDeep) {
  IntTree deep = 1;
  for (int i = 0; i < 10'000; ++i) deep = IntTree::MakeDict({{"k", std::move(deep)}});
  EXPECT_THAT(Flatten(deep), StatusIs(kInvalid, HasSubstr("nested deeper than 1000 containers")));
  EXPECT_THAT(FlattenWithPath(deep),
              StatusIs(kInvalid, HasSubstr("nested deeper than 1000 containers")));
  WalkOptions<int> options;
  options.max_depth = 10'000;
  const auto flat = Flatten(deep, options);
  EXPECT_THAT(Values(flat->leaves), ElementsAre(1));
  EXPECT_THAT(Unflatten(flat->structure, std::vector<int>{1}),
              StatusIs(kInvalid, HasSubstr("nested deeper than 1000 containers")));
  EXPECT_THAT(Unflatten(flat->structure, std::vector<int>{1}, 10'000), IsOkAndHolds(deep));
}

// Flattening and rebuilding, with None as a leaf or not, is the identity, and so is keeping some
// containers whole.
TEST(FlattenPropertyTest, RebuildingARandomTreeGivesTheTree) {
  std::vector<WalkOptions<int>> variants(3);
  variants[1].none_is_leaf = true;
  variants[2].is_leaf = [](const IntTree& node) { return node.kind() == NodeKind::kTuple; };
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const IntTree tree = RandomTree(random, 10'000, 2 + 4 * seed);
    for (const WalkOptions<int>& options : variants) {
      const auto flat = FlattenWithPath(tree, options);
      ASSERT_EQ(flat->paths.size(), flat->leaves.size());
      std::vector<IntTree> leaves;
      for (const IntTree* leaf : flat->leaves) leaves.push_back(*leaf);
      const auto rebuilt = Unflatten(flat->structure, std::move(leaves));
      ASSERT_TRUE(rebuilt.ok());
      ASSERT_TRUE(*rebuilt == tree);
      ASSERT_TRUE(StructureOf(*rebuilt, options).value() == flat->structure);
    }
  }
}

}  // namespace
}  // namespace tessera::tree
