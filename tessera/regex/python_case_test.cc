#include "tessera/regex/python_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::regex {
namespace {

using ::testing::ElementsAre;

std::vector<CodePointRange> VariantsOf(char32_t low, char32_t high) {
  CodePointSet set;
  AddCaseVariants(low, high, set);
  return set.Ranges();
}

TEST(AddCaseVariantsTest, AddsPairsAndLargerClasses) {
  EXPECT_THAT(VariantsOf(U'/', U'/'), ElementsAre(CodePointRange{U'/', U'/'}));
  EXPECT_THAT(VariantsOf(U'a', U'a'),
              ElementsAre(CodePointRange{U'A', U'A'}, CodePointRange{U'a', U'a'}));
  EXPECT_THAT(VariantsOf(U'I', U'I'),
              ElementsAre(CodePointRange{U'I', U'I'}, CodePointRange{U'i', U'i'},
                          CodePointRange{0x130, 0x131}));
}

TEST(AddCaseVariantsTest, AddsTheVariantsOfARange) {
  EXPECT_THAT(VariantsOf(U'j', U'l'),
              ElementsAre(CodePointRange{U'J', U'L'}, CodePointRange{U'j', U'l'},
                          CodePointRange{0x212A, 0x212A}));
  EXPECT_THAT(VariantsOf(0x10428, 0x1042A),
              ElementsAre(CodePointRange{0x10400, 0x10402}, CodePointRange{0x10428, 0x1042A}));
}

TEST(IsAstralCapitalTest, IsTheUpperHalfOfAPairAboveTheBasicPlane) {
  EXPECT_TRUE(IsAstralCapital(0x10400));
  EXPECT_FALSE(IsAstralCapital(0x10428));
  EXPECT_FALSE(IsAstralCapital(U'A'));
  EXPECT_FALSE(IsAstralCapital(0x1F600));
}

}  // namespace
}  // namespace tessera::regex
