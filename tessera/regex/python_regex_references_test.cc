#include "tessera/regex/python_regex_references.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::regex {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::EndsWith;

TEST(FindUnsafeReferenceTest, TakesWhatBothEnginesAgreeOn) {
  for (std::string_view pattern :
       {"(a)\\1", "(a*)\\1", "(?:(a)|b)*\\1", "(?:(a)\\1)+", "(a)?(?(1)b|c)", "(?=(a))\\1",
        "(?!(a)\\1)b", "(?>(a))\\1", "(?(1)a|b)(c)", "(?!(?!(a)\\1)b)c"}) {
    EXPECT_THAT(ParsePythonRegex(pattern), IsOk()) << pattern;
  }
}

TEST(FindUnsafeReferenceTest, RefusesAGroupInARepeatWithEmptyTurns) {
  EXPECT_THAT(ParsePythonRegex("(?:(a)?)*\\1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       EndsWith("reference to group 1, which stands in a repeat of something that "
                                "can be empty, is not supported at position 9")));
}

TEST(FindUnsafeReferenceTest, RefusesAGroupInAPossessiveRepeat) {
  EXPECT_THAT(ParsePythonRegex("b(a)?+(?(1)c)"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       EndsWith("reference to group 1, which stands in a possessive repeat, is "
                                "not supported at position 6")));
}

TEST(FindUnsafeReferenceTest, RefusesAGroupOfANegativeLookaroundOutsideOfIt) {
  EXPECT_THAT(ParsePythonRegex("(?!(a)b)(?(1)c|d)"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       EndsWith("reference to group 1, which is only set inside a negative "
                                "lookaround, is not supported at position 8")));
}

}  // namespace
}  // namespace tessera::regex
