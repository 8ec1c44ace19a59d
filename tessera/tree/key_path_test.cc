#include "tessera/tree/key_path.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/tree/key_path_view.h"
#include "tessera/tree/node_def.h"

namespace tessera::tree {
namespace {

using ::testing::ElementsAre;

// ['a'][3][2].mu[<flat index 0>]
KeyPath EveryKind() {
  return {KeyEntry::OfKey("a"), KeyEntry::OfKey(3), KeyEntry::OfIndex(2), KeyEntry::OfField("mu"),
          KeyEntry::OfFlatIndex(0)};
}

TEST(KeyPathTest, RendersEveryKindOfEntry) {
  EXPECT_EQ(EveryKind().Dotted(), "a.3.2.mu.0");
  EXPECT_EQ(EveryKind().Slashed(), "a/3/2/mu/0");
  EXPECT_EQ(EveryKind().Diagnostic(), "['a'][3][2].mu[<flat index 0>]");
  EXPECT_THAT(EveryKind().Components(), ElementsAre("a", "3", "2", "mu", "0"));
}

TEST(KeyPathTest, TheRootIsEmptyText) {
  EXPECT_EQ(KeyPath().Dotted(), "");
  EXPECT_EQ(KeyPath().Diagnostic(), "");
  EXPECT_TRUE(KeyPath().Components().empty());
}

TEST(KeyPathTest, KeysAreNotEscaped) {
  const KeyPath path = {KeyEntry::OfKey("a.b"), KeyEntry::OfKey(""), KeyEntry::OfKey("c/d")};
  EXPECT_EQ(path.Dotted(), "a.b..c/d");
  EXPECT_EQ(path.Slashed(), "a.b//c/d");
  EXPECT_EQ(path.Diagnostic(), "['a.b']['']['c/d']");
}

TEST(KeyPathTest, EqualityTellsKindsApart) {
  EXPECT_EQ(EveryKind(), EveryKind());
  EXPECT_NE(KeyPath{KeyEntry::OfIndex(0)}, KeyPath{KeyEntry::OfFlatIndex(0)});
  EXPECT_NE(KeyPath{KeyEntry::OfIndex(0)}, KeyPath{KeyEntry::OfKey(0)});
  EXPECT_NE(KeyPath{KeyEntry::OfKey("mu")}, KeyPath{KeyEntry::OfField("mu")});
  EXPECT_NE(KeyPath{KeyEntry::OfKey("mu")}, KeyPath{KeyEntry::OfKey("nu")});
}

TEST(JoinKeyTest, EmptyTextCountsAsAbsent) {
  EXPECT_EQ(JoinKey(std::nullopt, std::nullopt), "");
  EXPECT_EQ(JoinKey("a", std::nullopt), "a");
  EXPECT_EQ(JoinKey(std::nullopt, "b"), "b");
  EXPECT_EQ(JoinKey("a", "b"), "a.b");
  EXPECT_EQ(JoinKey("", "b"), "b");
  EXPECT_EQ(JoinKey("a", ""), "a");
  EXPECT_EQ(JoinKey("a.b", ".c"), "a.b..c");
}

TEST(KeyPathViewTest, RendersLikeThePathThatItBecomes) {
  const NodeDefPtr dict = MappingDef(NodeKind::kDict, {"b", "a"}).value();
  const NodeDefPtr list = MakeSequenceDef(NodeKind::kList, 3);
  const NodeDefPtr custom = UnnamedCustomDef("Bag", "", 1).value();
  NodeDef named;
  named.kind = NodeKind::kNamedTuple;
  const NodeDefPtr tuple = NamedDef(named, {"mu", "nu"}).value();
  const std::vector<KeyStep> steps = {{&dict, 0}, {&list, 2}, {&tuple, 1}, {&custom, 0}};
  const KeyPathView view(steps);
  EXPECT_EQ(view.Dotted(), "a.2.nu.0");
  EXPECT_EQ(view.Slashed(), "a/2/nu/0");
  EXPECT_EQ(view.Diagnostic(), "['a'][2].nu[<flat index 0>]");
  EXPECT_THAT(view.Components(), ElementsAre("a", "2", "nu", "0"));
  EXPECT_EQ(view.ToKeyPath(), (KeyPath{KeyEntry::OfKey("a"), KeyEntry::OfIndex(2),
                                       KeyEntry::OfField("nu"), KeyEntry::OfFlatIndex(0)}));
}

TEST(KeyPathViewTest, APathOutlivesTheDefinitionsThatItCameFrom) {
  KeyPath path;
  {
    const NodeDefPtr dict =
        MappingDef(NodeKind::kDict, {"a key longer than a short string"}).value();
    const std::vector<KeyStep> steps = {{&dict, 0}};
    path = KeyPathView(steps).ToKeyPath();
  }
  EXPECT_EQ(path.Dotted(), "a key longer than a short string");
}

TEST(KeyPathViewTest, MessagesCutLongPaths) {
  const NodeDefPtr list = MakeSequenceDef(NodeKind::kList, 1);
  const std::vector<KeyStep> steps(20, KeyStep{&list, 0});
  EXPECT_EQ(KeyPathView().ForMessage(), "the root");
  EXPECT_EQ(KeyPathView(std::span(steps).first(2)).ForMessage(), "0.0");
  EXPECT_EQ(KeyPathView(steps).ForMessage(), "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0... (4 more)");
}

}  // namespace
}  // namespace tessera::tree
