#include "tessera/core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseJsonTest, RefusesANulAndWhatFollowsIt) {
  EXPECT_THAT(ParseJson(std::string_view("1\0", 2)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at byte 2")));
}

TEST(ParseJsonTest, NamesTheByteOfASyntaxError) {
  EXPECT_THAT(ParseJson("{\"a\": }"), StatusIs(kInvalid, HasSubstr("bad JSON at byte 7")));
  EXPECT_THAT(ParseJson(""), StatusIs(kInvalid, HasSubstr("bad JSON at byte")));
  EXPECT_THAT(ParseJson("{} x"), StatusIs(kInvalid, HasSubstr("bad JSON at byte")));
  EXPECT_THAT(ParseJson("\"\xff\""), StatusIs(kInvalid, HasSubstr("bad JSON at byte")));
}

TEST(ParseJsonTest, RefusesARepeatedKey) {
  EXPECT_THAT(ParseJson(R"({"a": 1, "b": {"a": 1}})"), IsOk());
  EXPECT_THAT(ParseJson(R"([{"a": 1, "a": 2}])"),
              StatusIs(kInvalid, HasSubstr("the key 'a' stands twice in one object")));
}

TEST(ParseJsonTest, RefusesDeepNestingWithoutOverflowingTheStack) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(ParseJson(deep), StatusIs(kInvalid, HasSubstr("bad JSON")));
  EXPECT_THAT(ParseJson(std::string(200, '[') + std::string(200, ']')),
              StatusIs(kInvalid, HasSubstr("nests deeper than 128")));
  EXPECT_THAT(ParseJson(std::string(128, '[') + std::string(128, ']')), IsOk());
}

TEST(ParseJsonTest, OrderedKeepsTheOrderOfKeys) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const OrderedJson value, ParseOrderedJson(R"({"b": 1, "a": 2})"));
  EXPECT_EQ(value.begin().key(), "b");
}

TEST(ObjectReaderTest, ReadsTypedFields) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const Json json,
      ParseJson(R"({"s": "x", "n": -3, "b": true, "shape": [2, 0], "o": {"l": []}})"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ObjectReader reader, ObjectReader::Make(json));
  EXPECT_THAT(reader.String("s"), IsOkAndHolds(std::string("x")));
  EXPECT_THAT(reader.Integer("n"), IsOkAndHolds(-3));
  EXPECT_THAT(reader.Bool("b"), IsOkAndHolds(true));
  EXPECT_THAT(reader.Shape("shape"), IsOkAndHolds(ElementsAre(2, 0)));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ObjectReader inner, reader.Object("o"));
  EXPECT_THAT(inner.Array("l"), IsOk());
  EXPECT_TRUE(reader.Has("s"));
  EXPECT_FALSE(reader.Has("zz"));
}

TEST(ObjectReaderTest, ErrorsNameThePathAndTheType) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(R"({"o": {"n": "3", "f": 1.5,
      "u": 18446744073709551615, "shape": [1, -2]}})"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ObjectReader reader, ObjectReader::Make(json));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ObjectReader o, reader.Object("o"));
  EXPECT_THAT(o.Integer("n"), StatusIs(kInvalid, "o.n: expected an integer, found string"));
  EXPECT_THAT(o.Integer("f"), StatusIs(kInvalid, "o.f: expected an integer, found 1.5"));
  EXPECT_THAT(o.Integer("u"), StatusIs(kInvalid, "o.u: 18446744073709551615 does not fit 63 bits"));
  EXPECT_THAT(o.String("zz"), StatusIs(kInvalid, "o.zz: the field is missing"));
  EXPECT_THAT(o.Shape("shape"),
              StatusIs(kInvalid, "o.shape[1]: expected a size from 0 up, found -2"));
  EXPECT_THAT(ObjectReader::Make(Json::array()),
              StatusIs(kInvalid, "document: expected an object, found array"));
}

}  // namespace
}  // namespace tessera
