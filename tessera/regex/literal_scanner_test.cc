#include "tessera/regex/literal_scanner.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::regex {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<size_t> Found(const std::vector<std::string>& literals, std::string_view subject) {
  const LiteralScanner scanner(literals);
  std::vector<uint64_t> words(literals.size() / 64 + 1, 0);
  scanner.Scan(subject, words);
  std::vector<size_t> found;
  for (size_t i = 0; i < literals.size(); ++i) {
    if ((words[i / 64] >> (i % 64) & 1) != 0) found.push_back(i);
  }
  return found;
}

TEST(LiteralScannerTest, FindsLiteralsInsideOneAnother) {
  const std::vector<std::string> literals = {"he", "she", "his", "hers", "e"};
  EXPECT_THAT(Found(literals, "ushers"), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(Found(literals, "his"), ElementsAre(2));
  EXPECT_THAT(Found(literals, "xyz"), IsEmpty());
  EXPECT_THAT(Found(literals, ""), IsEmpty());
}

TEST(LiteralScannerTest, NoLiteralsFindNothing) { EXPECT_THAT(Found({}, "abc"), IsEmpty()); }

TEST(LiteralScannerTest, AgreesWithASearchForEachLiteral) {
  std::mt19937 random(7);
  const auto text = [&](size_t longest) {
    std::string text(1 + random() % longest, 'a');
    for (char& c : text) c = "abc\xC3\xA9"[random() % 5];
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::set<std::string> distinct;
    for (int i = 0; i < 100; ++i) distinct.insert(text(5));
    const std::vector<std::string> literals(distinct.begin(), distinct.end());
    const std::string subject = text(40);
    std::vector<size_t> expected;
    for (size_t i = 0; i < literals.size(); ++i) {
      if (subject.find(literals[i]) != std::string::npos) expected.push_back(i);
    }
    ASSERT_EQ(Found(literals, subject), expected) << subject;
  }
}

}  // namespace
}  // namespace tessera::regex
