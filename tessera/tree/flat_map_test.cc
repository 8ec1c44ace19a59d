#include "tessera/tree/flat_map.h"

#include <random>
#include <string>
#include <utility>

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
using ::testing::IsEmpty;
using ::testing::Pair;

using IntTree = Tree<int>;

// {a: {b: 1, c: {}}, d: 2}
IntTree Nested() {
  return IntTree::MakeDict(
      {{"a", IntTree::MakeDict({{"b", 1}, {"c", IntTree::MakeDict({})}})}, {"d", 2}});
}

TEST(FlattenDictTest, JoinsKeysInTheOrderGiven) {
  const IntTree tree =
      IntTree::MakeDict({{"z", 1}, {"a", IntTree::MakeDict({{"y", 2}, {"x", 3}})}});
  EXPECT_THAT(FlattenDict(tree, "."),
              IsOkAndHolds(ElementsAre(Pair("z", 1), Pair("a.y", 2), Pair("a.x", 3))));
  EXPECT_THAT(FlattenDict(tree, "::"),
              IsOkAndHolds(ElementsAre(Pair("z", 1), Pair("a::y", 2), Pair("a::x", 3))));
}

TEST(FlattenDictTest, EverythingButMappingsIsAValue) {
  const IntTree tree = IntTree::MakeDict({{"l", IntTree::List({1, 2})},
                                          {"n", IntTree::None()},
                                          {"o", IntTree::MakeOrderedDict({{3, 4}})}});
  EXPECT_THAT(FlattenDict(tree, "."),
              IsOkAndHolds(ElementsAre(Pair("l", IntTree::List({1, 2})), Pair("n", IntTree::None()),
                                       Pair("o.3", 4))));
}

TEST(FlattenDictTest, TakesEveryContainerApartOnRequest) {
  const IntTree tree =
      IntTree::Tuple({IntTree::List({1, IntTree::None()}),
                      IntTree::MakeNamedTuple("Opt", {{"mu", 3}}), IntTree::List({})});
  EXPECT_THAT(
      FlattenDict(tree, "/", {.mappings_only = false}),
      IsOkAndHolds(ElementsAre(Pair("0/0", 1), Pair("0/1", IntTree::None()), Pair("1/mu", 3))));
  EXPECT_THAT(FlattenDict(tree, "/", {.keep_empty_nodes = true, .mappings_only = false}),
              IsOkAndHolds(ElementsAre(Pair("0/0", 1), Pair("0/1", IntTree::None()),
                                       Pair("1/mu", 3), Pair("2", IntTree::List({})))));
}

TEST(FlattenDictTest, EmptyMappingsVanishOrStayOnRequest) {
  EXPECT_THAT(FlattenDict(Nested(), "."), IsOkAndHolds(ElementsAre(Pair("a.b", 1), Pair("d", 2))));
  EXPECT_THAT(
      FlattenDict(Nested(), ".", {.keep_empty_nodes = true}),
      IsOkAndHolds(ElementsAre(Pair("a.b", 1), Pair("a.c", IntTree::MakeDict({})), Pair("d", 2))));
  EXPECT_THAT(FlattenDict(IntTree::MakeDict({}), ".", {.keep_empty_nodes = true}),
              IsOkAndHolds(IsEmpty()));
}

TEST(FlattenDictTest, RefusesAKeyThatContainsTheSeparator) {
  const IntTree tree = IntTree::MakeDict({{"m", IntTree::MakeDict({{"a.b", 1}})}});
  EXPECT_THAT(FlattenDict(tree, "."),
              StatusIs(kInvalid, Eq("key 'a.b' of leaf ['m']['a.b'] contains the separator '.'")));
  EXPECT_THAT(FlattenDict(tree, "/"), IsOkAndHolds(ElementsAre(Pair("m/a.b", 1))));
}

TEST(FlattenDictTest, RefusesTwoLeavesOfOneName) {
  const IntTree tree = IntTree::MakeOrderedDict({{1, 10}, {"1", 20}});
  EXPECT_THAT(FlattenDict(tree, "."),
              StatusIs(kInvalid, Eq("leaves [1] and ['1'] would both be named '1'")));
}

TEST(FlattenDictTest, RefusesOtherRootsAndAnEmptySeparator) {
  EXPECT_THAT(
      FlattenDict(IntTree::List({1}), "."),
      StatusIs(kInvalid, Eq("the root must be a mapping to be flattened, not a list of 1")));
  EXPECT_THAT(FlattenDict(IntTree(1), ".", {.mappings_only = false}),
              StatusIs(kInvalid, Eq("the root must be a container to be flattened, not a leaf")));
  EXPECT_THAT(FlattenDict(Nested(), ""), StatusIs(kInvalid, Eq("the separator is empty")));
}

TEST(FlattenDictTest, RefusesTreesThatAreTooDeep) {
  IntTree deep = 1;
  for (int i = 0; i < 10'000; ++i) deep = IntTree::MakeDict({{"k", std::move(deep)}});
  EXPECT_THAT(FlattenDict(deep, "."), StatusIs(kInvalid, HasSubstr("nested deeper than 1000")));
}

TEST(FlattenForBroadcastTest, AgreesWithTheSeedsVectors) {
  EXPECT_THAT(FlattenForBroadcast(Nested()),
              IsOkAndHolds(ElementsAre(Pair("a.b", 1), Pair("d", 2))));
  EXPECT_THAT(FlattenForBroadcast(IntTree::MakeDict({{1, IntTree::MakeDict({{"x", 2}})}})),
              IsOkAndHolds(ElementsAre(Pair("1.x", 2))));
  EXPECT_THAT(FlattenForBroadcast(IntTree::MakeDict({{"a", IntTree::List({1, 2})}})),
              IsOkAndHolds(ElementsAre(Pair("a", IntTree::List({1, 2})))));
  EXPECT_THAT(FlattenForBroadcast(IntTree::MakeDict({})), IsOkAndHolds(IsEmpty()));
}

TEST(FlattenForBroadcastTest, RefusesClashes) {
  EXPECT_THAT(
      FlattenForBroadcast(IntTree::MakeDict({{"a", IntTree::MakeDict({{"b", 1}})}, {"a.b", 2}})),
      StatusIs(kInvalid, Eq("leaves ['a']['b'] and ['a.b'] would both be named 'a.b'")));
}

TEST(FlattenForBroadcastTest, DottedKeysPassAndTupleKeysAreJoined) {
  EXPECT_THAT(FlattenForBroadcast(IntTree::MakeDict({{"a.b", 1}, {"a.c", 2}})),
              IsOkAndHolds(ElementsAre(Pair("a.b", 1), Pair("a.c", 2))));
  const IntTree tuples = IntTree::MakeDict(
      {{DictKey::MakeTuple({"b", 0}), 1}, {DictKey::MakeTuple({"a"}), IntTree::None()}});
  EXPECT_THAT(FlattenForBroadcast(tuples),
              IsOkAndHolds(ElementsAre(Pair("b.0", 1), Pair("a", IntTree::None()))));
}

TEST(UnflattenDictTest, AgreesWithTheSeedsVectors) {
  const FlatMap<int> flat = {{"a.b", 1}, {"a.c", 2}, {"d", 3}};
  EXPECT_THAT(
      UnflattenDict(flat, "."),
      IsOkAndHolds(IntTree::MakeDict({{"a", IntTree::MakeDict({{"b", 1}, {"c", 2}})}, {"d", 3}})));
  EXPECT_THAT(UnflattenDict(FlatMap<int>{}, "."), IsOkAndHolds(IntTree::MakeDict({})));
  EXPECT_THAT(UnflattenDict(FlatMap<int>{{"a..b", 1}}, "."),
              IsOkAndHolds(IntTree::MakeDict(
                  {{"a", IntTree::MakeDict({{"", IntTree::MakeDict({{"b", 1}})}})}})));
}

TEST(UnflattenDictTest, RefusesClashesInEitherOrder) {
  const std::string message = "key 'a.b' lies inside key 'a', which is a leaf";
  EXPECT_THAT(UnflattenDict(FlatMap<int>{{"a", 1}, {"a.b", 2}}, "."),
              StatusIs(kInvalid, Eq(message)));
  EXPECT_THAT(UnflattenDict(FlatMap<int>{{"a.b", 2}, {"a", 1}}, "."),
              StatusIs(kInvalid, Eq(message)));
  EXPECT_THAT(UnflattenDict(FlatMap<int>{{"a", 1}, {"a", 2}}, "."),
              StatusIs(kInvalid, Eq("key 'a' is given twice")));
  EXPECT_THAT(UnflattenDict(FlatMap<int>{}, ""), StatusIs(kInvalid, Eq("the separator is empty")));
  EXPECT_THAT(UnflattenDict(FlatMap<int>{{"\xFF", 1}}, "."),
              StatusIs(kInvalid, HasSubstr("not UTF-8")));
}

TEST(UnflattenDictTest, UndoesFlattenDictAndKeepsItsOrder) {
  const IntTree tree = IntTree::MakeDict(
      {{"z", 1},
       {"a", IntTree::MakeDict({{"y", IntTree::List({2})}, {"x", IntTree::MakeDict({})}})},
       {"", IntTree::MakeDict({{"", 3}})}});
  const auto flat = FlattenDict(tree, ".", {.keep_empty_nodes = true});
  TESSERA_ASSERT_OK_AND_ASSIGN(const IntTree again, UnflattenDict(*flat, "."));
  EXPECT_EQ(again, tree);
  EXPECT_EQ(again.def()->insertion, tree.def()->insertion);
}

TEST(UnflattenComponentsTest, KeepsComponentsApartThatHoldSeparators) {
  const std::vector<ComponentLeaf<int>> leaves = {{{"a/b", "c.d"}, 1}, {{"a", "b"}, 2}};
  EXPECT_THAT(UnflattenComponents(leaves),
              IsOkAndHolds(IntTree::MakeDict({{"a/b", IntTree::MakeDict({{"c.d", 1}})},
                                              {"a", IntTree::MakeDict({{"b", 2}})}})));
}

TEST(UnflattenComponentsTest, OneLeafWithoutComponentsIsTheTree) {
  using Leaves = std::vector<ComponentLeaf<int>>;
  EXPECT_THAT(UnflattenComponents(Leaves{{{}, 7}}), IsOkAndHolds(IntTree(7)));
  EXPECT_THAT(UnflattenComponents(Leaves{{{}, 7}, {{"a"}, 8}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("a leaf at the root cannot stand beside others")));
}

}  // namespace
}  // namespace tessera::tree
