#include "tessera/regex/python_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::regex {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Pieces = std::vector<TemplatePiece>;

absl::StatusOr<Pieces> Parse(std::string_view text) {
  return ParsePythonTemplate(text, *ParsePythonRegex("(a)(?P<name>b)"));
}

TEST(ParsePythonTemplateTest, JoinsTextAndEscapes) {
  EXPECT_THAT(Parse("a\\nb\\\\c\\.\\101\\0"),
              IsOkAndHolds(ElementsAre(TemplatePiece(std::string("a\nb\\c\\.A\0", 9)))));
  EXPECT_THAT(Parse(""), IsOkAndHolds(IsEmpty()));
}

TEST(ParsePythonTemplateTest, FindsGroupsByNumberAndName) {
  EXPECT_THAT(Parse("\\1-\\g<2>\\g<name>\\g<0>"),
              IsOkAndHolds(ElementsAre(TemplatePiece(1u), TemplatePiece(std::string("-")),
                                       TemplatePiece(2u), TemplatePiece(2u), TemplatePiece(0u))));
}

TEST(ParsePythonTemplateTest, RefusesWhatPythonRefusesAndSaysWhere) {
  const auto refused = [](std::string_view text, std::string_view what) {
    EXPECT_THAT(Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(what))))
        << text;
  };
  refused("a\\3", "invalid group reference 3 at position 2");
  refused("\\g<3>", "invalid group reference 3 at position 3");
  refused("\\g<99999999999999999999>", "invalid group reference");
  refused("\\q", "bad escape \\q at position 0");
  refused("\\", "bad escape (end of pattern) at position 0");
  refused("\\g", "missing < at position 2");
  refused("\\g<1", "missing >, unterminated name at position 3");
  refused("\\g<>", "missing group name at position 3");
  refused("\\g<-1>", "bad character in group name '-1' at position 3");
  refused("\\g<other>", "unknown group name 'other'");
  refused("\\400", "octal escape value \\400 outside of range 0-0o377 at position 0");
  refused("\xff", "byte 0 is not UTF-8");
}

}  // namespace
}  // namespace tessera::regex
