#include "tessera/tree/flat_names.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;

TEST(SplitNameTest, KeepsEmptyParts) {
  EXPECT_THAT(SplitName("a.b", "."), ElementsAre("a", "b"));
  EXPECT_THAT(SplitName("", "."), ElementsAre(""));
  EXPECT_THAT(SplitName("a..b.", "."), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(SplitName("a::b:c", "::"), ElementsAre("a", "b:c"));
}

TEST(CheckSeparatorTest, RefusesEmptyAndIllFormed) {
  EXPECT_THAT(CheckSeparator("."), IsOk());
  EXPECT_THAT(CheckSeparator(""), StatusIs(kInvalid, Eq("the separator is empty")));
  EXPECT_THAT(CheckSeparator("\xFF"), StatusIs(kInvalid, Eq("the separator is not UTF-8")));
}

TEST(JoinTest, ChecksKeysOrOpensTuples) {
  const NodeDefPtr outer =
      MappingDef(NodeKind::kDict, {DictKey::MakeTuple({"a", DictKey::MakeTuple({1})})}).value();
  const NodeDefPtr list = MakeSequenceDef(NodeKind::kList, 3);
  const NodeDefPtr inner = MappingDef(NodeKind::kDict, {"w.x"}).value();
  const std::vector<KeyStep> steps = {{&outer, 0}, {&list, 2}, {&inner, 0}};
  const KeyPathView path(steps);
  EXPECT_EQ(JoinWithTuplesOpened(path, "."), "a.1.2.w.x");
  EXPECT_THAT(JoinChecked(path, "/"), IsOkAndHolds(Eq("('a', (1,))/2/w.x")));
  EXPECT_THAT(JoinChecked(path, "."),
              StatusIs(kInvalid, Eq("key 'w.x' of leaf [('a', (1,))][2]['w.x'] contains the "
                                    "separator '.'")));
}

absl::Status AddName(NameTrie& trie, const std::string& name, size_t value) {
  return trie.Add(name, SplitName(name, "."), value);
}

TEST(NameTrieTest, NestsInOrderOfAppearance) {
  NameTrie trie;
  ASSERT_THAT(AddName(trie, "b.x", 0), IsOk());
  ASSERT_THAT(AddName(trie, "a", 1), IsOk());
  ASSERT_THAT(AddName(trie, "b.y", 2), IsOk());
  ASSERT_EQ(trie.nodes().size(), 2u);
  EXPECT_EQ(trie.nodes()[0].children[0].component, "b");
  EXPECT_FALSE(trie.nodes()[0].children[0].is_value);
  EXPECT_EQ(trie.nodes()[0].children[1].component, "a");
  EXPECT_EQ(trie.nodes()[1].children[1].at, 2u);
}

TEST(NameTrieTest, NamesBothKeysOfAClash) {
  NameTrie trie;
  ASSERT_THAT(AddName(trie, "a.b", 0), IsOk());
  ASSERT_THAT(AddName(trie, "c", 1), IsOk());
  EXPECT_THAT(AddName(trie, "a", 2),
              StatusIs(kInvalid, Eq("key 'a.b' lies inside key 'a', which is a leaf")));
  EXPECT_THAT(AddName(trie, "c.d.e", 2),
              StatusIs(kInvalid, Eq("key 'c.d.e' lies inside key 'c', which is a leaf")));
  EXPECT_THAT(AddName(trie, "c", 2), StatusIs(kInvalid, Eq("key 'c' is given twice")));
}

TEST(NameTrieTest, RefusesKeysThatNestTooDeep) {
  NameTrie trie;
  EXPECT_THAT(AddName(trie, std::string(999, '.'), 0), IsOk());
  EXPECT_THAT(AddName(trie, std::string(10'000, '.'), 1),
              StatusIs(kInvalid, ::testing::HasSubstr("a key of 10001 components")));
}

}  // namespace
}  // namespace tessera::tree
