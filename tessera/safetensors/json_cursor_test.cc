#include "tessera/safetensors/json_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;

TEST(JsonCursorTest, StringsOfEveryLengthEndAtTheirQuote) {
  for (size_t length = 0; length < 40; ++length) {
    for (size_t escape = 0; escape <= length; ++escape) {
      std::string expected(length, 'x');
      std::string text = Concat("\"", expected, "\",");
      if (escape < length) {
        expected[escape] = '\n';
        text.replace(escape + 1, 1, "\\n");
      }
      JsonCursor cursor(text);
      EXPECT_THAT(cursor.String(), IsOkAndHolds(Eq(expected)));
      EXPECT_TRUE(cursor.Take(','));
    }
  }
}

TEST(JsonCursorTest, RawTextAboveAsciiStaysAsItIs) {
  JsonCursor cursor("\"ééééééé 😀\"");
  EXPECT_THAT(cursor.String(), IsOkAndHolds(Eq("ééééééé 😀")));
}

TEST(JsonCursorTest, NumbersGoUpTo64Bits) {
  JsonCursor cursor("[0, 18446744073709551615 ,10]");
  std::vector<uint64_t> numbers;
  EXPECT_THAT(cursor.Array([&]() -> absl::Status {
    TESSERA_ASSIGN_OR_RETURN(numbers.emplace_back(), cursor.Unsigned());
    return absl::OkStatus();
  }),
              IsOk());
  EXPECT_THAT(numbers, ElementsAre(0u, 18446744073709551615u, 10u));
  EXPECT_THAT(cursor.End(), IsOk());
}

TEST(JsonCursorTest, AnyReturnsTheTextOfAValue) {
  for (const std::string_view value : {"0", "-0", "-1.5E+10", "true", "false", "null", "\"a\\\"b\"",
                                       "[]", "[ [ ], {} ]", "{\"a\": {\"b\" :[1,2 ]}}"}) {
    const std::string text = Concat(" ", value, " ,");
    JsonCursor cursor(text);
    EXPECT_THAT(cursor.Any(), IsOkAndHolds(Eq(value)));
    EXPECT_TRUE(cursor.Take(','));
  }
}

TEST(JsonCursorTest, MembersComeInOrder) {
  JsonCursor cursor(R"({"b":1,"\u0061":[2]})");
  std::vector<std::string> keys;
  EXPECT_THAT(cursor.Object([&](std::string_view key) {
    keys.emplace_back(key);
    return cursor.Any().status();
  }),
              IsOk());
  EXPECT_THAT(keys, ElementsAre("b", "a"));
}

TEST(JsonCursorTest, DepthCountsOnlyWhatIsOpen) {
  std::string text = "[";
  for (int i = 0; i < 1000; ++i) text += "[{}],";
  text += "[]]";
  JsonCursor cursor(text);
  EXPECT_THAT(cursor.Any(), IsOkAndHolds(Eq(text)));
}

TEST(JsonCursorTest, ErrorsShowALittleOfWhatWasFound) {
  JsonCursor cursor("  abcdefghijklmnopq");
  EXPECT_THAT(cursor.Unexpected("a list"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("byte 2: expected a list, found 'abcdefghijkl'")));
}

}  // namespace
}  // namespace tessera::safetensors
