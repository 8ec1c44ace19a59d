#include "tessera/ledger/json_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;

std::string Copied(std::string_view text, JsonStyle style) {
  const JsonDocument json = *JsonDocument::Scan(text, NanTokens::kAccept);
  JsonWriter out(style);
  out.Copy(json.root());
  return std::string(out.text());
}

TEST(JsonWriterTest, CopiesInEachStyle) {
  constexpr std::string_view kText = R"( {"a" : [1.50 ,{}, [] , "é\/"], "b":-Infinity} )";
  EXPECT_EQ(Copied(kText, JsonStyle::kCompact), R"({"a":[1.50,{},[],"\u00e9/"],"b":-Infinity})");
  EXPECT_EQ(Copied(kText, JsonStyle::kOneLine),
            R"({"a": [1.50, {}, [], "\u00e9/"], "b": -Infinity})");
  EXPECT_EQ(Copied(kText, JsonStyle::kIndented), R"({
  "a": [
    1.50,
    {},
    [],
    "\u00e9/"
  ],
  "b": -Infinity
})");
  EXPECT_EQ(Copied("[]", JsonStyle::kIndented), "[]");
  EXPECT_EQ(Copied("7", JsonStyle::kIndented), "7");
}

TEST(JsonWriterTest, WritesNumbersToTheirLimits) {
  JsonWriter out(JsonStyle::kOneLine);
  out.BeginArray();
  out.Integer(INT64_MIN);
  out.Unsigned(UINT64_MAX);
  out.Bool(true);
  out.Null();
  out.Integers(std::vector<int64_t>{1, -2});
  out.Strings(std::vector<std::string>{"a", ""});
  out.EndArray();
  EXPECT_THAT(out.Finish(), IsOkAndHolds("[-9223372036854775808, 18446744073709551615, true, "
                                         "null, [1, -2], [\"a\", \"\"]]"));
}

TEST(JsonWriterTest, TextThatIsNotUtf8IsRefusedAtTheEnd) {
  JsonWriter out(JsonStyle::kCompact);
  out.String("a\xC3");
  EXPECT_EQ(out.text(), R"("a\udcc3")");
  EXPECT_THAT(out.Finish(), StatusIs(absl::StatusCode::kInvalidArgument,
                                     "text that is not UTF-8 cannot be written: '\\xc3'"));
}

}  // namespace
}  // namespace tessera::ledger
