#include "tessera/regex/rule_filter.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/regex/python_regex_trim.h"

namespace tessera::regex {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

RuleFilter Filter(std::string_view pattern) {
  return FilterOf(TrimForSearch(ParsePythonRegex(pattern).value()));
}

TEST(FilterOfTest, APatternThatCanMatchNothingFindsEverything) {
  for (std::string_view pattern : {"", ".*", "a*b?", "x|", "x|y*", "(?:a|)", "(.*)", "[ab]{0}"}) {
    EXPECT_TRUE(Filter(pattern).finds_everything) << pattern;
  }
  for (std::string_view pattern : {"a", "^", "^.*$", ".+", "a*+", "(?=)", R"(\b)", "(a)?\\1"}) {
    EXPECT_FALSE(Filter(pattern).finds_everything) << pattern;
  }
}

TEST(FilterOfTest, TextAndChoicesOfTextDecide) {
  EXPECT_TRUE(Filter("lm_head/kernel").is_exact);
  EXPECT_THAT(Filter("lm_head/kernel").required, ElementsAre(ElementsAre("lm_head/kernel")));
  const RuleFilter choice = Filter(".*attn/(q|k[12]?)/w.*");
  EXPECT_TRUE(choice.is_exact);
  EXPECT_THAT(choice.required,
              ElementsAre(UnorderedElementsAre("attn/q/w", "attn/k1/w", "attn/k2/w", "attn/k/w")));
  EXPECT_TRUE(Filter("a|b|.*cd").is_exact);
  EXPECT_THAT(Filter("(?:ab){2}").required, ElementsAre(ElementsAre("abab")));
}

TEST(FilterOfTest, KeepsThePartsThatAreSure) {
  const RuleFilter filter = Filter(R"(^(?:.*/)?layers/\d+/(q|k)_proj(?:/.*)?$)");
  EXPECT_FALSE(filter.is_exact);
  EXPECT_THAT(filter.required,
              ElementsAre(ElementsAre("layers/"), ElementsAre("/q_proj", "/k_proj")));
  EXPECT_THAT(Filter("(?=.*q)x.k").required,
              UnorderedElementsAre(ElementsAre("q"), ElementsAre("x"), ElementsAre("k")));
  EXPECT_THAT(Filter("(?:ab.c|d.ef)+").required, ElementsAre(ElementsAre("ab", "ef")));
}

TEST(FilterOfTest, PromisesNothingItCannotKnow) {
  for (std::string_view pattern : {R"(\d+)", ".", "a*+", "(?!ab).", "(?:a|.)", R"(^(b)?(?(1)c|d))",
                                   "[^a]", "(?i)[a-z]", R"([\ud800])"}) {
    EXPECT_THAT(Filter(pattern).required, IsEmpty()) << pattern;
    EXPECT_FALSE(Filter(pattern).is_exact) << pattern;
  }
}

TEST(FilterOfTest, WhatIsNotGivenBackIsNotExact) {
  EXPECT_FALSE(Filter("(?>a|ab)c").is_exact);
  EXPECT_FALSE(Filter("a?+b").is_exact);
  EXPECT_FALSE(Filter("(?:a|ab){2}+c").is_exact);
  EXPECT_FALSE(Filter("^a").is_exact);
  EXPECT_FALSE(Filter("(a)b(?(1)c|d)").is_exact);
}

TEST(FilterOfTest, CutsWhatIsTooLongOrTooMany) {
  const RuleFilter longer = Filter(std::string(1000, 'x'));
  EXPECT_FALSE(longer.is_exact);
  EXPECT_THAT(longer.required.front(), ElementsAre(std::string(128, 'x')));
  EXPECT_FALSE(Filter("[0-9][0-9][0-9]").is_exact);
}

}  // namespace
}  // namespace tessera::regex
