#include "tessera/inspect/number.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tessera/core/float_format.h"

namespace tessera::inspect {
namespace {

TEST(FloatTextTest, IsThatOfPython) {
  EXPECT_EQ(FloatText(0.1, DType::kFloat64), "0.1");
  EXPECT_EQ(FloatText(static_cast<double>(0.1F), DType::kFloat32), "0.1");
  EXPECT_EQ(FloatText(static_cast<double>(0.1F), DType::kFloat64), "0.10000000149011612");
  EXPECT_EQ(FloatText(0, DType::kFloat64), "0.0");
  EXPECT_EQ(FloatText(-0.0, DType::kFloat64), "-0.0");
  EXPECT_EQ(FloatText(1e16, DType::kFloat64), "1e+16");
  EXPECT_EQ(FloatText(123456789012345.0, DType::kFloat64), "123456789012345.0");
  EXPECT_EQ(FloatText(0.0001, DType::kFloat64), "0.0001");
  EXPECT_EQ(FloatText(0.000015, DType::kFloat64), "1.5e-05");
  EXPECT_EQ(FloatText(-1.5e300, DType::kFloat64), "-1.5e+300");
  EXPECT_EQ(FloatText(100, DType::kFloat64), "100.0");
  EXPECT_EQ(FloatText(-HUGE_VAL, DType::kFloat64), "-inf");
  EXPECT_EQ(FloatText(std::nan(""), DType::kFloat64), "nan");
}

TEST(FloatTextTest, IsShortForNarrowTypes) {
  EXPECT_EQ(FloatText(0.10009765625, DType::kBfloat16), "0.1");
  EXPECT_EQ(FloatText(65504, DType::kFloat16), "65500.0");
  EXPECT_EQ(FloatText(0.1015625, DType::kFloat8E4m3fn), "0.1");
}

TEST(FloatTextTest, IsReadBackAsTheSameElementOfEveryNarrowType) {
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.kind != DTypeKind::kFloat || info.bytes > 2) continue;
    const FloatFormat& format = FormatOf(info.dtype);
    for (uint64_t code = 0; code < uint64_t{1} << info.bits; ++code) {
      const double value = std::bit_cast<double>(DecodeFloat(format, code));
      if (!std::isfinite(value)) continue;
      const double back = std::strtod(FloatText(value, info.dtype).c_str(), nullptr);
      ASSERT_EQ(EncodeFloat(format, std::bit_cast<uint64_t>(back)), code) << info.name;
    }
  }
}

RC_GTEST_PROP(FloatTextTest, IsReadBackAsTheSameDouble, ()) {
  const auto value = std::bit_cast<double>(*rc::gen::arbitrary<uint64_t>());
  RC_PRE(std::isfinite(value));
  RC_ASSERT(std::strtod(FloatText(value, DType::kFloat64).c_str(), nullptr) == value);
}

TEST(NumberAtTest, ReadsIntegersByTheirBits) {
  const std::byte ones{0x0F};
  EXPECT_EQ(NumberAt(DType::kInt4, &ones), Number(int64_t{-1}));
  EXPECT_EQ(NumberAt(DType::kUint4, &ones), Number(uint64_t{15}));
  EXPECT_EQ(NumberAt(DType::kInt8, &ones), Number(int64_t{15}));
  EXPECT_EQ(NumberAt(DType::kBool, &ones), Number(int64_t{1}));
}

TEST(JsonTextTest, QuotesWhatJsonLacks) {
  EXPECT_EQ(JsonText(Number(std::nan("")), DType::kFloat32), "\"NaN\"");
  EXPECT_EQ(JsonText(Number(-HUGE_VAL), DType::kFloat32), "\"-Infinity\"");
  EXPECT_EQ(JsonText(Number(uint64_t{7}), DType::kUint8), "7");
  EXPECT_EQ(JsonText(Number(0.5), DType::kFloat32), "0.5");
}

}  // namespace
}  // namespace tessera::inspect
