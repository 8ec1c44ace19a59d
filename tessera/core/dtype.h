// The element types that tessera knows, and what each one is called in each format.
#ifndef TESSERA_CORE_DTYPE_H_
#define TESSERA_CORE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

namespace tessera {

enum class DType : uint8_t {
  kBool,
  kInt2,
  kInt4,
  kUint4,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat4E2m1fn,
  kFloat6E2m3fn,
  kFloat6E3m2fn,
  kFloat8E3m4,
  kFloat8E4m3fn,
  kFloat8E5m2,
  kFloat8E4m3b11fnuz,
  kFloat8E4m3fnuz,
  kFloat8E5m2fnuz,
  kFloat8E8m0fnu,
  kBfloat16,
  kFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};

inline constexpr int kDTypeCount = static_cast<int>(DType::kComplex128) + 1;

enum class DTypeKind : uint8_t { kBool, kSignedInt, kUnsignedInt, kFloat, kComplex };

// One row of the table.  A format's name is empty where the format lacks the type.
struct DTypeInfo {
  DType dtype;
  std::string_view name;  // NumPy / ml_dtypes; ours everywhere
  DTypeKind kind;
  int bits;                // of the value: 4 for int4
  int bytes;               // of one element in memory; types under a byte take a whole one
  std::string_view zarr2;  // little-endian; big-endian replaces '<' by '>'
  std::string_view zarr3;
  std::string_view safetensors;  // header code
};

const DTypeInfo& InfoOf(DType dtype);

// Every row, in enum order.
std::span<const DTypeInfo> AllDTypes();

inline std::string_view DTypeName(DType dtype) { return InfoOf(dtype).name; }
inline int DTypeBytes(DType dtype) { return InfoOf(dtype).bytes; }
inline bool IsFloat(DType dtype) { return InfoOf(dtype).kind == DTypeKind::kFloat; }

// The dtype called exactly `name`.  InvalidArgument with the known names otherwise.
absl::StatusOr<DType> ParseDType(std::string_view name);

// Also takes the short float names that the seeds accept: bf16, fp16, f16, fp32, f32, fp64, f64,
// fp8, fp8_e5m2, fp8_e4m3fn, fp8_e4m3fnuz, fp8_e4m3b11fnuz, fp8_e5m2fnuz.
absl::StatusOr<DType> ParseDTypeAlias(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_CORE_DTYPE_H_
