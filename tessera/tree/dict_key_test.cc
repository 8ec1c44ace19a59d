#include "tessera/tree/dict_key.h"

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
using ::testing::HasSubstr;

TEST(DictKeyTest, TextIsWhatAPathShows) {
  EXPECT_EQ(DictKey("w").ToText(), "w");
  EXPECT_EQ(DictKey(3).ToText(), "3");
  EXPECT_EQ(DictKey(-3).ToText(), "-3");
  EXPECT_EQ(DictKey(true).ToText(), "True");
  EXPECT_EQ(DictKey(false).ToText(), "False");
  EXPECT_EQ(DictKey::MakeTuple({"a", 1}).ToText(), "('a', 1)");
}

TEST(DictKeyTest, ReprIsPythons) {
  EXPECT_EQ(DictKey("w").ToRepr(), "'w'");
  EXPECT_EQ(DictKey("").ToRepr(), "''");
  EXPECT_EQ(DictKey("it's").ToRepr(), "\"it's\"");
  EXPECT_EQ(DictKey("'\"").ToRepr(), "'\\'\"'");
  EXPECT_EQ(DictKey("a\\b\n\r\t").ToRepr(), "'a\\\\b\\n\\r\\t'");
  EXPECT_EQ(DictKey(std::string("\0\x1F\x7F", 3)).ToRepr(), "'\\x00\\x1f\\x7f'");
  EXPECT_EQ(DictKey("é\xC2\xA0\xC2\xAD\xC2\x85").ToRepr(), "'é\\xa0\\xad\\x85'");
  EXPECT_EQ(DictKey("\xFF").ToRepr(), "'\\xff'");
  EXPECT_EQ(DictKey::MakeTuple({}).ToRepr(), "()");
  EXPECT_EQ(DictKey::MakeTuple({1}).ToRepr(), "(1,)");
  EXPECT_EQ(DictKey::MakeTuple({DictKey::MakeTuple({"a"}), true}).ToRepr(), "(('a',), True)");
}

TEST(DictKeyTest, TextComparesByCodePoint) {
  EXPECT_LT(DictKey("10"), DictKey("9"));
  EXPECT_LT(DictKey("9"), DictKey("B"));
  EXPECT_LT(DictKey("B"), DictKey("a"));
  EXPECT_LT(DictKey("z"), DictKey("é"));
  EXPECT_LT(DictKey("\xEF\xBF\xBD"), DictKey("\xF0\x9F\x8C\xB3"));
}

TEST(DictKeyTest, NumbersCompareByValueWithTruthsAsZeroAndOne) {
  EXPECT_LT(DictKey(9), DictKey(10));
  EXPECT_LT(DictKey(-1), DictKey(false));
  EXPECT_LT(DictKey(false), DictKey(true));
  EXPECT_LT(DictKey(true), DictKey(2));
  EXPECT_EQ(DictKey(true), DictKey(1));
}

TEST(DictKeyTest, TuplesCompareElementByElement) {
  EXPECT_LT(DictKey::MakeTuple({"a", 9}), DictKey::MakeTuple({"a", 10}));
  EXPECT_LT(DictKey::MakeTuple({"a"}), DictKey::MakeTuple({"a", 1}));
  EXPECT_LT(DictKey::MakeTuple({1, "a"}), DictKey::MakeTuple({2, 3}));
  EXPECT_EQ(DictKey::MakeTuple({"a", 1}), DictKey::MakeTuple({"a", true}));
}

TEST(DictKeyTest, OtherKindsHaveNoOrder) {
  EXPECT_EQ(DictKey("1") <=> DictKey(1), std::partial_ordering::unordered);
  EXPECT_EQ(DictKey::MakeTuple({"a"}) <=> DictKey("a"), std::partial_ordering::unordered);
  EXPECT_EQ(DictKey::MakeTuple({1}) <=> DictKey::MakeTuple({"a"}),
            std::partial_ordering::unordered);
  EXPECT_NE(DictKey("1"), DictKey(1));
}

TEST(DictKeyTest, TuplesNestOnlySoDeep) {
  DictKey key = DictKey::MakeTuple({});
  for (int depth = 1; depth < DictKey::kMaxTupleDepth; ++depth) key = DictKey::MakeTuple({key});
  EXPECT_THAT(DictKey::Tuple({key}),
              StatusIs(kInvalid, Eq("a key has tuples nested 33 deep; at most 32 are accepted")));
}

TEST(CheckUtf8Test, NamesTheKeyAndTheByte) {
  EXPECT_THAT(CheckUtf8("é"), IsOk());
  EXPECT_THAT(CheckUtf8(7), IsOk());
  EXPECT_THAT(CheckUtf8("ab\xFF"),
              StatusIs(kInvalid, Eq("key 'ab\\xff' is not UTF-8 from byte 2 on")));
  EXPECT_THAT(CheckUtf8(DictKey::MakeTuple({1, "\xC3"})),
              StatusIs(kInvalid, Eq("key '\\xc3' is not UTF-8 from byte 0 on")));
}

TEST(SortedOrderTest, GivesPositionsInAscendingOrder) {
  const std::vector<DictKey> text = {"a", "10", "B", "9"};
  EXPECT_THAT(SortedOrder(text), IsOkAndHolds(ElementsAre(1, 3, 2, 0)));
  const std::vector<DictKey> numbers = {10, true, 9, false};
  EXPECT_THAT(SortedOrder(numbers), IsOkAndHolds(ElementsAre(3, 1, 2, 0)));
  EXPECT_THAT(SortedOrder({}), IsOkAndHolds(ElementsAre()));
}

TEST(SortedOrderTest, RefusesKeysWithoutAnOrder) {
  const std::vector<DictKey> mixed = {"b", "a", 3};
  EXPECT_THAT(SortedOrder(mixed),
              StatusIs(kInvalid, Eq("keys 3 and 'a' cannot be sorted: a number and text have no "
                                    "order")));
  const std::vector<DictKey> tuples = {DictKey::MakeTuple({1, "x"}), DictKey::MakeTuple({0, 5}),
                                       DictKey::MakeTuple({1, 2})};
  EXPECT_THAT(SortedOrder(tuples),
              StatusIs(kInvalid, HasSubstr("keys (1, 2) and (1, 'x') cannot be sorted")));
}

TEST(SortedOrderTest, RefusesEqualKeys) {
  const std::vector<DictKey> twice = {"a", "b", "a"};
  EXPECT_THAT(SortedOrder(twice), StatusIs(kInvalid, Eq("key 'a' is given twice")));
  const std::vector<DictKey> same = {1, true};
  EXPECT_THAT(SortedOrder(same), StatusIs(kInvalid, HasSubstr("are the same key")));
}

TEST(CheckDistinctTest, TakesAnyKindsButNoEqualKeys) {
  const std::vector<DictKey> mixed = {"1", 1, DictKey::MakeTuple({1}), DictKey::MakeTuple({"a"})};
  EXPECT_THAT(CheckDistinct(mixed), IsOk());
  const std::vector<DictKey> twice = {"x", DictKey::MakeTuple({1, "a"}), 3,
                                      DictKey::MakeTuple({true, "a"})};
  EXPECT_THAT(CheckDistinct(twice), StatusIs(kInvalid, HasSubstr("are the same key")));
}

}  // namespace
}  // namespace tessera::tree
