#include "tessera/core/float_format.h"

#include <bit>
#include <limits>

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr DType kUpTo16Bits[] = {
    DType::kFloat4E2m1fn,   DType::kFloat6E2m3fn,      DType::kFloat6E3m2fn,
    DType::kFloat8E3m4,     DType::kFloat8E4m3fn,      DType::kFloat8E5m2,
    DType::kFloat8E4m3fnuz, DType::kFloat8E4m3b11fnuz, DType::kFloat8E5m2fnuz,
    DType::kFloat8E8m0fnu,  DType::kBfloat16,          DType::kFloat16,
};

double Decoded(DType dtype, uint64_t code) {
  return std::bit_cast<double>(DecodeFloat(FormatOf(dtype), code));
}

uint64_t Encoded(DType dtype, double value) {
  return EncodeFloat(FormatOf(dtype), std::bit_cast<uint64_t>(value));
}

TEST(FloatFormatTest, BitsAndBytesAgreeWithTheDTypeTable) {
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.kind != DTypeKind::kFloat) continue;
    const FloatFormat& format = FormatOf(info.dtype);
    const int sign_bits = format.specials == FloatSpecials::kScale ? 0 : 1;
    EXPECT_EQ(format.sign_shift() + sign_bits, info.bits) << info.name;
    EXPECT_EQ(format.bytes(), info.bytes) << info.name;
  }
}

TEST(FloatFormatTest, LargestNumbersAreTheKnownOnes) {
  const auto largest = [](DType dtype) { return Decoded(dtype, FormatOf(dtype).max_finite()); };
  EXPECT_EQ(largest(DType::kFloat4E2m1fn), 6);
  EXPECT_EQ(largest(DType::kFloat6E2m3fn), 7.5);
  EXPECT_EQ(largest(DType::kFloat6E3m2fn), 28);
  EXPECT_EQ(largest(DType::kFloat8E3m4), 15.5);
  EXPECT_EQ(largest(DType::kFloat8E4m3fn), 448);
  EXPECT_EQ(largest(DType::kFloat8E5m2), 57344);
  EXPECT_EQ(largest(DType::kFloat8E4m3b11fnuz), 30);
  EXPECT_EQ(largest(DType::kFloat8E4m3fnuz), 240);
  EXPECT_EQ(largest(DType::kFloat8E5m2fnuz), 57344);
  EXPECT_EQ(largest(DType::kFloat8E8m0fnu), 0x1p127);
  EXPECT_EQ(largest(DType::kBfloat16), 0x1.FEp127);
  EXPECT_EQ(largest(DType::kFloat16), 65504);
  EXPECT_EQ(largest(DType::kFloat32), std::numeric_limits<float>::max());
  EXPECT_EQ(largest(DType::kFloat64), std::numeric_limits<double>::max());
}

TEST(FloatFormatTest, EveryNumberSurvivesDecodeAndEncode) {
  for (DType dtype : kUpTo16Bits) {
    const FloatFormat& format = FormatOf(dtype);
    for (uint64_t code = 0; code < uint64_t{1} << InfoOf(dtype).bits; ++code) {
      if (format.IsNan(code)) continue;
      ASSERT_EQ(EncodeFloat(format, DecodeFloat(format, code)), code) << DTypeName(dtype);
    }
  }
}

TEST(FloatFormatTest, EveryNanBecomesTheCanonicalOneOfItsSign) {
  for (DType dtype : kUpTo16Bits) {
    const FloatFormat& format = FormatOf(dtype);
    for (uint64_t code = 0; code < uint64_t{1} << InfoOf(dtype).bits; ++code) {
      if (!format.IsNan(code)) continue;
      const bool negative = code >> format.sign_shift() != 0;
      ASSERT_EQ(DecodeFloat(format, code), negative ? 0xFFF8000000000000 : 0x7FF8000000000000)
          << DTypeName(dtype) << " code " << code;
    }
  }
}

TEST(FloatFormatTest, NanCodesAreThoseOfMlDtypes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Encoded(DType::kFloat8E3m4, nan), 0x78u);
  EXPECT_EQ(Encoded(DType::kFloat8E4m3fn, nan), 0x7Fu);
  EXPECT_EQ(Encoded(DType::kFloat8E4m3fn, -nan), 0xFFu);
  EXPECT_EQ(Encoded(DType::kFloat8E4m3fnuz, nan), 0x80u);
  EXPECT_EQ(Encoded(DType::kFloat8E4m3fnuz, -nan), 0x80u);
  EXPECT_EQ(Encoded(DType::kFloat8E4m3b11fnuz, nan), 0x80u);
  EXPECT_EQ(Encoded(DType::kFloat8E5m2, nan), 0x7Eu);
  EXPECT_EQ(Encoded(DType::kFloat8E5m2fnuz, nan), 0x80u);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, nan), 0xFFu);
  EXPECT_EQ(Encoded(DType::kBfloat16, -nan), 0xFFC0u);
  EXPECT_EQ(Encoded(DType::kFloat16, nan), 0x7E00u);
  EXPECT_EQ(Encoded(DType::kFloat32, nan), 0x7FC00000u);
  EXPECT_EQ(Encoded(DType::kFloat64, nan), 0x7FF8000000000000u);
}

TEST(FloatFormatTest, ATypeWithoutNanTurnsItIntoAZeroOfTheOppositeSign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Encoded(DType::kFloat4E2m1fn, nan), 0x8u);
  EXPECT_EQ(Encoded(DType::kFloat4E2m1fn, -nan), 0x0u);
  EXPECT_EQ(Encoded(DType::kFloat6E2m3fn, nan), 0x20u);
  EXPECT_EQ(Encoded(DType::kFloat6E3m2fn, -nan), 0x0u);
}

TEST(FloatFormatTest, OverflowFollowsWhatTheTypeHas) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (double huge : {1e300, infinity}) {
    EXPECT_EQ(Encoded(DType::kFloat16, -huge), 0xFC00u);
    EXPECT_EQ(Encoded(DType::kFloat8E5m2, huge), 0x7Cu);
    EXPECT_EQ(Encoded(DType::kFloat8E4m3fn, -huge), 0xFFu);
    EXPECT_EQ(Encoded(DType::kFloat8E5m2fnuz, -huge), 0x80u);
    EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, huge), 0xFFu);
    EXPECT_EQ(Encoded(DType::kFloat4E2m1fn, -huge), 0xFu);
  }
  EXPECT_EQ(Encoded(DType::kFloat8E4m3fn, 464), 0x7Eu);  // a tie, to the even code of 448
  EXPECT_EQ(Encoded(DType::kFloat16, 65520), 0x7C00u);   // a tie, away from an odd code
}

TEST(FloatFormatTest, RoundsOnceWhereFloat32WouldMakeATie) {
  const double just_above = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(Encoded(DType::kBfloat16, just_above), 0x3F81u);
  EXPECT_EQ(Encoded(DType::kBfloat16, static_cast<float>(just_above)), 0x3F80u);
}

TEST(FloatFormatTest, FnuzTypesHaveNoNegativeZero) {
  EXPECT_EQ(Encoded(DType::kFloat8E4m3fnuz, -0.0), 0x00u);
  EXPECT_EQ(Encoded(DType::kFloat8E4m3fnuz, -1e-30), 0x00u);
  EXPECT_EQ(Encoded(DType::kFloat8E4m3fn, -1e-30), 0x80u);
}

TEST(FloatFormatTest, ScaleTypeTakesPositiveNumbersOnly) {
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, 0.0), 0xFFu);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, -1.0), 0xFFu);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, 1.0), 127u);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, 1.5), 128u);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, 3.0), 129u);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, 2.9), 128u);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, 5e-324), 0u);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, 0x1.2p-127), 1u);
  EXPECT_EQ(Encoded(DType::kFloat8E8m0fnu, 0x1.8p127), 0xFFu);
}

TEST(FloatFormatTest, StrayHighBitsOfAByteCountAsTheSign) {
  EXPECT_EQ(Decoded(DType::kFloat4E2m1fn, 0x11), -0.5);
  EXPECT_EQ(Decoded(DType::kFloat6E2m3fn, 0x41), -0.125);
}

}  // namespace
}  // namespace tessera
