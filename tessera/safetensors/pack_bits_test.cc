#include "tessera/safetensors/pack_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tessera::safetensors {
namespace {

using ::testing::ElementsAre;

std::vector<std::byte> BytesOf(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<std::byte> Packed(const std::vector<std::byte>& elements, int bits) {
  std::vector<std::byte> stream((elements.size() * static_cast<size_t>(bits) + 7) / 8,
                                std::byte{0xff});
  PackBits(elements, bits, stream);
  return stream;
}

TEST(PackBitsTest, TheFirstElementHasTheLowestBits) {
  EXPECT_EQ(Packed(BytesOf({0x1, 0x2, 0xf, 0x0}), 4), BytesOf({0x21, 0x0f}));
  // 000001, 000010, 111111, 100000
  EXPECT_EQ(Packed(BytesOf({0x01, 0x02, 0x3f, 0x20}), 6), BytesOf({0x81, 0xf0, 0x83}));
}

TEST(PackBitsTest, HighBitsAreLeftOutAndLeftOverBitsAreZero) {
  EXPECT_EQ(Packed(BytesOf({0xf1}), 4), BytesOf({0x01}));
  EXPECT_EQ(Packed(BytesOf({0xff}), 6), BytesOf({0x3f}));
  EXPECT_EQ(Packed({}, 4), BytesOf({}));
}

TEST(UnpackBitsTest, GivesBackWhatWasPackedFromAnyElementOn) {
  std::mt19937 random(7);
  for (const int bits : {1, 2, 3, 4, 5, 6, 7}) {
    for (size_t count = 0; count < 40; ++count) {
      std::vector<std::byte> elements(count);
      for (std::byte& element : elements) element = static_cast<std::byte>(random() % (1u << bits));
      const std::vector<std::byte> stream = Packed(elements, bits);
      for (size_t first = 0; first <= count; ++first) {
        std::vector<std::byte> found(count - first);
        UnpackBits(stream, bits, first, found);
        const std::vector<std::byte> expected(elements.begin() + static_cast<std::ptrdiff_t>(first),
                                              elements.end());
        ASSERT_EQ(found, expected) << bits << " bits, " << count << " from " << first;
      }
    }
  }
}

TEST(UnpackBitsTest, ReadsNothingPastTheStream) {
  const std::vector<std::byte> stream = BytesOf({0x81, 0xf0, 0x83});
  std::vector<std::byte> last(1);
  UnpackBits(stream, 6, 3, last);
  EXPECT_THAT(last, ElementsAre(std::byte{0x20}));
}

}  // namespace
}  // namespace tessera::safetensors
