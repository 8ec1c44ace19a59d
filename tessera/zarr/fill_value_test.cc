#include "tessera/zarr/fill_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "tessera/core/float_format.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Format kFormat2 = Format::kV2;
constexpr Format kFormat3 = Format::kV3;
constexpr auto kLittle = codec::Endian::kLittle;

// The bytes of a little-endian element with this code.
FillValue Element(uint64_t code, size_t size) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(code >> (8 * i)));
  return bytes;
}

FillValue Pair(uint64_t real, uint64_t imaginary, size_t part_bytes) {
  FillValue bytes = Element(real, part_bytes);
  const FillValue second = Element(imaginary, part_bytes);
  bytes->insert(bytes->end(), second->begin(), second->end());
  return bytes;
}

absl::StatusOr<FillValue> Read(Format format, DType dtype, const std::string& json) {
  return FillValueFromJson(format, dtype, kLittle, Json::parse(json));
}

struct Form {
  Format format;
  DType dtype;
  std::string json;     // as read
  uint64_t code;        // the element
  std::string written;  // empty: as read
};

TEST(FillValueTest, EveryFormOfASingleNumberIsReadAndWrittenCanonically) {
  const Form forms[] = {
      {kFormat2, DType::kBool, "true", 1, ""},
      {kFormat3, DType::kBool, "false", 0, ""},
      {kFormat2, DType::kInt32, "-5", 0xFFFFFFFB, ""},
      {kFormat2, DType::kInt32, "5.0", 5, "5"},
      {kFormat3, DType::kUint8, "255", 255, ""},
      {kFormat3, DType::kInt64, "-9223372036854775808", 0x8000000000000000, ""},
      {kFormat2, DType::kInt64, "-9.223372036854775808e18", 0x8000000000000000,
       "-9223372036854775808"},
      {kFormat2, DType::kUint64, "18446744073709551615", ~uint64_t{0}, ""},
      {kFormat2, DType::kInt4, "7", 7, ""},
      {kFormat2, DType::kInt4, "9", 9, "-7"},
      {kFormat2, DType::kInt2, "-127", 1, "1"},
      {kFormat3, DType::kInt4, "-8", 8, ""},
      {kFormat3, DType::kInt2, "-2", 2, ""},
      {kFormat2, DType::kFloat32, "2.5", 0x40200000, ""},
      {kFormat2, DType::kFloat32, "1", 0x3F800000, "1.0"},
      {kFormat2, DType::kFloat32, "\"1.0\"", 0x3F800000, "1.0"},
      {kFormat2, DType::kFloat32, "\"-1e2\"", 0xC2C80000, "-100.0"},
      {kFormat2, DType::kFloat32, "0.1", 0x3DCCCCCD, "0.10000000149011612"},
      {kFormat2, DType::kFloat64, "1e+20", 0x4415AF1D78B58C40, ""},
      {kFormat2, DType::kFloat64, "-0.0", 0x8000000000000000, ""},
      {kFormat2, DType::kFloat16, "\"Infinity\"", 0x7C00, ""},
      {kFormat2, DType::kBfloat16, "\"-Infinity\"", 0xFF80, ""},
      {kFormat3, DType::kFloat32, "\"0x3f800000\"", 0x3F800000, "1.0"},
      {kFormat3, DType::kFloat32, "\"0x7fC00001\"", 0x7FC00001, "\"0x7fc00001\""},
      {kFormat3, DType::kFloat32, "\"0xffc00000\"", 0xFFC00000, ""},
      {kFormat3, DType::kBfloat16, "\"0x1\"", 1, "9.183549615799121e-41"},
      {kFormat3, DType::kFloat8E5m2, "\"0x7d\"", 0x7D, ""},
      {kFormat3, DType::kFloat8E4m3fn, "\"0xff\"", 0xFF, ""},
      {kFormat3, DType::kFloat8E4m3fn, "448.0", 0x7E, ""},
      {kFormat3, DType::kFloat8E8m0fnu, "0.0", 0, ""},
      {kFormat3, DType::kFloat8E8m0fnu, "1.0", 0x3F, "\"0x3f\""},
      {kFormat3, DType::kFloat8E8m0fnu, "1e-300", 0, "0.0"},
      {kFormat3, DType::kFloat8E8m0fnu, "\"0x7f\"", 0x7F, ""},
      {kFormat2, DType::kFloat8E8m0fnu, "8589934592.0", 0x60, ""},
      {kFormat3, DType::kFloat4E2m1fn, "-6.0", 0xF, ""},
      {kFormat3, DType::kFloat4E2m1fn, "\"0x3\"", 3, "1.5"},
      {kFormat2, DType::kFloat4E2m1fn, "\"Aw==\"", 3, ""},
      {kFormat2, DType::kFloat4E2m1fn, "\"8w==\"", 3, "\"Aw==\""},
  };
  for (const Form& form : forms) {
    SCOPED_TRACE(Concat(DTypeName(form.dtype), " ", form.json));
    const FillValue fill = Element(form.code, static_cast<size_t>(DTypeBytes(form.dtype)));
    EXPECT_THAT(Read(form.format, form.dtype, form.json), IsOkAndHolds(fill));
    EXPECT_EQ(FillValueToJson(form.format, form.dtype, fill).dump(),
              form.written.empty() ? form.json : form.written);
    EXPECT_THAT(CheckFillValue(form.format, form.dtype, fill), IsOk());
  }
}

TEST(FillValueTest, NanIsTheCanonicalOneOfEachType) {
  const std::pair<DType, uint64_t> nans[] = {
      {DType::kFloat16, 0x7E00},      {DType::kBfloat16, 0x7FC0},
      {DType::kFloat32, 0x7FC00000},  {DType::kFloat64, 0x7FF8000000000000},
      {DType::kFloat8E3m4, 0x78},     {DType::kFloat8E4m3fn, 0x7F},
      {DType::kFloat8E4m3fnuz, 0x80}, {DType::kFloat8E4m3b11fnuz, 0x80},
      {DType::kFloat8E5m2, 0x7E},     {DType::kFloat8E5m2fnuz, 0x80},
      {DType::kFloat8E8m0fnu, 0xFF},
  };
  for (const auto& [dtype, code] : nans) {
    for (const Format format : {kFormat2, kFormat3}) {
      const FillValue fill = Element(code, static_cast<size_t>(DTypeBytes(dtype)));
      EXPECT_THAT(Read(format, dtype, "\"NaN\""), IsOkAndHolds(fill)) << DTypeName(dtype);
      EXPECT_EQ(FillValueToJson(format, dtype, fill), "NaN") << DTypeName(dtype);
    }
  }
}

TEST(FillValueTest, ComplexNumbersArePairs) {
  const FillValue fill = Pair(0x3FC00000, 0x7FC00000, 4);
  for (const Format format : {kFormat2, kFormat3}) {
    EXPECT_THAT(Read(format, DType::kComplex64, "[1.5,\"NaN\"]"), IsOkAndHolds(fill));
    EXPECT_EQ(FillValueToJson(format, DType::kComplex64, fill).dump(), "[1.5,\"NaN\"]");
  }
  EXPECT_THAT(Read(kFormat3, DType::kComplex128, "[\"0x7ff8000000000001\",0.0]"),
              IsOkAndHolds(Pair(0x7FF8000000000001, 0, 8)));
}

TEST(FillValueTest, Base64HoldsAComplexNumberInTheOrderOfTheElements) {
  const Json little = "AAAAQAAAgD8=";  // 2, 1
  const Json big = "QAAAAD+AAAA=";
  const FillValue fill = Pair(0x40000000, 0x3F800000, 4);
  EXPECT_THAT(FillValueFromJson(kFormat2, DType::kComplex64, kLittle, little), IsOkAndHolds(fill));
  EXPECT_THAT(FillValueFromJson(kFormat2, DType::kComplex64, codec::Endian::kBig, big),
              IsOkAndHolds(fill));
  // Written again it could only be the canonical NaN, so that is what it is at once.
  const Json payload = "AQDAfwAAgD8=";
  EXPECT_THAT(FillValueFromJson(kFormat2, DType::kComplex64, kLittle, payload),
              IsOkAndHolds(Pair(0x7FC00000, 0x3F800000, 4)));
}

TEST(FillValueTest, NullIsReadInV2Only) {
  EXPECT_THAT(Read(kFormat2, DType::kFloat32, "null"), IsOkAndHolds(FillValue()));
  EXPECT_EQ(FillValueToJson(kFormat2, DType::kFloat32, std::nullopt), nullptr);
  EXPECT_THAT(CheckFillValue(kFormat2, DType::kFloat32, std::nullopt), IsOk());
  EXPECT_THAT(Read(kFormat3, DType::kFloat32, "null"),
              StatusIs(kInvalid, HasSubstr("fill_value: 'null' is invalid for float32")));
  EXPECT_THAT(CheckFillValue(kFormat3, DType::kFloat32, std::nullopt),
              StatusIs(kInvalid, HasSubstr("fill_value: null is invalid for float32")));
}

struct Refused {
  Format format;
  DType dtype;
  std::string json;
};

TEST(FillValueTest, OtherFormsAndNumbersPastTheRangeAreRefused) {
  const Refused refused[] = {
      {kFormat2, DType::kBool, "1"},
      {kFormat3, DType::kBool, "0"},
      {kFormat2, DType::kInt32, "1.5"},
      {kFormat2, DType::kInt32, "\"1\""},
      {kFormat3, DType::kInt32, "false"},
      {kFormat3, DType::kInt32, "\"0\""},
      {kFormat2, DType::kInt32, "2147483648"},
      {kFormat2, DType::kInt64, "9223372036854775808"},
      {kFormat2, DType::kInt64, "9.3e18"},
      {kFormat2, DType::kUint64, "18446744073709551616"},
      {kFormat2, DType::kUint8, "-1"},
      {kFormat2, DType::kUint8, "256"},
      {kFormat2, DType::kInt4, "128"},
      {kFormat3, DType::kInt4, "8"},
      {kFormat3, DType::kInt2, "2"},
      {kFormat2, DType::kFloat32, "\"nan\""},
      {kFormat2, DType::kFloat32, "\"inf\""},
      {kFormat2, DType::kFloat32, "\"\""},
      {kFormat2, DType::kFloat32, "\"1.0 \""},
      {kFormat2, DType::kFloat32, "\"1e999\""},
      {kFormat2, DType::kFloat32, "\"0x3f800000\""},
      {kFormat2, DType::kFloat32, "true"},
      {kFormat2, DType::kFloat32, "[1.0]"},
      {kFormat2, DType::kFloat32, "1e39"},
      {kFormat3, DType::kFloat32, "\"1.0\""},
      {kFormat3, DType::kFloat32, "\"0x\""},
      {kFormat3, DType::kFloat32, "\"0x123456789\""},
      {kFormat3, DType::kFloat32, "\"0x-1\""},
      {kFormat3, DType::kFloat32, "\"0xfg\""},
      {kFormat3, DType::kFloat8E4m3fn, "\"Infinity\""},
      {kFormat3, DType::kFloat8E4m3fn, "1000.0"},
      {kFormat3, DType::kFloat8E8m0fnu, "-1.0"},
      {kFormat3, DType::kFloat4E2m1fn, "\"NaN\""},
      {kFormat3, DType::kFloat4E2m1fn, "7.0"},
      {kFormat3, DType::kFloat4E2m1fn, "\"0x10\""},
      {kFormat2, DType::kFloat4E2m1fn, "1.0"},
      {kFormat2, DType::kFloat4E2m1fn, "\"AAA=\""},
      {kFormat2, DType::kComplex64, "1.0"},
      {kFormat2, DType::kComplex64, "[1.0]"},
      {kFormat2, DType::kComplex64, "[1.0,2.0,3.0]"},
      {kFormat2, DType::kComplex64, "\"AAAA\""},
      {kFormat2, DType::kComplex64, "\"~\""},
      {kFormat3, DType::kComplex64, "\"AAAAQAAAgD8=\""},
  };
  for (const Refused& r : refused) {
    EXPECT_THAT(
        Read(r.format, r.dtype, r.json),
        StatusIs(kInvalid,
                 AllOf(HasSubstr("fill_value: '"),
                       HasSubstr(Concat("is invalid for ", DTypeName(r.dtype), "; expected ")))))
        << r.json;
  }
}

TEST(FillValueTest, BytesThatTheFormatCannotWriteAreRefused) {
  EXPECT_THAT(CheckFillValue(kFormat2, DType::kFloat32, Element(0, 2)),
              StatusIs(kInvalid, HasSubstr("fill_value: 2 bytes, but float32 has 4")));
  EXPECT_THAT(CheckFillValue(kFormat2, DType::kFloat32, Element(0xFFC00000, 4)),
              StatusIs(kInvalid, HasSubstr("cannot write these bytes of float32; nearest is")));
  EXPECT_THAT(CheckFillValue(kFormat3, DType::kFloat32, Element(0xFFC00000, 4)), IsOk());
  EXPECT_THAT(CheckFillValue(kFormat3, DType::kBool, Element(2, 1)),
              StatusIs(kInvalid, HasSubstr("cannot write these bytes of bool; nearest is true")));
  EXPECT_THAT(CheckFillValue(kFormat3, DType::kInt4, Element(0xF8, 1)),
              StatusIs(kInvalid, HasSubstr("cannot write these bytes of int4; nearest is -8")));
  EXPECT_THAT(CheckFillValue(kFormat2, DType::kFloat4E2m1fn, Element(0x13, 1)),
              StatusIs(kInvalid, HasSubstr("cannot write these bytes of float4_e2m1fn")));
}

TEST(FillValueTest, EveryCodeOfEveryByteTypeComesBackUnlessItIsRefused) {
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.bytes != 1 || info.zarr3.empty()) continue;
    for (const Format format : {kFormat2, kFormat3}) {
      int accepted = 0;
      for (uint64_t code = 0; code < 256; ++code) {
        accepted += CheckFillValue(format, info.dtype, Element(code, 1)).ok() ? 1 : 0;
      }
      const int codes = info.kind == DTypeKind::kBool ? 2 : 1 << info.bits;
      // v2 has one NaN; the others that a type has cannot be written.
      int lost = 0;
      if (format == kFormat2 && info.kind == DTypeKind::kFloat) {
        for (uint64_t code = 0; code < 256; ++code) {
          const FloatFormat& bits = FormatOf(info.dtype);
          lost += bits.IsNan(code) && code != bits.nan() ? 1 : 0;
          // And numbers past those that this type can name there.
          lost += bits.specials == FloatSpecials::kScale && code > 190 && code < 255 ? 1 : 0;
        }
      }
      EXPECT_EQ(accepted, codes - lost) << info.name;
    }
  }
}

}  // namespace
}  // namespace tessera::zarr
