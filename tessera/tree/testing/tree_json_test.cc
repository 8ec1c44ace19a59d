#include "tessera/tree/testing/tree_json.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::tree::testing {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;

using Json = nlohmann::ordered_json;
using TextTree = Tree<std::string>;

TEST(ParseTreeTest, ReadsEveryKindOfNode) {
  const Json json = Json::parse(
      R"({"dict": {"b": {"list": ["leaf", 3]}, "a": {"tuple": [null]},
                   "c": {"namedtuple": {"x": "y"}}}})");
  const TextTree tree =
      TextTree::MakeDict({{"b", TextTree::List({"leaf", "3"})},
                          {"a", TextTree::Tuple({TextTree::None()})},
                          {"c", TextTree::MakeNamedTuple("namedtuple", {{"x", "y"}})}});
  EXPECT_THAT(ParseTree(json), IsOkAndHolds(tree));
  EXPECT_EQ(ParseTree(json)->def()->insertion, tree.def()->insertion);
}

TEST(ParseTreeTest, RefusesOtherForms) {
  EXPECT_THAT(ParseTree(Json::parse(R"([1])")), StatusIs(kInvalid, HasSubstr("not [1]")));
  EXPECT_THAT(ParseTree(Json::parse(R"({})")), StatusIs(kInvalid, HasSubstr("not {}")));
  EXPECT_THAT(ParseTree(Json::parse(R"({"set": []})")),
              StatusIs(kInvalid, Eq(R"(unknown kind of node: {"set":[]})")));
  EXPECT_THAT(ParseTree(Json::parse(R"({"list": {}})")), StatusIs(kInvalid, HasSubstr("unknown")));
}

TEST(ParseTreeTest, RefusesJsonThatIsTooDeep) {
  Json json = nullptr;
  for (int i = 0; i <= kMaxParseDepth; ++i) json = Json{{"list", Json::array({std::move(json)})}};
  EXPECT_THAT(ParseTree(json), StatusIs(kInvalid, HasSubstr("deeper than 1000 containers")));
}

}  // namespace
}  // namespace tessera::tree::testing
