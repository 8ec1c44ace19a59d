#include "tessera/regex/python_regex_translate.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::regex {
namespace {

std::string Translated(std::string_view pattern) {
  const auto syntax = ParsePythonRegex(pattern);
  return syntax.ok() ? TranslateToPcre2(*syntax) : std::string(syntax.status().message());
}

TEST(TranslateToPcre2Test, WritesTextAndEscapesPlainly) {
  EXPECT_EQ(Translated("layers/1_a"), "layers/1_a");
  EXPECT_EQ(Translated(R"(\.\x41\u00e9\101\0)"), R"(\x{2e}A\x{e9}A\x{0})");
  EXPECT_EQ(Translated("a{,3}{}{x"), R"(a{0,3}\x{7b}\x{7d}\x{7b}x)");
  EXPECT_EQ(Translated("(?x) a b # c\n d\\ "), R"(abd\x{20})");
}

TEST(TranslateToPcre2Test, WritesSetsAsSortedRanges) {
  EXPECT_EQ(Translated("[]ab-d]"), R"([\x{5d}a-d])");
  EXPECT_EQ(Translated("[[:alpha:]]"), R"([\x{3a}\x{5b}ahlp]\x{5d})");
  EXPECT_EQ(Translated(R"([^\d-])"), R"([^\x{2d}\p{Nd}])");
  EXPECT_EQ(Translated(R"([\ud800])"), R"([^\x{0}-\x{10ffff}])");
  EXPECT_EQ(Translated(R"([^\ud800])"), "(?s:.)");
  EXPECT_EQ(Translated(R"((?a)\w\s)"), R"([0-9A-Z_a-z][\x{9}-\x{d}\x{20}])");
}

TEST(TranslateToPcre2Test, SpellsOutCase) {
  EXPECT_EQ(Translated("(?i)ab1"), "[Aa][Bb]1");
  EXPECT_EQ(Translated("(?i:k)k"), R"((?:[Kk\x{212a}])k)");
  EXPECT_EQ(Translated("(?ai)k"), "[Kk]");
  EXPECT_EQ(Translated("(?i)(a)\\1"), R"(([Aa])(?i:\g{1}))");
}

TEST(TranslateToPcre2Test, SpellsOutAnchors) {
  EXPECT_EQ(Translated(R"(^a$\A\Z)"), R"(\Aa\Z\A\z)");
  EXPECT_EQ(Translated("(?m)^a$"), R"((?<![^\n])a(?![^\n]))");
  EXPECT_EQ(Translated(R"((?a)\b)"),
            "(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))");
}

TEST(TranslateToPcre2Test, KeepsRepeatsAndGroups) {
  EXPECT_EQ(Translated("a*b+?c?+d{2}e{2,}f{1,2}?"), "a*b+?c?+d{2,2}e{2,}f{1,2}?");
  EXPECT_EQ(Translated("(?P<n>a|)(?:b)(?>c)(?=d)(?!e)(?<=f)(?<!g)(?P=n)(?(n)h|i)"),
            R"((a|)(?:b)(?>c)(?=d)(?!e)(?<=f)(?<!g)\g{1}(?(1)h|i))");
  EXPECT_EQ(Translated("(?s).*.+?"), "(?s:.*)(?s:.+?)");
  EXPECT_EQ(Translated("(?=a)*"), "(?:(?=a))*");
}

TEST(TranslateToPcre2Test, MakesEachTurnOfAPossessiveRepeatAtomic) {
  EXPECT_EQ(Translated("(?:a+){2}+"), "(?>(?:a+)){2,2}+");
}

}  // namespace
}  // namespace tessera::regex
