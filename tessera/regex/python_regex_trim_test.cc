#include "tessera/regex/python_regex_trim.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/regex/python_regex_translate.h"

namespace tessera::regex {
namespace {

std::string Trimmed(std::string_view pattern) {
  const auto syntax = ParsePythonRegex(pattern);
  return syntax.ok() ? TranslateToPcre2(TrimForSearch(*syntax))
                     : std::string(syntax.status().message());
}

TEST(TrimForSearchTest, DropsWhatCanMatchNothingAtBothEnds) {
  EXPECT_EQ(Trimmed(".*norm.*"), "norm");
  EXPECT_EQ(Trimmed("(?:.*/)?a?b(c|)(d*e*)"), "b");
  EXPECT_EQ(Trimmed("(?:a*){3}b|x{0,2}|c.*d"), "b||c.*d");
  EXPECT_EQ(Trimmed(".*"), "");
}

TEST(TrimForSearchTest, KeepsWhatDecides) {
  EXPECT_EQ(Trimmed("^.*a.*$"), R"(\A.*a.*\Z)");
  EXPECT_EQ(Trimmed("a*+ab"), "a*+ab");
  EXPECT_EQ(Trimmed("(?>a|)ab"), "(?>a|)ab");
  EXPECT_EQ(Trimmed("(?=a)b*"), "(?=a)");
  EXPECT_EQ(Trimmed("(a)?b(?(1)c|d)"), "(a)?b(?(1)c|d)");
}

}  // namespace
}  // namespace tessera::regex
