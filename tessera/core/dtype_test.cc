#include "tessera/core/dtype.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(DTypeTest, RowsFollowTheEnum) {
  ASSERT_EQ(AllDTypes().size(), static_cast<size_t>(kDTypeCount));
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(static_cast<int>(AllDTypes()[i].dtype), i);
    EXPECT_EQ(&InfoOf(static_cast<DType>(i)), &AllDTypes()[i]);
  }
}

TEST(DTypeTest, EveryNameParsesBackToItsDType) {
  for (const DTypeInfo& info : AllDTypes()) {
    EXPECT_THAT(ParseDType(info.name), IsOkAndHolds(info.dtype));
    EXPECT_THAT(ParseDTypeAlias(info.name), IsOkAndHolds(info.dtype));
    EXPECT_EQ(DTypeName(info.dtype), info.name);
  }
}

TEST(DTypeTest, SizesAreThoseOfMemory) {
  EXPECT_EQ(DTypeBytes(DType::kBool), 1);
  EXPECT_EQ(DTypeBytes(DType::kInt4), 1);
  EXPECT_EQ(InfoOf(DType::kInt4).bits, 4);
  EXPECT_EQ(DTypeBytes(DType::kFloat6E3m2fn), 1);
  EXPECT_EQ(InfoOf(DType::kFloat6E3m2fn).bits, 6);
  EXPECT_EQ(DTypeBytes(DType::kBfloat16), 2);
  EXPECT_EQ(DTypeBytes(DType::kFloat32), 4);
  EXPECT_EQ(DTypeBytes(DType::kUint64), 8);
  EXPECT_EQ(DTypeBytes(DType::kComplex64), 8);
  EXPECT_EQ(DTypeBytes(DType::kComplex128), 16);
}

TEST(DTypeTest, AnElementIsTheFewestWholeBytesThatHoldItsBits) {
  for (const DTypeInfo& info : AllDTypes()) {
    EXPECT_EQ(info.bytes, (info.bits + 7) / 8) << info.name;
  }
}

TEST(DTypeTest, KindsTellFloatsFromTheRest) {
  int floats = 0;
  for (const DTypeInfo& info : AllDTypes()) {
    const bool named_float = info.name.find("float") != std::string_view::npos;
    EXPECT_EQ(IsFloat(info.dtype), named_float) << info.name;
    floats += named_float ? 1 : 0;
  }
  EXPECT_EQ(floats, 14);
  EXPECT_EQ(InfoOf(DType::kBool).kind, DTypeKind::kBool);
  EXPECT_EQ(InfoOf(DType::kInt2).kind, DTypeKind::kSignedInt);
  EXPECT_EQ(InfoOf(DType::kUint4).kind, DTypeKind::kUnsignedInt);
  EXPECT_EQ(InfoOf(DType::kComplex128).kind, DTypeKind::kComplex);
}

TEST(DTypeTest, FormatNamesAreThoseOfTheFormats) {
  EXPECT_EQ(InfoOf(DType::kBool).zarr2, "|b1");
  EXPECT_EQ(InfoOf(DType::kUint8).zarr2, "|u1");
  EXPECT_EQ(InfoOf(DType::kFloat16).zarr2, "<f2");
  EXPECT_EQ(InfoOf(DType::kComplex128).zarr2, "<c16");
  EXPECT_EQ(InfoOf(DType::kBfloat16).zarr2, "bfloat16");
  EXPECT_EQ(InfoOf(DType::kInt4).zarr3, "int4");
  EXPECT_EQ(InfoOf(DType::kFloat8E4m3fn).zarr3, "float8_e4m3fn");
  EXPECT_EQ(InfoOf(DType::kBfloat16).safetensors, "BF16");
  EXPECT_EQ(InfoOf(DType::kFloat8E4m3fn).safetensors, "F8_E4M3");
  EXPECT_EQ(InfoOf(DType::kFloat8E8m0fnu).safetensors, "F8_E8M0");
}

TEST(DTypeTest, AFormatWithoutTheTypeHasAnEmptyName) {
  EXPECT_EQ(InfoOf(DType::kUint4).zarr2, "");
  EXPECT_EQ(InfoOf(DType::kUint4).zarr3, "");
  EXPECT_EQ(InfoOf(DType::kInt4).safetensors, "");
  EXPECT_EQ(InfoOf(DType::kFloat8E3m4).safetensors, "");
  EXPECT_EQ(InfoOf(DType::kComplex128).safetensors, "");
}

TEST(DTypeTest, NoTwoDTypesShareANameInOneFormat) {
  for (const auto member :
       {&DTypeInfo::name, &DTypeInfo::zarr2, &DTypeInfo::zarr3, &DTypeInfo::safetensors}) {
    std::set<std::string_view> seen;
    for (const DTypeInfo& info : AllDTypes()) {
      if ((info.*member).empty()) continue;
      EXPECT_TRUE(seen.insert(info.*member).second) << info.*member;
    }
  }
}

TEST(ParseDTypeTest, RejectsAnUnknownNameAndListsTheKnownOnes) {
  EXPECT_THAT(ParseDType("float12"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("unknown dtype 'float12'; known are bool int2 int4 "),
                             HasSubstr(" float8_e4m3fn "), HasSubstr(" complex128"))));
}

TEST(ParseDTypeTest, TakesExactNamesOnly) {
  for (const char* name : {"", "Float32", "float32 ", " float32", "float3", "f32", "<f4", "F32"}) {
    EXPECT_THAT(ParseDType(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith(std::string("unknown dtype '") + name + "'; known are ")));
  }
}

TEST(ParseDTypeAliasTest, TakesTheShortFloatNames) {
  EXPECT_THAT(ParseDTypeAlias("bf16"), IsOkAndHolds(DType::kBfloat16));
  EXPECT_THAT(ParseDTypeAlias("fp16"), IsOkAndHolds(DType::kFloat16));
  EXPECT_THAT(ParseDTypeAlias("f16"), IsOkAndHolds(DType::kFloat16));
  EXPECT_THAT(ParseDTypeAlias("fp32"), IsOkAndHolds(DType::kFloat32));
  EXPECT_THAT(ParseDTypeAlias("f32"), IsOkAndHolds(DType::kFloat32));
  EXPECT_THAT(ParseDTypeAlias("fp64"), IsOkAndHolds(DType::kFloat64));
  EXPECT_THAT(ParseDTypeAlias("f64"), IsOkAndHolds(DType::kFloat64));
  EXPECT_THAT(ParseDTypeAlias("fp8"), IsOkAndHolds(DType::kFloat8E5m2));
  EXPECT_THAT(ParseDTypeAlias("fp8_e5m2"), IsOkAndHolds(DType::kFloat8E5m2));
  EXPECT_THAT(ParseDTypeAlias("fp8_e4m3fn"), IsOkAndHolds(DType::kFloat8E4m3fn));
  EXPECT_THAT(ParseDTypeAlias("fp8_e4m3fnuz"), IsOkAndHolds(DType::kFloat8E4m3fnuz));
  EXPECT_THAT(ParseDTypeAlias("fp8_e4m3b11fnuz"), IsOkAndHolds(DType::kFloat8E4m3b11fnuz));
  EXPECT_THAT(ParseDTypeAlias("fp8_e5m2fnuz"), IsOkAndHolds(DType::kFloat8E5m2fnuz));
}

TEST(ParseDTypeAliasTest, RejectsAnUnknownName) {
  EXPECT_THAT(ParseDTypeAlias("fp12"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                StartsWith("unknown dtype 'fp12'; known are ")));
}

TEST(ParseDTypeAliasTest, FullNamesStillMeanThemselves) {
  EXPECT_THAT(ParseDTypeAlias("float8_e5m2"), IsOkAndHolds(Eq(DType::kFloat8E5m2)));
  EXPECT_THAT(ParseDTypeAlias("int4"), IsOkAndHolds(Eq(DType::kInt4)));
}

}  // namespace
}  // namespace tessera
