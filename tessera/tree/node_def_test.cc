#include "tessera/tree/node_def.h"

#include <optional>
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeDefPtr Dict(std::vector<DictKey> keys) {
  return MappingDef(NodeKind::kDict, std::move(keys)).value();
}

NodeDefPtr Named(NodeKind kind, std::string type, std::vector<std::string> names,
                 StaticFields statics = {}, std::string static_data = "") {
  NodeDef def;
  def.kind = kind;
  def.type_name = std::move(type);
  def.static_fields = std::move(statics);
  def.static_data = std::move(static_data);
  return NamedDef(std::move(def), std::move(names)).value();
}

std::optional<std::string> Difference(const NodeDefPtr& a, const NodeDefPtr& b) {
  return NodeDifference(a->kind, a.get(), b->kind, b.get());
}

TEST(NodeDefTest, ADictSortsItsKeysAndRemembersTheirOrder) {
  const NodeDefPtr def = Dict({"c", "a", "b"});
  EXPECT_THAT(def->keys, ElementsAre("a", "b", "c"));
  EXPECT_THAT(def->insertion, ElementsAre(2, 0, 1));
  EXPECT_EQ(*def, *Dict({"a", "b", "c"}));
  EXPECT_THAT(Dict({"a", "b"})->insertion, IsEmpty());
}

TEST(NodeDefTest, AnOrderedDictKeepsTheOrderGiven) {
  const auto def = MappingDef(NodeKind::kOrderedDict, {"c", 1, "a"});
  ASSERT_THAT(def, IsOk());
  EXPECT_THAT((*def)->keys, ElementsAre("c", 1, "a"));
}

TEST(NodeDefTest, RefusesBadKeys) {
  EXPECT_THAT(MappingDef(NodeKind::kDict, {"a", "a"}),
              StatusIs(kInvalid, Eq("dict: key 'a' is given twice")));
  EXPECT_THAT(MappingDef(NodeKind::kOrderedDict, {"a", "b", "a"}),
              StatusIs(kInvalid, Eq("ordered dict: key 'a' is given twice")));
  EXPECT_THAT(MappingDef(NodeKind::kDefaultDict, {"a", 1}, "list"),
              StatusIs(kInvalid, HasSubstr("default dict: keys 1 and 'a' cannot be sorted")));
  EXPECT_THAT(MappingDef(NodeKind::kDict, {"\xC0\x80"}),
              StatusIs(kInvalid, Eq("dict: key '\\xc0\\x80' is not UTF-8 from byte 0 on")));
}

TEST(NodeDefTest, RefusesBadNames) {
  NodeDef def;
  def.kind = NodeKind::kNamedTuple;
  def.type_name = "Point";
  EXPECT_THAT(NamedDef(def, {"x", "x"}),
              StatusIs(kInvalid, Eq("named tuple Point: key 'x' is given twice")));
  EXPECT_THAT(NamedDef(def, {"\xFF"}),
              StatusIs(kInvalid, Eq("named tuple Point: key '\\xff' is not UTF-8 from byte 0 on")));
  EXPECT_THAT(UnnamedCustomDef("\xFF", "", 0), StatusIs(kInvalid, HasSubstr("custom type name")));
  EXPECT_THAT(UnnamedCustomDef("B", "\xFF", 0), StatusIs(kInvalid, HasSubstr("static data")));
  def.static_fields = {{"lr", "\xFF"}};
  EXPECT_THAT(NamedDef(def, {}), StatusIs(kInvalid, HasSubstr("static field lr")));
}

TEST(NodeDefTest, DescribesNodes) {
  EXPECT_EQ(DescribeNode(NodeKind::kLeaf, nullptr), "leaf");
  EXPECT_EQ(DescribeNode(NodeKind::kNone, nullptr), "None");
  const NodeDefPtr list = MakeSequenceDef(NodeKind::kList, 2);
  EXPECT_EQ(DescribeNode(NodeKind::kList, list.get()), "list of 2");
  const NodeDefPtr point = Named(NodeKind::kNamedTuple, "Point", {"x", "y"});
  EXPECT_EQ(DescribeNode(NodeKind::kNamedTuple, point.get()), "named tuple Point of 2");
}

TEST(NodeDifferenceTest, SameNodesHaveNone) {
  EXPECT_EQ(Difference(Dict({"a", "b"}), Dict({"b", "a"})), std::nullopt);
  EXPECT_EQ(NodeDifference(NodeKind::kNone, nullptr, NodeKind::kNone, nullptr), std::nullopt);
  EXPECT_EQ(NodeDifference(NodeKind::kLeaf, nullptr, NodeKind::kLeaf, nullptr), std::nullopt);
}

TEST(NodeDifferenceTest, TellsKindsAndCounts) {
  const NodeDefPtr list = MakeSequenceDef(NodeKind::kList, 2);
  EXPECT_EQ(Difference(list, MakeSequenceDef(NodeKind::kTuple, 2)), "list of 2 vs tuple of 2");
  EXPECT_EQ(Difference(list, MakeSequenceDef(NodeKind::kList, 3)), "list of 2 vs list of 3");
  EXPECT_EQ(NodeDifference(NodeKind::kLeaf, nullptr, NodeKind::kNone, nullptr), "leaf vs None");
  EXPECT_EQ(NodeDifference(NodeKind::kLeaf, nullptr, NodeKind::kList, list.get()),
            "leaf vs list of 2");
}

TEST(NodeDifferenceTest, NamesKeysThatOneSideLacks) {
  EXPECT_EQ(Difference(Dict({"a", "c"}), Dict({"b", "c"})),
            "dict of 2: only the first has 'a', only the second has 'b'");
  EXPECT_EQ(Difference(Dict({}), Dict({"b"})), "dict of 0 vs dict of 1: only the second has 'b'");
  const NodeDefPtr ab = MappingDef(NodeKind::kOrderedDict, {"a", "b"}).value();
  const NodeDefPtr ba = MappingDef(NodeKind::kOrderedDict, {"b", "a"}).value();
  EXPECT_EQ(Difference(ab, ba), "ordered dict of 2: position 0 is 'a' vs 'b'");
}

TEST(NodeDifferenceTest, TellsTypesAndStaticData) {
  const auto record = [](std::string type, StaticFields statics) {
    return Named(NodeKind::kRecord, std::move(type), {"mu"}, std::move(statics));
  };
  EXPECT_EQ(Difference(record("Adam", {}), record("Sgd", {})),
            "record Adam of 1 vs record Sgd of 1");
  EXPECT_EQ(Difference(record("Adam", {{"lr", "1"}}), record("Adam", {{"lr", "2"}})),
            "record Adam of 1: static field lr = 1 vs lr = 2");
  EXPECT_EQ(Difference(record("Adam", {{"lr", "1"}}), record("Adam", {})),
            "record Adam of 1: 1 static fields vs 0");
  const auto custom = [](std::string data) { return UnnamedCustomDef("Bag", data, 1).value(); };
  EXPECT_EQ(Difference(custom("x"), custom("y")), "custom Bag of 1: static data x vs y");
  const NodeDefPtr named = Named(NodeKind::kCustom, "Bag", {"v"}, {}, "x");
  EXPECT_EQ(Difference(custom("x"), named), "custom Bag of 1: only the second has 'v'");
  const auto defaults = [](std::string factory) {
    return MappingDef(NodeKind::kDefaultDict, {"a"}, std::move(factory)).value();
  };
  EXPECT_EQ(Difference(defaults("list"), defaults("dict")),
            "default dict list of 1 vs default dict dict of 1");
}

}  // namespace
}  // namespace tessera::tree
