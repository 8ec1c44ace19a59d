#include "tessera/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/cli/context.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::cli {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Verb TestVerb() {
  return {.name = "paint",
          .summary = "paints",
          .positionals = {{"WALL"}},
          .options = {{.name = "--colour", .value = "C", .choices = {"red", "green"}},
                      {.name = "--layer", .value = "N", .repeats = true},
                      {.name = "--size", .value = "S"},
                      {.name = "--dry"},
                      {.name = "--output", .value = "FILE", .letter = 'o'}}};
}

absl::StatusOr<Arguments> Parse(std::vector<std::string> words) {
  return Arguments::Parse(TestVerb(), words);
}

TEST(ArgumentsTest, TakesOptionsAnywhereInBothForms) {
  const auto arguments =
      Parse({"--colour=red", "north", "--layer", "1", "-o", "x", "--layer=2", "--dry", "--json"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_EQ(arguments->Positional(0), "north");
  EXPECT_EQ(arguments->Text("--colour"), "red");
  EXPECT_THAT(arguments->Texts("--layer"), ElementsAre("1", "2"));
  EXPECT_EQ(arguments->Text("--output"), "x");
  EXPECT_TRUE(arguments->Has("--dry"));
  EXPECT_TRUE(arguments->json());
  EXPECT_FALSE(arguments->quiet());
}

TEST(ArgumentsTest, AnAbsentOptionSaysNothing) {
  const auto arguments = Parse({"north"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_EQ(arguments->Text("--colour"), std::nullopt);
  EXPECT_THAT(arguments->Texts("--layer"), IsEmpty());
  EXPECT_THAT(arguments->Size("--size"), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(arguments->Count("--size"), IsOkAndHolds(std::nullopt));
}

TEST(ArgumentsTest, AValueMayBeginWithADashAndBeEmpty) {
  const auto arguments = Parse({"north", "--output", "-", "--layer=", "--layer", "--dry"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_EQ(arguments->Text("--output"), "-");
  EXPECT_THAT(arguments->Texts("--layer"), ElementsAre("", "--dry"));
}

TEST(ArgumentsTest, NothingIsAnOptionAfterTwoDashes) {
  const auto arguments = Parse({"--dry", "--", "--layer"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_EQ(arguments->Positional(0), "--layer");
}

TEST(ArgumentsTest, SaysWhatWasProbablyMeant) {
  EXPECT_THAT(Parse({"north", "--color", "red"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has no option '--color'; did you mean '--colour'?")));
  EXPECT_THAT(Parse({"north", "--zzzzz"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("see tessera paint --help")));
  EXPECT_THAT(
      Parse({"north", "--colour", "rad"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("--colour 'rad': expected one of red, green; did you mean 'red'?")));
}

TEST(ArgumentsTest, RefusesWhatDoesNotFit) {
  const auto refuses = [](std::vector<std::string> words, const char* why) {
    EXPECT_THAT(Parse(std::move(words)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refuses({}, "tessera paint needs WALL");
  refuses({"a", "b"}, "tessera paint takes tessera paint WALL and no 'b'");
  refuses({""}, "WALL is empty");
  refuses({"a", "--layer"}, "--layer needs a value, N");
  refuses({"a", "--dry=1"}, "--dry is a flag and takes no value");
  refuses({"a", "--size", "1", "--size", "2"}, "--size is given twice");
}

TEST(ArgumentsTest, HelpNeedsNothingElse) {
  const auto arguments = Parse({"-h"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_TRUE(arguments->help());
}

TEST(ArgumentsTest, NumbersNameTheirOption) {
  EXPECT_THAT(Parse({"a", "--size", "4KiB"})->Size("--size"), IsOkAndHolds(4096));
  EXPECT_THAT(Parse({"a", "--size", "big"})->Size("--size"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--size: size 'big'")));
  EXPECT_THAT(Parse({"a", "--size", "7"})->Count("--size"), IsOkAndHolds(7));
  EXPECT_THAT(Parse({"a", "--size", "0"})->Count("--size"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--size '0': expected a number from 1 up")));
}

}  // namespace
}  // namespace tessera::cli
