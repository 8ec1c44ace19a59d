#include "tessera/tree/leaf_key_paths.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/structure.h"
#include "tessera/tree/testing/random_tree.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

using IntTree = Tree<int>;
using TextTree = Tree<std::string>;

TEST(LeafKeyPathsTest, AgreesWithTheSeedsVectors) {
  const IntTree nested =
      IntTree::MakeDict({{"b", IntTree::List({1, IntTree::MakeDict({{"c", 2}})})}, {"a", 3}});
  EXPECT_THAT(
      LeafKeyPaths(nested, "root"),
      IsOkAndHolds(TextTree::MakeDict(
          {{"a", "root.a"},
           {"b", TextTree::List({"root.b.0", TextTree::MakeDict({{"c", "root.b.1.c"}})})}})));
  const IntTree tuple = IntTree::Tuple({1, IntTree::Tuple({2, 3})});
  EXPECT_THAT(LeafKeyPaths(tuple, std::nullopt),
              IsOkAndHolds(TextTree::Tuple({"0", TextTree::Tuple({"1.0", "1.1"})})));
  const IntTree opt = IntTree::MakeNamedTuple(
      "Opt", {{"mu", IntTree::MakeDict({{"w", 1}})}, {"nu", IntTree::List({2})}});
  EXPECT_THAT(LeafKeyPaths(opt, "opt"), IsOkAndHolds(TextTree::MakeNamedTuple(
                                            "Opt", {{"mu", TextTree::MakeDict({{"w", "opt.mu.w"}})},
                                                    {"nu", TextTree::List({"opt.nu.0"})}})));
  EXPECT_THAT(LeafKeyPaths(IntTree(5), "m"), IsOkAndHolds(TextTree("m")));
  EXPECT_THAT(LeafKeyPaths(IntTree(5)), IsOkAndHolds(TextTree("")));
}

TEST(LeafKeyPathsTest, NoneGetsAPathWhenThePredicateAcceptsIt) {
  const IntTree tree = IntTree::MakeDict({{"a", IntTree::None()}, {"b", 1}});
  EXPECT_THAT(LeafKeyPaths(tree),
              IsOkAndHolds(TextTree::MakeDict({{"a", TextTree::None()}, {"b", "b"}})));
  EXPECT_THAT(LeafKeyPaths(tree, "", IsNone<int>),
              IsOkAndHolds(TextTree::MakeDict({{"a", "a"}, {"b", "b"}})));
  EXPECT_THAT(LeafKeyPaths(IntTree::None(), "p", IsNone<int>), IsOkAndHolds(TextTree("p")));
}

TEST(LeafKeyPathsTest, AnEmptyKeyCollapsesAloneAndLeavesADotDeeper) {
  EXPECT_THAT(LeafKeyPaths(IntTree::MakeDict({{"", 1}}), "root"),
              IsOkAndHolds(TextTree::MakeDict({{"", "root"}})));
  const IntTree deeper = IntTree::List({IntTree::MakeDict({{"", 1}})});
  EXPECT_THAT(LeafKeyPaths(deeper, "root"),
              IsOkAndHolds(TextTree::List({TextTree::MakeDict({{"", "root.0."}})})));
}

TEST(LeafKeyPathsTest, UnnamedCustomChildrenShowTheirPosition) {
  EXPECT_THAT(LeafKeyPaths(IntTree::Custom("Bag", "", {1, 2}).value(), "x"),
              IsOkAndHolds(TextTree::Custom("Bag", "", {"x.0", "x.1"}).value()));
}

TEST(LeafKeyPathsTest, OnRequestTwoLeavesOfOneNameAreRefused) {
  const IntTree tree = IntTree::MakeDict({{"a.b", 1}, {"a", IntTree::MakeDict({{"b", 2}})}});
  EXPECT_THAT(LeafKeyPaths(tree), IsOk());
  EXPECT_THAT(LeafKeyPaths(tree, "m", nullptr, {.require_unique = true}),
              StatusIs(kInvalid, Eq("leaves ['a']['b'] and ['a.b'] would both be named 'm.a.b'")));
}

TEST(LeafKeyPathsTest, RefusesTreesThatAreTooDeep) {
  IntTree deep = 1;
  for (int i = 0; i < 10'000; ++i) deep = IntTree::List({std::move(deep)});
  EXPECT_THAT(LeafKeyPaths(deep), StatusIs(kInvalid, HasSubstr("nested deeper than 1000")));
  EXPECT_THAT(LeafComponents(deep), StatusIs(kInvalid, HasSubstr("nested deeper than 1000")));
}

TEST(LeafComponentsTest, KeepsDottedKeysApart) {
  const IntTree tree = IntTree::MakeDict({{"a.b", 1}, {"a", IntTree::MakeDict({{"b", 2}})}});
  EXPECT_THAT(LeafComponents(tree),
              IsOkAndHolds(ElementsAre(ElementsAre("a", "b"), ElementsAre("a.b"))));
}

TEST(LeafKeyPathsPropertyTest, KeepsStructureAndLeafCount) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const IntTree tree = tree::testing::RandomTree(random, 1000, 12);
    TESSERA_ASSERT_OK_AND_ASSIGN(const TextTree paths, LeafKeyPaths(tree, "p"));
    EXPECT_EQ(FirstDifference(tree, paths), std::nullopt);
    EXPECT_EQ(Flatten(tree)->leaves.size(), Flatten(paths)->leaves.size());
  }
}

}  // namespace
}  // namespace tessera::tree
