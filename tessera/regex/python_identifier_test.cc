#include "tessera/regex/python_identifier.h"

#include <gtest/gtest.h>

namespace tessera::regex {
namespace {

TEST(IsPythonIdentifierTest, TakesLettersDigitsAndUnderscore) {
  EXPECT_TRUE(IsPythonIdentifier("layer_1"));
  EXPECT_TRUE(IsPythonIdentifier("_"));
  EXPECT_TRUE(IsPythonIdentifier("\xC3\xA9t\xC3\xA9"));
}

TEST(IsPythonIdentifierTest, RefusesTheRest) {
  EXPECT_FALSE(IsPythonIdentifier(""));
  EXPECT_FALSE(IsPythonIdentifier("1a"));
  EXPECT_FALSE(IsPythonIdentifier("a b"));
  EXPECT_FALSE(IsPythonIdentifier("a\n"));
  EXPECT_FALSE(IsPythonIdentifier("\xE2\x80\xA2"));
}

}  // namespace
}  // namespace tessera::regex
