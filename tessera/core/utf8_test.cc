#include "tessera/core/utf8.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::string_view_literals;

// The generic form of UTF-8, blind to which code points are allowed.
std::string Encode(uint32_t code_point, int length) {
  static constexpr uint8_t kLeadMark[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
  std::string bytes(static_cast<size_t>(length), '\0');
  for (int i = length - 1; i > 0; --i, code_point >>= 6) {
    bytes[static_cast<size_t>(i)] = static_cast<char>(0x80 | (code_point & 0x3F));
  }
  bytes[0] = static_cast<char>(kLeadMark[length] | code_point);
  return bytes;
}

int ShortestLength(uint32_t code_point) {
  if (code_point < 0x80) return 1;
  if (code_point < 0x800) return 2;
  return code_point < 0x10000 ? 3 : 4;
}

TEST(Utf8Test, AcceptsEveryCodePointInItsShortestFormOnly) {
  for (uint32_t code_point = 0; code_point < 0x200000; ++code_point) {
    const bool allowed = code_point < 0xD800 || (code_point > 0xDFFF && code_point <= 0x10FFFF);
    const int shortest = ShortestLength(code_point);
    for (int length = shortest; length <= 4; ++length) {
      ASSERT_EQ(IsValidUtf8(Encode(code_point, length)), allowed && length == shortest)
          << std::hex << code_point << " in " << length << " bytes";
    }
  }
}

TEST(Utf8Test, TellsWhereTheFirstBadSequenceBegins) {
  EXPECT_EQ(FirstInvalidUtf8(""), std::nullopt);
  EXPECT_EQ(FirstInvalidUtf8("a\0b"sv), std::nullopt);
  EXPECT_EQ(FirstInvalidUtf8("plain text that is longer than a word"), std::nullopt);
  EXPECT_EQ(FirstInvalidUtf8("sixteen bytes ok\xFF"), 16u);
  EXPECT_EQ(FirstInvalidUtf8("eight ok\xC3\xA9\x80"), 10u);
  EXPECT_EQ(FirstInvalidUtf8("\x80"), 0u);
  EXPECT_EQ(FirstInvalidUtf8("ab\xE2\x82"), 2u);
  EXPECT_EQ(FirstInvalidUtf8("\xE2\x82\xAC\xE2\x28\xA1"), 3u);
}

TEST(Utf8Test, RejectsEveryTruncationOfASequence) {
  for (const std::string_view whole : {"\xC3\xA9"sv, "\xE2\x82\xAC"sv, "\xF0\x9F\x8C\xB3"sv}) {
    EXPECT_EQ(Utf8SequenceLength(whole), whole.size());
    for (size_t size = 1; size < whole.size(); ++size) {
      EXPECT_EQ(FirstInvalidUtf8(whole.substr(0, size)), 0u);
    }
  }
}

TEST(Utf8Test, RejectsBytesThatNeverOccur) {
  for (const int byte : {0xC0, 0xC1, 0xF5, 0xF8, 0xFE, 0xFF}) {
    EXPECT_EQ(FirstInvalidUtf8(std::string{'x', static_cast<char>(byte), '\x80'}), 1u) << byte;
  }
}

TEST(Utf8Test, SequenceLengthOfNothingIsZero) { EXPECT_EQ(Utf8SequenceLength(""), 0u); }

}  // namespace
}  // namespace tessera
