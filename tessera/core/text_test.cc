#include "tessera/core/text.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tessera/core/utf8.h"

namespace tessera {
namespace {

TEST(Utf8Test, EveryCodePointReadsBackAsItWasWritten) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(c, text);
    ASSERT_TRUE(IsValidUtf8(text)) << static_cast<uint32_t>(c);
    ASSERT_EQ(DecodeUtf8(text), std::u32string(1, c)) << static_cast<uint32_t>(c);
  }
}

TEST(Utf8Test, AsciiHasNoHighBit) {
  EXPECT_TRUE(IsAscii(""));
  EXPECT_TRUE(IsAscii(std::string("model/\0\x7F", 8)));
  EXPECT_FALSE(IsAscii("twelve bytes\xC3\xA9"));
}

TEST(QuotedTest, ShowsWhatIsNotText) {
  EXPECT_EQ(Quoted("a/b"), "'a/b'");
  EXPECT_EQ(Quoted("a\nb\xFF\x7F"), R"('a\x0ab\xff\x7f')");
  EXPECT_EQ(Quoted("\xC3\xA9"), "'\xC3\xA9'");
}

TEST(QuotedTest, CutsLongText) {
  EXPECT_EQ(Quoted(std::string(300, 'a')), "'" + std::string(200, 'a') + "'...");
}

}  // namespace
}  // namespace tessera
