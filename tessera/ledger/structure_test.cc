#include "tessera/ledger/structure.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/tree/map.h"
#include "tessera/tree/testing/random_tree.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using tree::DictKey;
using tree::Scalar;

SavedTree ArrayOf(int64_t record) { return SavedTree::Leaf(ArrayLeaf{record}); }
SavedTree ScalarOf(Scalar scalar) { return SavedTree::Leaf(std::move(scalar)); }

double DoubleOf(const SavedTree& tree) { return std::get<double>(std::get<Scalar>(tree.leaf())); }

TEST(EncodeStructureTest, WritesContainersBeforeTheirChildren) {
  const SavedTree tree = SavedTree::MakeDict({
      {"w", SavedTree::List({ArrayOf(1), SavedTree::None()})},
      {"b", ArrayOf(0)},
      {"n", ScalarOf(int64_t{3})},
  });
  EXPECT_THAT(EncodeStructure(tree),
              IsOkAndHolds(R"([{"dict":["w","b","n"]},{"list":2},1,null,0,{"int":3}])"));
}

TEST(EncodeStructureTest, WritesEveryKindOfNode) {
  const SavedTree tree = SavedTree::Tuple({
      SavedTree::MakeOrderedDict({{"b", ArrayOf(0)}, {"a", SavedTree::None()}}),
      *SavedTree::DefaultDict("list", {{2, ArrayOf(1)}}),
      SavedTree::MakeNamedTuple("Point", {{"x", ArrayOf(2)}}),
      *SavedTree::Record("Adam", {{"mu", ArrayOf(3)}}, {{"lr", "0.1"}}),
      *SavedTree::Custom("Bag", "s", {ArrayOf(4)}),
      *SavedTree::CustomWithNames("Box", "", {{"in", ArrayOf(5)}}),
      SavedTree::Leaf(OpaqueLeaf{"optax.State"}),
  });
  const std::string text = *EncodeStructure(tree);
  EXPECT_EQ(text, R"([{"tuple":7},{"ordered dict":["b","a"]},0,null,)"
                  R"({"default dict":[2],"type":"list"},1,{"named tuple":["x"],"type":"Point"},2,)"
                  R"({"record":["mu"],"type":"Adam","fields":["lr","0.1"]},3,)"
                  R"({"custom":1,"type":"Bag","static":"s"},4,{"custom":["in"],"type":"Box"},5,)"
                  R"({"opaque":"optax.State"}])");
  EXPECT_THAT(DecodeStructure(text, 6), IsOkAndHolds(tree));
}

TEST(EncodeStructureTest, KeepsKeysOfEveryKind) {
  const SavedTree tree = SavedTree::MakeOrderedDict({
      {"1", ArrayOf(0)},
      {1, ArrayOf(1)},
      {false, ArrayOf(2)},
      {DictKey::MakeTuple({"a", DictKey::MakeTuple({}), true}), ArrayOf(3)},
  });
  const std::string text = *EncodeStructure(tree);
  EXPECT_EQ(text, R"([{"ordered dict":["1",1,false,["a",[],true]]},0,1,2,3])");
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavedTree back, DecodeStructure(text, 4));
  EXPECT_EQ(back, tree);
  EXPECT_NE(back.def()->keys[2].truth(), nullptr);
}

TEST(EncodeStructureTest, KeepsTheOrderThatADictWasGivenIn) {
  const SavedTree tree = SavedTree::MakeDict({{"z", ArrayOf(1)}, {"a", ArrayOf(0)}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavedTree back, DecodeStructure(*EncodeStructure(tree), 2));
  EXPECT_EQ(back.def()->insertion, tree.def()->insertion);
  EXPECT_EQ(back.def()->keys[back.def()->GivenAt(0)], DictKey("z"));
}

TEST(EncodeStructureTest, FloatsComeBackBitForBit) {
  using Limits = std::numeric_limits<double>;
  for (const double value :
       {0.0, -0.0, 0.1, 1.0, -2.5e-300, 1e300, Limits::denorm_min(), Limits::max(),
        Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN(),
        std::bit_cast<double>(uint64_t{0x7FF0000000000001})}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const SavedTree back,
                                 DecodeStructure(*EncodeStructure(ScalarOf(value)), 0));
    EXPECT_EQ(std::bit_cast<uint64_t>(DoubleOf(back)), std::bit_cast<uint64_t>(value)) << value;
  }
  EXPECT_THAT(EncodeStructure(ScalarOf(1.0)), IsOkAndHolds(R"([{"float":1.0}])"));
  EXPECT_THAT(EncodeStructure(ScalarOf(Limits::infinity())),
              IsOkAndHolds(R"([{"float":"7ff0000000000000"}])"));
}

TEST(EncodeStructureTest, KeepsTheTypesOfScalars) {
  for (const Scalar& scalar :
       {Scalar(true), Scalar(int64_t{1}), Scalar(1.0), Scalar(std::complex<double>(-0.0, 2)),
        Scalar(std::string("1\n\"é\U0001F333")), Scalar(std::string()),
        Scalar(std::numeric_limits<int64_t>::min())}) {
    const std::string text = *EncodeStructure(ScalarOf(scalar));
    EXPECT_THAT(DecodeStructure(text, 0), IsOkAndHolds(ScalarOf(scalar))) << text;
  }
}

TEST(EncodeStructureTest, RandomTreesComeBack) {
  std::mt19937_64 random(20260807);
  for (int round = 0; round < 300; ++round) {
    const auto plain = tree::testing::RandomTree(random, 1 + random() % 60, 8);
    int64_t next = 0;
    TESSERA_ASSERT_OK_AND_ASSIGN(const SavedTree tree,
                                 (tree::Map(plain, [&](int leaf) -> SavedLeaf {
                                   if (leaf % 4 == 1) return Scalar(static_cast<int64_t>(leaf));
                                   if (leaf % 4 == 2)
                                     return Scalar(tree::testing::RandomKeyText(random));
                                   return ArrayLeaf{next++};
                                 })));
    const std::string text = *EncodeStructure(tree);
    TESSERA_ASSERT_OK_AND_ASSIGN(const SavedTree back, DecodeStructure(text, next));
    ASSERT_EQ(back, tree) << text;
    ASSERT_THAT(EncodeStructure(back), IsOkAndHolds(text));
  }
}

SavedTree Nested(size_t depth) {
  SavedTree tree = ArrayOf(0);
  for (size_t i = 0; i < depth; ++i) tree = SavedTree::List({std::move(tree)});
  return tree;
}

TEST(EncodeStructureTest, TakesTreesAsDeepAsTreesMayBe) {
  const SavedTree deep = Nested(1000);
  EXPECT_THAT(DecodeStructure(*EncodeStructure(deep), 1), IsOkAndHolds(deep));
  EXPECT_THAT(EncodeStructure(Nested(1001)),
              StatusIs(kInvalid, HasSubstr("structure: the tree is nested deeper than 1000")));
  std::string text = "[";
  for (int i = 0; i < 1001; ++i) text += R"({"list":1},)";
  EXPECT_THAT(
      DecodeStructure(text + "0]", 1),
      StatusIs(kInvalid, "structure[1000]: the tree is nested deeper than 1000 containers"));
}

TEST(EncodeStructureTest, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(EncodeStructure(ScalarOf(std::string("a\xFF"))),
              StatusIs(kInvalid, "structure: text that is not UTF-8 cannot be written: '\\xff'"));
}

TEST(DecodeStructureTest, ArraysAreNumberedInLeafOrder) {
  EXPECT_THAT(DecodeStructure(R"([{"list":2},1,0])", 2),
              StatusIs(kInvalid, "structure: 0 is array 1 of the list; by its place it is 0"));
  EXPECT_THAT(DecodeStructure(R"([{"list":2},0,1])", 3),
              StatusIs(kInvalid, "structure: it has 2 arrays, the list 3"));
  EXPECT_THAT(DecodeStructure("[0]", 0),
              StatusIs(kInvalid, "structure: it has 1 arrays, the list 0"));
}

TEST(DecodeStructureTest, ErrorsNameThePlace) {
  const auto decode = [](std::string_view text) { return DecodeStructure(text, 0).status(); };
  EXPECT_THAT(decode("["), StatusIs(kInvalid, "structure: bad JSON at byte 1"));
  EXPECT_THAT(decode("{}"), StatusIs(kInvalid, "structure: expected a list, found object"));
  EXPECT_THAT(decode("[]"), StatusIs(kInvalid, "structure: it ends before the tree is complete"));
  EXPECT_THAT(decode(R"([{"list":9000000000000000000},null])"),
              StatusIs(kInvalid, "structure: it ends before the tree is complete"));
  EXPECT_THAT(decode("[null,null]"),
              StatusIs(kInvalid, "structure[1]: the tree is complete before it"));
  EXPECT_THAT(decode(R"(["x"])"),
              StatusIs(kInvalid, "structure[0]: expected an object, found string"));
  EXPECT_THAT(decode("[{}]"), StatusIs(kInvalid, "structure[0]: an object without members"));
  EXPECT_THAT(decode("[-1]"),
              StatusIs(kInvalid, "structure[0]: expected a size from 0 up, found -1"));
  EXPECT_THAT(decode(R"([{"set":1}])"),
              StatusIs(kInvalid, "structure[0].set: no such kind of node is known"));
  EXPECT_THAT(decode(R"([{"int":1.5}])"),
              StatusIs(kInvalid, "structure[0].int: expected an integer, found 1.5"));
  EXPECT_THAT(
      decode(R"([{"float":"7ff"}])"),
      StatusIs(kInvalid, R"(structure[0].float: expected a number or 16 digits, found "7ff")"));
  EXPECT_THAT(decode(R"([{"complex":[1]}])"),
              StatusIs(kInvalid, "structure[0].complex: expected a list of two floats, found [1]"));
  EXPECT_THAT(decode(R"([{"dict":["a","a"]},null,null])"),
              StatusIs(kInvalid, "structure[2]: dict: key 'a' is given twice"));
  EXPECT_THAT(decode(R"([{"dict":2},null,null])"),
              StatusIs(kInvalid, "structure[0].dict: expected a list of keys"));
  EXPECT_THAT(decode(R"([{"list":["a"]},null])"),
              StatusIs(kInvalid, "structure[0].list: expected the number of children"));
  EXPECT_THAT(decode(R"([{"record":[1]},null])"),
              StatusIs(kInvalid, "structure[1]: the name of a field is 1, no text"));
  EXPECT_THAT(decode(R"([{"list":1,"type":"x"},null])"),
              StatusIs(kInvalid, "structure[0].type: a list has no such member"));
  EXPECT_THAT(decode(R"([{"record":[],"fields":["x"]}])"),
              StatusIs(kInvalid, "structure[0].fields: expected names and values by turns"));
}

TEST(DecodeStructureTest, RefusesEachTruncation) {
  const std::string text = R"([{"dict":["w","b"]},{"list":1},1,{"list":2},0,{"str":"x"}])";
  EXPECT_THAT(DecodeStructure(text, 2), IsOk());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(DecodeStructure(text.substr(0, size), 2),
                StatusIs(kInvalid, HasSubstr("structure: bad JSON at byte")));
  }
}

}  // namespace
}  // namespace tessera::ledger
