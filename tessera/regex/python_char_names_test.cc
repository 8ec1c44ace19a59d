#include "tessera/regex/python_char_names.h"

#include <gtest/gtest.h>

namespace tessera::regex {
namespace {

TEST(CharacterNamedTest, KnowsTheFirstAndLastOfItsBlocks) {
  EXPECT_EQ(CharacterNamed("SPACE"), U' ');
  EXPECT_EQ(CharacterNamed("TILDE"), U'~');
  EXPECT_EQ(CharacterNamed("NO-BREAK SPACE"), U'\u00A0');
  EXPECT_EQ(CharacterNamed("LATIN SMALL LETTER LONG S"), U'\u017F');
  EXPECT_EQ(CharacterNamed("GREEK SMALL LETTER ALPHA"), U'\u03B1');
  EXPECT_EQ(CharacterNamed("BULLET"), U'\u2022');
  EXPECT_EQ(CharacterNamed("EURO SIGN"), U'\u20AC');
  EXPECT_EQ(CharacterNamed("RIGHTWARDS ARROW"), U'\u2192');
  EXPECT_EQ(CharacterNamed("Z NOTATION BAG MEMBERSHIP"), U'\u22FF');
  EXPECT_EQ(CharacterNamed("LOWER RIGHT TRIANGLE"), U'\u25FF');
}

TEST(CharacterNamedTest, TakesAliasesAndEitherCase) {
  EXPECT_EQ(CharacterNamed("LINE FEED"), U'\n');
  EXPECT_EQ(CharacterNamed("byte order mark"), U'\uFEFF');
  EXPECT_EQ(CharacterNamed("Latin Small Letter E With Acute"), U'\u00E9');
}

TEST(CharacterNamedTest, GivesNothingForOtherNames) {
  EXPECT_EQ(CharacterNamed(""), std::nullopt);
  EXPECT_EQ(CharacterNamed("NO SUCH NAME"), std::nullopt);
  EXPECT_EQ(CharacterNamed("SPACE;EXCLAMATION MARK"), std::nullopt);
  EXPECT_EQ(CharacterNamed("BULL"), std::nullopt);
}

}  // namespace
}  // namespace tessera::regex
