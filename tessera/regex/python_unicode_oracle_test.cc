// Holds character classes, identifiers and case against what Python says of every code point.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcre2.h>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/core/text.h"
#include "tessera/regex/code_point_set.h"
#include "tessera/regex/python_case.h"
#include "tessera/regex/python_identifier.h"
#include "tessera/regex/python_regex.h"

namespace tessera::regex {
namespace {

using ::nlohmann::json;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

const json& Facts() {
  static const json facts = [] {
    std::ifstream file(std::string(TESSERA_TESTDATA) + "/regex/unicode.json");
    return json::parse(file, nullptr, /*allow_exceptions=*/false);
  }();
  return facts;
}

// Whether PCRE2 has the Unicode tables of Python 3.11.
bool SameUnicodeVersion() {
  char version[32] = {};
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
  return std::string_view(version) == "14.0.0";
}

std::string Utf8(char32_t c) {
  std::string text;
  AppendUtf8(c, text);
  return text;
}

bool IsSurrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

// Code points for which `accepts` and the ranges called `name` disagree.
template <typename Accepts>
std::vector<std::string> Disagreements(const std::string& name, const Accepts& accepts) {
  std::vector<bool> expected(kLastCodePoint + 1, false);
  for (const json& range : Facts()[name]) {
    for (uint32_t c = range[0]; c <= range[1].get<uint32_t>(); ++c) expected[c] = true;
  }
  std::vector<std::string> disagreements;
  for (char32_t c = 0; c <= kLastCodePoint; ++c) {
    if (IsSurrogate(c) || accepts(Utf8(c)) == expected[c]) continue;
    disagreements.push_back(fmt::format("U+{:04X}", static_cast<uint32_t>(c)));
  }
  return disagreements;
}

std::vector<std::string> ClassDisagreements(const std::string& name, const std::string& pattern) {
  const PythonRegex regex = PythonRegex::Compile(pattern).value();
  return Disagreements(name, [&](const std::string& c) { return regex.Search(c).value(); });
}

using Names = std::vector<std::string>;

TEST(PythonUnicodeOracleTest, SpaceIsThatOfPython) {
  EXPECT_EQ(ClassDisagreements("space", R"(\s)"), Names());
  EXPECT_EQ(ClassDisagreements("space", R"([^\S])"), Names());
}

TEST(PythonUnicodeOracleTest, WordAndDigitAreThoseOfPython) {
  if (!SameUnicodeVersion()) GTEST_SKIP() << "PCRE2 has another version of Unicode";
  EXPECT_EQ(ClassDisagreements("word", R"(\w)"), Names());
  EXPECT_EQ(ClassDisagreements("word", R"([^\W])"), Names());
  EXPECT_EQ(ClassDisagreements("digit", R"(\d)"), Names());
  EXPECT_EQ(ClassDisagreements("digit", R"([^\D])"), Names());
}

TEST(PythonUnicodeOracleTest, IdentifiersAreThoseOfPython) {
  if (!SameUnicodeVersion()) GTEST_SKIP() << "PCRE2 has another version of Unicode";
  EXPECT_EQ(Disagreements("identifier_start", IsPythonIdentifier), Names());
  EXPECT_EQ(Disagreements("identifier_part",
                          [](const std::string& c) { return IsPythonIdentifier("a" + c); }),
            Names());
}

std::vector<std::vector<char32_t>> CaseClasses() {
  std::vector<std::vector<char32_t>> classes;
  for (const json& members : Facts()["ignorecase_classes"]) {
    std::vector<char32_t>& added = classes.emplace_back();
    for (const json& member : members) added.push_back(member.get<uint32_t>());
  }
  return classes;
}

TEST(PythonUnicodeOracleTest, IgnoreCaseJoinsEachClassAndNoOther) {
  const auto classes = CaseClasses();
  ASSERT_EQ(classes.size(), 1427u);
  for (size_t i = 0; i < classes.size(); ++i) {
    // Neighbours stand for all others: python_case_test looks at the sets themselves.
    std::string others;
    for (size_t k = i < 40 ? 0 : i - 40; k < std::min(i + 40, classes.size()); ++k) {
      if (k == i) continue;
      for (char32_t c : classes[k]) AppendUtf8(c, others);
    }
    for (char32_t c : classes[i]) {
      const auto regex =
          PythonRegex::Compile(fmt::format("(?i)\\U{:08x}", static_cast<uint32_t>(c)));
      if (IsAstralCapital(c)) {
        EXPECT_THAT(regex, StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("capital letter above U+FFFF")));
        continue;
      }
      TESSERA_ASSERT_OK_AND_ASSIGN(const PythonRegex compiled, regex);
      for (char32_t variant : classes[i]) {
        EXPECT_THAT(compiled.Search(Utf8(variant)), IsOkAndHolds(true));
      }
      EXPECT_THAT(compiled.Search(others), IsOkAndHolds(false));
    }
  }
}

TEST(PythonUnicodeOracleTest, CaseVariantsAreThoseOfPython) {
  std::set<char32_t> cased;
  for (const auto& members : CaseClasses()) {
    CodePointSet expected;
    for (char32_t c : members) expected.Add(c, c);
    for (char32_t c : members) {
      CodePointSet variants;
      AddCaseVariants(c, c, variants);
      EXPECT_EQ(variants.Ranges(), expected.Ranges()) << static_cast<uint32_t>(c);
      cased.insert(c);
    }
  }
  for (char32_t c = 0; c <= kLastCodePoint; c += c < 0x3000 ? 1 : 13) {
    if (IsSurrogate(c) || cased.contains(c)) continue;
    CodePointSet variants;
    AddCaseVariants(c, c, variants);
    EXPECT_EQ(variants.size(), 1u) << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace tessera::regex
