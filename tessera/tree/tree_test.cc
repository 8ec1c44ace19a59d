#include "tessera/tree/tree.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;

using IntTree = Tree<int>;

IntTree Chain(size_t depth) {
  IntTree tree = 7;
  for (size_t i = 0; i < depth; ++i) tree = IntTree::List({std::move(tree)});
  return tree;
}

TEST(TreeTest, KnowsItsKind) {
  EXPECT_EQ(IntTree().kind(), NodeKind::kNone);
  EXPECT_EQ(IntTree(5).kind(), NodeKind::kLeaf);
  EXPECT_EQ(IntTree::Leaf(5).leaf(), 5);
  EXPECT_EQ(IntTree::List({}).kind(), NodeKind::kList);
  EXPECT_EQ(IntTree::Tuple({}).kind(), NodeKind::kTuple);
  EXPECT_EQ(IntTree::MakeDict({}).kind(), NodeKind::kDict);
  EXPECT_EQ(IntTree::MakeOrderedDict({}).kind(), NodeKind::kOrderedDict);
  EXPECT_EQ(IntTree::DefaultDict("list", {})->kind(), NodeKind::kDefaultDict);
  EXPECT_EQ(IntTree::MakeNamedTuple("Point", {}).kind(), NodeKind::kNamedTuple);
  EXPECT_EQ(IntTree::Record("Adam", {})->kind(), NodeKind::kRecord);
  EXPECT_EQ(IntTree::Custom("Bag", "", {})->kind(), NodeKind::kCustom);
  EXPECT_EQ(IntTree::CustomWithNames("Bag", "", {})->kind(), NodeKind::kCustom);
}

TEST(TreeTest, ADictsChildrenAreSortedByKey) {
  const IntTree dict = IntTree::MakeDict({{"b", 1}, {"a", 2}, {"B", 3}});
  ASSERT_EQ(dict.children().size(), 3u);
  EXPECT_EQ(dict.children()[0].leaf(), 3);
  EXPECT_EQ(dict.children()[1].leaf(), 2);
  EXPECT_EQ(dict.children()[2].leaf(), 1);
  EXPECT_EQ(dict.children()[dict.def()->GivenAt(0)].leaf(), 1);
}

TEST(TreeTest, FindsChildrenByKeyAndByName) {
  const IntTree dict = IntTree::MakeDict({{"b", 1}, {"a", 2}});
  EXPECT_EQ(dict.Find("b")->leaf(), 1);
  EXPECT_EQ(dict.Find("c"), nullptr);
  EXPECT_EQ(dict.Find(1), nullptr);
  const IntTree ordered = IntTree::MakeOrderedDict({{"b", 1}, {3, 2}});
  EXPECT_EQ(ordered.Find(3)->leaf(), 2);
  const IntTree point = IntTree::MakeNamedTuple("Point", {{"y", 1}, {"x", 2}});
  EXPECT_EQ(point.Find("x")->leaf(), 2);
  EXPECT_EQ(IntTree(3).Find("x"), nullptr);
  EXPECT_EQ(IntTree::List({1}).Find(0), nullptr);
}

TEST(TreeTest, RefusesBadKeys) {
  EXPECT_THAT(IntTree::Dict({{"a", 1}, {"a", 2}}),
              StatusIs(kInvalid, Eq("dict: key 'a' is given twice")));
  EXPECT_THAT(IntTree::Dict({{"a", 1}, {3, 2}}),
              StatusIs(kInvalid, HasSubstr("keys 3 and 'a' cannot be sorted")));
  EXPECT_THAT(IntTree::Dict({{"k\xED\xA0\x80", 1}}),
              StatusIs(kInvalid, HasSubstr("is not UTF-8 from byte 1 on")));
  EXPECT_THAT(IntTree::DefaultDict("list", {{"a", 1}, {true, 2}}),
              StatusIs(kInvalid, HasSubstr("cannot be sorted")));
  EXPECT_THAT(IntTree::NamedTuple("Point", {{"x", 1}, {"x", 2}}),
              StatusIs(kInvalid, HasSubstr("'x' is given twice")));
  EXPECT_THAT(IntTree::Record("Adam\xFF", {}), StatusIs(kInvalid, HasSubstr("not UTF-8")));
}

TEST(TreeTest, EqualityComparesStructureAndLeaves) {
  const IntTree tree = IntTree::MakeDict({{"b", IntTree::List({1, 2})}, {"a", 3}});
  EXPECT_EQ(tree, IntTree::MakeDict({{"a", 3}, {"b", IntTree::List({1, 2})}}));
  EXPECT_NE(tree, IntTree::MakeDict({{"a", 3}, {"b", IntTree::List({1, 4})}}));
  EXPECT_NE(tree, IntTree::MakeDict({{"a", 3}, {"b", IntTree::Tuple({1, 2})}}));
  EXPECT_NE(IntTree::MakeDict({{"a", 1}}), IntTree::MakeDict({{"b", 1}}));
}

TEST(TreeTest, TheFourEmptyNodesDiffer) {
  const IntTree empties[] = {IntTree::MakeDict({}), IntTree::List({}), IntTree::Tuple({}),
                             IntTree::None()};
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) EXPECT_EQ(empties[i] == empties[j], i == j) << i << " " << j;
  }
}

TEST(TreeTest, RecordTypesAndStaticFieldsArePartOfEquality) {
  const IntTree adam = IntTree::Record("Adam", {{"mu", 1}}, {{"lr", "0.1"}}).value();
  EXPECT_EQ(adam, IntTree::Record("Adam", {{"mu", 1}}, {{"lr", "0.1"}}).value());
  EXPECT_NE(adam, IntTree::Record("Sgd", {{"mu", 1}}, {{"lr", "0.1"}}).value());
  EXPECT_NE(adam, IntTree::Record("Adam", {{"mu", 1}}, {{"lr", "0.2"}}).value());
}

TEST(TreeTest, CopiesShareAndMovesHandOver) {
  const IntTree original = IntTree::List({1, IntTree::List({2})});
  IntTree copy = original;
  EXPECT_EQ(copy.children().data(), original.children().data());
  const IntTree moved = std::move(copy);
  EXPECT_EQ(moved, original);
  IntTree assigned = 3;
  assigned = moved;
  EXPECT_EQ(assigned, original);
}

TEST(TreeTest, ASubtreeOutlivesTheTreeThatItCameFrom) {
  auto whole = std::make_unique<IntTree>(IntTree::List({IntTree::List({1, 2}), 3}));
  const IntTree part = whole->children()[0];
  whole.reset();
  EXPECT_EQ(part, IntTree::List({1, 2}));
}

TEST(TreeTest, LeavesMayBeMoveOnly) {
  using Owner = Tree<std::unique_ptr<int>>;
  std::vector<Owner> children;
  children.push_back(Owner::Leaf(std::make_unique<int>(4)));
  const Owner tree = Owner::List(std::move(children));
  EXPECT_EQ(*tree.children()[0].leaf(), 4);
}

TEST(TreeTest, TextLeavesTakeLiterals) {
  const auto tree = Tree<std::string>::MakeDict({{"a", "x"}});
  EXPECT_EQ(tree.Find("a")->leaf(), "x");
}

TEST(TreeTest, AMillionLevelsAreMadeCopiedComparedAndDropped) {
  constexpr size_t kDepth = 1'000'000;
  const IntTree tree = Chain(kDepth);
  const IntTree same = Chain(kDepth);
  const IntTree copy = tree;
  EXPECT_TRUE(tree == same);
  EXPECT_TRUE(copy == tree);
  EXPECT_FALSE(tree == Chain(kDepth - 1));
}

TEST(TreeTest, EachLeafDiesOnce) {
  const auto leaf = std::make_shared<int>(1);
  using Shared = Tree<std::shared_ptr<int>>;
  {
    Shared tree = leaf;
    for (int i = 0; i < 100; ++i) tree = Shared::List({tree, leaf, tree});
    EXPECT_GT(leaf.use_count(), 100);
  }
  EXPECT_EQ(leaf.use_count(), 1);
}

TEST(TreeTest, ThreadsMayCopyAndDropTheSameTree) {
  const auto leaf = std::make_shared<int>(1);
  using Shared = Tree<std::shared_ptr<int>>;
  {
    Shared tree = leaf;
    for (int i = 0; i < 1000; ++i) tree = Shared::List({std::move(tree), leaf});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([copy = tree]() mutable {
        // Peels the copy, so that threads let go of the same containers at the same time.
        while (copy.is_container()) copy = Shared(copy.children()[0]);
      });
    }
    tree = Shared::None();
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(leaf.use_count(), 1);
}

TEST(TreeDeathTest, LeafOfAContainerIsABug) {
  EXPECT_DEATH(IntTree::List({}).leaf(), "check failed: is_leaf");
  EXPECT_DEATH(IntTree::MakeDict({{"a", 1}, {"a", 2}}), "check failed: tree.ok");
}

}  // namespace
}  // namespace tessera::tree
