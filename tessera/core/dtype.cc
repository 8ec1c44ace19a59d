#include "tessera/core/dtype.h"

#include <array>
#include <string>
#include <utility>

#include "tessera/core/status.h"

namespace tessera {
namespace {

using enum DTypeKind;

constexpr std::array<DTypeInfo, kDTypeCount> kTable = {{
    {DType::kBool, "bool", kBool, 8, 1, "|b1", "bool", "BOOL"},
    {DType::kInt2, "int2", kSignedInt, 2, 1, "int2", "int2", ""},
    {DType::kInt4, "int4", kSignedInt, 4, 1, "int4", "int4", ""},
    {DType::kUint4, "uint4", kUnsignedInt, 4, 1, "", "", ""},
    {DType::kInt8, "int8", kSignedInt, 8, 1, "|i1", "int8", "I8"},
    {DType::kInt16, "int16", kSignedInt, 16, 2, "<i2", "int16", "I16"},
    {DType::kInt32, "int32", kSignedInt, 32, 4, "<i4", "int32", "I32"},
    {DType::kInt64, "int64", kSignedInt, 64, 8, "<i8", "int64", "I64"},
    {DType::kUint8, "uint8", kUnsignedInt, 8, 1, "|u1", "uint8", "U8"},
    {DType::kUint16, "uint16", kUnsignedInt, 16, 2, "<u2", "uint16", "U16"},
    {DType::kUint32, "uint32", kUnsignedInt, 32, 4, "<u4", "uint32", "U32"},
    {DType::kUint64, "uint64", kUnsignedInt, 64, 8, "<u8", "uint64", "U64"},
    {DType::kFloat4E2m1fn, "float4_e2m1fn", kFloat, 4, 1, "float4_e2m1fn", "float4_e2m1fn", "F4"},
    {DType::kFloat6E2m3fn, "float6_e2m3fn", kFloat, 6, 1, "", "", "F6_E2M3"},
    {DType::kFloat6E3m2fn, "float6_e3m2fn", kFloat, 6, 1, "", "", "F6_E3M2"},
    {DType::kFloat8E3m4, "float8_e3m4", kFloat, 8, 1, "float8_e3m4", "float8_e3m4", ""},
    {DType::kFloat8E4m3fn, "float8_e4m3fn", kFloat, 8, 1, "float8_e4m3fn", "float8_e4m3fn",
     "F8_E4M3"},
    {DType::kFloat8E5m2, "float8_e5m2", kFloat, 8, 1, "float8_e5m2", "float8_e5m2", "F8_E5M2"},
    {DType::kFloat8E4m3b11fnuz, "float8_e4m3b11fnuz", kFloat, 8, 1, "float8_e4m3b11fnuz",
     "float8_e4m3b11fnuz", ""},
    {DType::kFloat8E4m3fnuz, "float8_e4m3fnuz", kFloat, 8, 1, "float8_e4m3fnuz", "float8_e4m3fnuz",
     "F8_E4M3FNUZ"},
    {DType::kFloat8E5m2fnuz, "float8_e5m2fnuz", kFloat, 8, 1, "float8_e5m2fnuz", "float8_e5m2fnuz",
     "F8_E5M2FNUZ"},
    {DType::kFloat8E8m0fnu, "float8_e8m0fnu", kFloat, 8, 1, "float8_e8m0fnu", "float8_e8m0fnu",
     "F8_E8M0"},
    {DType::kBfloat16, "bfloat16", kFloat, 16, 2, "bfloat16", "bfloat16", "BF16"},
    {DType::kFloat16, "float16", kFloat, 16, 2, "<f2", "float16", "F16"},
    {DType::kFloat32, "float32", kFloat, 32, 4, "<f4", "float32", "F32"},
    {DType::kFloat64, "float64", kFloat, 64, 8, "<f8", "float64", "F64"},
    {DType::kComplex64, "complex64", kComplex, 64, 8, "<c8", "complex64", "C64"},
    {DType::kComplex128, "complex128", kComplex, 128, 16, "<c16", "complex128", ""},
}};

constexpr bool TableFollowsTheEnum() {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (static_cast<int>(kTable[i].dtype) != i) return false;
  }
  return true;
}
static_assert(TableFollowsTheEnum());

constexpr std::pair<std::string_view, DType> kAliases[] = {
    {"bf16", DType::kBfloat16},
    {"fp16", DType::kFloat16},
    {"f16", DType::kFloat16},
    {"fp32", DType::kFloat32},
    {"f32", DType::kFloat32},
    {"fp64", DType::kFloat64},
    {"f64", DType::kFloat64},
    {"fp8", DType::kFloat8E5m2},
    {"fp8_e5m2", DType::kFloat8E5m2},
    {"fp8_e4m3fn", DType::kFloat8E4m3fn},
    {"fp8_e4m3fnuz", DType::kFloat8E4m3fnuz},
    {"fp8_e4m3b11fnuz", DType::kFloat8E4m3b11fnuz},
    {"fp8_e5m2fnuz", DType::kFloat8E5m2fnuz},
};

}  // namespace

const DTypeInfo& InfoOf(DType dtype) { return kTable[static_cast<size_t>(dtype)]; }

std::span<const DTypeInfo> AllDTypes() { return kTable; }

absl::StatusOr<DType> ParseDType(std::string_view name) {
  for (const DTypeInfo& info : kTable) {
    if (info.name == name) return info.dtype;
  }
  std::string known;
  for (const DTypeInfo& info : kTable) {
    if (!known.empty()) known += ' ';
    known += info.name;
  }
  return InvalidArgument("unknown dtype '", name, "'; known are ", known);
}

absl::StatusOr<DType> ParseDTypeAlias(std::string_view name) {
  for (const auto& [alias, dtype] : kAliases) {
    if (alias == name) return dtype;
  }
  return ParseDType(name);
}

}  // namespace tessera
