#include "tessera/regex/python_regex_parser.h"

#include <string>
#include <string_view>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::regex {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::Eq;
using ::testing::HasSubstr;

struct Refused {
  std::string_view pattern;
  std::string_view error;
};

// Every message and position but those of "not supported" is Python's own.
constexpr Refused kRefused[] = {
    {"a**", "multiple repeat at position 2"},
    {"a{2}{3}", "multiple repeat at position 4"},
    {"a*+*", "multiple repeat at position 3"},
    {"*a", "nothing to repeat at position 0"},
    {"(?:+)", "nothing to repeat at position 3"},
    {"^*", "nothing to repeat at position 1"},
    {"a|{1}", "nothing to repeat at position 2"},
    {"a{3,2}", "min repeat greater than max repeat at position 2"},
    {"a{4294967295}", "the repetition number is too large at position 2"},
    {"a{65536}", "repeat count 65536 is above 65535, the most that is supported, at position 1"},
    {"(a", "missing ), unterminated subpattern at position 0"},
    {"a)", "unbalanced parenthesis at position 1"},
    {"[a", "unterminated character set at position 0"},
    {"[]", "unterminated character set at position 0"},
    {"[b-a]", "bad character range b-a at position 1"},
    {"[\\d-z]", "bad character range \\d-z at position 1"},
    {"\\p{L}", "bad escape \\p at position 0"},
    {"[\\p]", "bad escape \\p at position 1"},
    {"[\\8]", "bad escape \\8 at position 1"},
    {"\\K", "bad escape \\K at position 0"},
    {"\\Q", "bad escape \\Q at position 0"},
    {"\\G", "bad escape \\G at position 0"},
    {"a\\", "bad escape (end of pattern) at position 1"},
    {"\\x4", "incomplete escape \\x4 at position 0"},
    {"\\u00e", "incomplete escape \\u00e at position 0"},
    {"\\U00110000", "bad escape \\U00110000 at position 0"},
    {"\\400", "octal escape value \\400 outside of range 0-0o377 at position 0"},
    {"\\N", "missing { at position 2"},
    {"\\N{}", "missing character name at position 3"},
    {"\\1", "invalid group reference 1 at position 1"},
    {"(a)\\2", "invalid group reference 2 at position 4"},
    {"(a\\1)", "cannot refer to an open group at position 2"},
    {"(?P<n>a(?P=n))", "cannot refer to an open group at position 11"},
    {"(?<=(a)\\1)b",
     "cannot refer to group defined in the same lookbehind subpattern at position 9"},
    {"(?P=n)", "unknown group name 'n' at position 4"},
    {"(?P<1a>b)", "bad character in group name '1a' at position 4"},
    {"(?P<n>a)(?P<n>b)", "redefinition of group name 'n' as group 2; was group 1 at position 12"},
    {"(?P<n", "missing >, unterminated name at position 4"},
    {"(?P<>a)", "missing group name at position 4"},
    {"(?P>n)", "unknown extension ?P> at position 1"},
    {"(?R)", "unknown extension ?R at position 1"},
    {"(?1)", "unknown extension ?1 at position 1"},
    {"(?|a)", "unknown extension ?| at position 1"},
    {"(?<n>a)", "unknown extension ?<n at position 1"},
    {"(*FAIL)", "nothing to repeat at position 1"},
    {"(?#a", "missing ), unterminated comment at position 0"},
    {"(?", "unexpected end of pattern at position 2"},
    {"(?(2)a|b)(c)", "invalid group reference 2 at position 3"},
    {"(?(0)a)", "bad group number at position 3"},
    {"(?(n)a)", "unknown group name 'n' at position 3"},
    {"(a)(?(1)b|c|d)", "conditional backref with more than two branches at position 11"},
    {"(a(?(1)b))", "reference to group 1, which is still open there, is not supported"},
    {"(?<=a*)b", "look-behind requires fixed-width pattern"},
    {"(?<=a|bc)d", "look-behind requires fixed-width pattern"},
    {"a(?i)b", "global flags not at the start of the expression at position 1"},
    {"(?:(?i)b)", "global flags not at the start of the expression at position 3"},
    {"a|(?i)b", "global flags not at the start of the expression at position 2"},
    {"(?L)a", "bad inline flags: cannot use 'L' flag with a str pattern at position 3"},
    {"(?au)a", "bad inline flags: flags 'a', 'u' and 'L' are incompatible at position 4"},
    {"(?a)(?u)a", "ASCII and UNICODE flags are incompatible"},
    {"(?i-i:a)", "bad inline flags: flag turned on and off at position 5"},
    {"(?-a:b)", "bad inline flags: cannot turn off flags 'a', 'u' and 'L' at position 4"},
    {"(?-i)a", "missing : at position 4"},
    {"(?iz)a", "unknown flag at position 3"},
    {"(?t)a*", "repeat under the flag 't', which allows none"},
    {"(?t:a)", "bad inline flags: cannot turn on global flag at position 3"},
};

TEST(ParsePythonRegexTest, SaysWhatIsWrongAndWhere) {
  for (const Refused& refused : kRefused) {
    EXPECT_THAT(ParsePythonRegex(refused.pattern),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("pattern '" + std::string(refused.pattern) + "'"),
                               HasSubstr(std::string(refused.error)))))
        << refused.pattern;
  }
}

TEST(ParsePythonRegexTest, CountsPositionsInCodePoints) {
  EXPECT_THAT(ParsePythonRegex("\xC3\xA9\xE2\x80\xA2**"),
              StatusIs(absl::StatusCode::kInvalidArgument, EndsWith("at position 3")));
  EXPECT_THAT(ParsePythonRegex("\xC3\xA9\xFF"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("pattern '\xC3\xA9\\xff': byte that is not UTF-8 at position 1")));
}

TEST(ParsePythonRegexTest, BoundsTheDepthOfGroups) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')');
  };
  EXPECT_THAT(ParsePythonRegex(nested(250)), IsOk());
  EXPECT_THAT(ParsePythonRegex(nested(251)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("groups nested deeper than 250 at position 250")));
  EXPECT_THAT(ParsePythonRegex(std::string(100000, '(')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("groups nested deeper")));
  std::string flags;
  for (int i = 0; i < 1000; ++i) flags += "(?i:";
  EXPECT_THAT(ParsePythonRegex(flags),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("groups nested deeper")));
}

TEST(ParsePythonRegexTest, RefusesWhatPythonFoldsInTwoWays) {
  EXPECT_THAT(ParsePythonRegex(R"((?i)\U00010400)"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("capital letter above")));
  EXPECT_THAT(ParsePythonRegex(R"((?i)[\x80-\U0010FFFF])"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("range that ends above")));
  EXPECT_THAT(ParsePythonRegex(R"(\U00010400[\x80-\U0010FFFF])"), IsOk());
}

TEST(ParsePythonRegexTest, KnowsTheWidthOfNodes) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const RegexSyntax syntax,
                               ParsePythonRegex("(ab|c)\\1{2,3}(?=x)^(?(1)d)e*"));
  ASSERT_EQ(syntax.alternatives.size(), 1u);
  const auto width = [&](size_t i) {
    const RegexWidth& width = syntax.alternatives[0][i].width;
    return std::pair(width.min, width.max);
  };
  EXPECT_EQ(width(0), std::pair(uint64_t{1}, uint64_t{2}));
  EXPECT_EQ(width(1), std::pair(uint64_t{2}, uint64_t{6}));
  EXPECT_EQ(width(2), std::pair(uint64_t{0}, uint64_t{0}));
  EXPECT_EQ(width(3), std::pair(uint64_t{0}, uint64_t{0}));
  EXPECT_EQ(width(4), std::pair(uint64_t{0}, uint64_t{1}));
  EXPECT_EQ(width(5), std::pair(uint64_t{0}, UINT64_MAX));
}

}  // namespace
}  // namespace tessera::regex
