#include "tessera/regex/rule_matcher.h"

#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/regex/python_regex.h"

namespace tessera::regex {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Match = std::optional<size_t>;

TEST(RuleMatcherTest, TheFirstRuleThatIsFoundWins) {
  const std::vector<std::string> rules = {"embed_tokens/embedding",
                                          "self_attn/(q_proj|k_proj|v_proj)/kernel",
                                          "self_attn/o_proj/kernel", ".*bias", ".*"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher matcher, RuleMatcher::Make(rules));
  EXPECT_EQ(matcher.size(), 5u);
  EXPECT_THAT(matcher.FirstMatch("model/embed_tokens/embedding"), IsOkAndHolds(Match(0)));
  EXPECT_THAT(matcher.FirstMatch("model/layers/0/self_attn/q_proj/kernel"), IsOkAndHolds(Match(1)));
  EXPECT_THAT(matcher.FirstMatch("model/layers/0/self_attn/o_proj/kernel"), IsOkAndHolds(Match(2)));
  EXPECT_THAT(matcher.FirstMatch("model/layers/0/self_attn/q_proj/bias"), IsOkAndHolds(Match(3)));
  EXPECT_THAT(matcher.FirstMatch("step"), IsOkAndHolds(Match(4)));
}

TEST(RuleMatcherTest, NoRuleMayBeFound) {
  const std::vector<std::string> rules = {"kernel", R"(\d+/bias)"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher matcher, RuleMatcher::Make(rules));
  EXPECT_THAT(matcher.FirstMatch("x/bias"), IsOkAndHolds(Match()));
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher none, RuleMatcher::Make({}));
  EXPECT_THAT(none.FirstMatch("x"), IsOkAndHolds(Match()));
  EXPECT_THAT(none.FirstMatches({}), IsOkAndHolds(IsEmpty()));
}

TEST(RuleMatcherTest, NamesTheRuleThatDoesNotCompile) {
  const std::vector<std::string> rules = {"a", "b", "c**"};
  EXPECT_THAT(RuleMatcher::Make(rules),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("rule 2: pattern 'c**': multiple repeat at position 2")));
}

TEST(RuleMatcherTest, NamesTheRuleThatBacktracksWithoutEnd) {
  const std::vector<std::string> rules = {"kernel", "(a+)+$"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher matcher, RuleMatcher::Make(rules));
  EXPECT_THAT(matcher.FirstMatch(std::string(40, 'a') + "b"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(StartsWith("rule 1: "), HasSubstr("'(a+)+$'"))));
}

TEST(RuleMatcherTest, RefusesNamesThatAreNotUtf8) {
  const std::vector<std::string> rules = {".*"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher matcher, RuleMatcher::Make(rules));
  EXPECT_THAT(matcher.FirstMatch("a\xFF"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("byte 1 is not UTF-8")));
}

TEST(RuleMatcherTest, MatchesManyNamesAsItMatchesOne) {
  const std::vector<std::string> rules = {R"(layers/\d*7/.*kernel$)", "(?!.*3)l.*bias", "bias"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher matcher, RuleMatcher::Make(rules));
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) {
    names.push_back("layers/" + std::to_string(i) + (i % 3 == 0 ? "/bias" : "/kernel"));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto matches, matcher.FirstMatches(views));
  ASSERT_EQ(matches.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_THAT(matcher.FirstMatch(names[i]), IsOkAndHolds(matches[i])) << names[i];
  }
}

TEST(RuleMatcherTest, TheErrorOfTheFirstNameIsTheErrorOfAll) {
  const std::vector<std::string> rules = {"kernel"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher matcher, RuleMatcher::Make(rules));
  std::vector<std::string> names(20000, "a/kernel");
  names[7000] = "first\xFF";
  for (size_t i = 9000; i < names.size(); i += 500) names[i] = "later\xFF";
  const std::vector<std::string_view> views(names.begin(), names.end());
  for (int round = 0; round < 20; ++round) {
    EXPECT_THAT(matcher.FirstMatches(views),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(R"('first\xff')")));
  }
}

TEST(RuleMatcherTest, WorksWithMoreLiteralsThanFitItsTable) {
  std::vector<std::string> rules;
  for (int i = 0; i < 1000; ++i) rules.push_back("x" + std::to_string(i) + std::string(100, 'y'));
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher matcher, RuleMatcher::Make(rules));
  EXPECT_THAT(matcher.FirstMatch(rules[3]), IsOkAndHolds(Match(3)));
  EXPECT_THAT(matcher.FirstMatch(rules[999]), IsOkAndHolds(Match(999)));
  EXPECT_THAT(matcher.FirstMatch("x1000"), IsOkAndHolds(Match()));
}

// What RuleMatcher stands for.
absl::StatusOr<Match> PlainLoop(const std::vector<PythonRegex>& regexes, std::string_view name) {
  for (size_t i = 0; i < regexes.size(); ++i) {
    const auto found = regexes[i].Search(name);
    if (!found.ok()) return found.status();
    if (*found) return i;
  }
  return std::nullopt;
}

void ExpectLikeThePlainLoop(const std::vector<std::string>& rules,
                            const std::vector<std::string>& names) {
  std::vector<PythonRegex> regexes;
  for (const std::string& rule : rules) regexes.push_back(PythonRegex::Compile(rule).value());
  TESSERA_ASSERT_OK_AND_ASSIGN(const RuleMatcher matcher, RuleMatcher::Make(rules));
  for (const std::string& name : names) {
    const auto expected = PlainLoop(regexes, name);
    // Where the loop gives up on a pattern the matcher may know without searching.
    if (!expected.ok()) continue;
    ASSERT_THAT(matcher.FirstMatch(name), IsOkAndHolds(*expected)) << name;
  }
}

TEST(RuleMatcherTest, EqualsThePlainLoopOnTheOraclesPatterns) {
  std::ifstream file(std::string(TESSERA_TESTDATA) + "/regex/cases.json");
  const auto data = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  const std::vector<std::string> subjects = data["subjects"];
  std::vector<std::string> rules;
  for (const auto& item : data["cases"]) {
    const std::string pattern = item["pattern"];
    if (!PythonRegex::Compile(pattern).ok()) continue;
    ExpectLikeThePlainLoop({pattern}, subjects);
    rules.push_back(pattern);
    if (rules.size() < 5) continue;
    ExpectLikeThePlainLoop(rules, subjects);
    rules.clear();
  }
}

// Pieces from which random rules and names are put together.
const std::vector<std::string> kRulePieces = {
    "kernel",        "attn/",   "(q|k|v)_proj", ".*",         "\\d+",      "^",        "$",
    "(?:/.*)?",      "norm",    "[12]",         "(?!.*bias)", "(?i:NORM)", "(?:.*/)?", "a?",
    "(w|)",          "(?=.*q)", "x+",           "\n",         "\xC3\xA9",  "(?s:.)",   "(?>q|q_)",
    "l{2}",          "(?<=/)k", "[^/]+",        "q_*+",       "\\w",       "(?m:^)",   "(?:k|kk)",
    "(b)?(?(1)i|k)", "b{1,2}",  "\\Z",          "(?:a|b.c)+"};
const std::vector<std::string> kNamePieces = {
    "kernel",   "attn/", "q_proj", "k_proj", "v", "norm", "1", "2",
    "bias",     "NORM",  "/",      "a",      "w", "q",    "x", "\n",
    "\xC3\xA9", "l",     "ll",     "b",      "c", "\r",   "_", "\xE2\x80\xA2"};

std::string Join(const std::vector<std::string>& pieces, const std::vector<size_t>& chosen) {
  std::string text;
  for (size_t i : chosen) text += pieces[i % pieces.size()];
  return text;
}

RC_GTEST_PROP(RuleMatcherTest, EqualsThePlainLoopOnRandomRules, ()) {
  const auto indices = rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, 1000));
  const auto lists =
      rc::gen::container<std::vector<std::vector<size_t>>>(rc::gen::resize(6, indices));
  std::vector<std::string> rules;
  for (const auto& chosen : *rc::gen::resize(8, lists)) {
    std::string rule = Join(kRulePieces, chosen);
    if (PythonRegex::Compile(rule).ok()) rules.push_back(std::move(rule));
  }
  std::vector<std::string> names;
  for (const auto& chosen : *rc::gen::resize(20, lists)) names.push_back(Join(kNamePieces, chosen));
  ExpectLikeThePlainLoop(rules, names);
}

}  // namespace
}  // namespace tessera::regex
