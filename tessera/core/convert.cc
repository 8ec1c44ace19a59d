#include "tessera/core/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "tessera/core/convert_kernels.h"
#include "tessera/core/float_format.h"
#include "tessera/core/status.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read in native order");

// Elements of a stage on the stack: small enough for the first-level cache.
constexpr size_t kStage = 1024;

bool IsComplex(DType dtype) { return InfoOf(dtype).kind == DTypeKind::kComplex; }

// The float type of a complex dtype's two halves.
DType PartOf(DType dtype) { return dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64; }

// The float64 nearest to sign and `magnitude`; where it is not exact, the neighbour with the odd
// code, so that a later rounding to fewer bits sees on which side of a tie the integer lies.
uint64_t OddFloat64(bool negative, uint64_t magnitude) {
  if (magnitude == 0) return 0;
  const int power = std::bit_width(magnitude) - 1;
  const uint64_t aligned = magnitude << (63 - power);  // the leading one in the top bit
  const uint64_t lost = (aligned & 0x7FF) != 0 ? 1 : 0;
  const uint64_t fraction = ((aligned << 1) >> 12) | lost;
  const uint64_t exponent = static_cast<uint64_t>(power + kBinary64.bias);
  return (uint64_t{negative} << 63) | (exponent << kBinary64.mantissa_bits) | fraction;
}

// An integer or bool element as float64 bits, rounded to odd.  Only the low bits count in types
// that are narrower than a byte.
uint64_t DecodeInteger(const DTypeInfo& info, uint64_t code) {
  if (info.kind == DTypeKind::kBool) return OddFloat64(false, code != 0 ? 1 : 0);
  const int unused = 64 - info.bits;
  const uint64_t top = code << unused;
  if (info.kind == DTypeKind::kUnsignedInt) return OddFloat64(false, top >> unused);
  const bool negative = (top >> 63) != 0;
  return OddFloat64(negative, (negative ? 0 - top : top) >> unused);
}

// The code in the float dtype `to` of an element of one byte.
uint64_t ConvertByte(const DTypeInfo& from, std::byte element, DType to) {
  const uint64_t code = std::to_integer<uint64_t>(element);
  return EncodeFloat(FormatOf(to), from.kind == DTypeKind::kFloat
                                       ? DecodeFloat(FormatOf(from.dtype), code)
                                       : DecodeInteger(from, code));
}

template <typename Out>
void ConvertByTable(DType from, const std::byte* src, DType to, std::byte* dst, size_t count) {
  std::array<Out, 256> table;
  for (size_t code = 0; code < table.size(); ++code) {
    table[code] = static_cast<Out>(ConvertByte(InfoOf(from), static_cast<std::byte>(code), to));
  }
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(dst + i * sizeof(Out), &table[std::to_integer<uint8_t>(src[i])], sizeof(Out));
  }
}

// From a type of one byte.
void ConvertBytes(DType from, const std::byte* src, DType to, std::byte* dst, size_t count) {
  if (count < 256) {
    const size_t to_bytes = static_cast<size_t>(DTypeBytes(to));
    for (size_t i = 0; i < count; ++i) {
      const uint64_t code = ConvertByte(InfoOf(from), src[i], to);
      std::memcpy(dst + i * to_bytes, &code, to_bytes);
    }
    return;
  }
  switch (DTypeBytes(to)) {
    case 1:
      return ConvertByTable<uint8_t>(from, src, to, dst, count);
    case 2:
      return ConvertByTable<uint16_t>(from, src, to, dst, count);
    case 4:
      return ConvertByTable<uint32_t>(from, src, to, dst, count);
    default:
      return ConvertByTable<uint64_t>(from, src, to, dst, count);
  }
}

// From an integer type, In in memory.  Rounding to odd and then to nearest is one rounding as long
// as the target has two bits fewer than float64; to float64 itself the processor rounds.
template <typename In>
void ConvertIntegers(const DTypeInfo& from, const std::byte* src, DType to, std::byte* dst,
                     size_t count) {
  const ConvertKernel narrow = FindConvertKernel(DType::kFloat64, to, BestIsa());
  std::array<uint64_t, kStage> stage;
  for (size_t done = 0; done < count; done += kStage) {
    const size_t length = std::min(kStage, count - done);
    for (size_t i = 0; i < length; ++i) {
      In element;
      std::memcpy(&element, src + (done + i) * sizeof(In), sizeof(In));
      stage[i] = to == DType::kFloat64 ? std::bit_cast<uint64_t>(static_cast<double>(element))
                                       : DecodeInteger(from, static_cast<uint64_t>(element));
    }
    if (to == DType::kFloat64) {
      std::memcpy(dst + done * sizeof(double), stage.data(), length * sizeof(double));
    } else {
      narrow(reinterpret_cast<const std::byte*>(stage.data()), dst + done * DTypeBytes(to), length);
    }
  }
}

// From an integer type of more than one byte.
void ConvertWideIntegers(DType from, const std::byte* src, DType to, std::byte* dst, size_t count) {
  const DTypeInfo& info = InfoOf(from);
  switch (from) {
    case DType::kInt16:
      return ConvertIntegers<int16_t>(info, src, to, dst, count);
    case DType::kUint16:
      return ConvertIntegers<uint16_t>(info, src, to, dst, count);
    case DType::kInt32:
      return ConvertIntegers<int32_t>(info, src, to, dst, count);
    case DType::kUint32:
      return ConvertIntegers<uint32_t>(info, src, to, dst, count);
    case DType::kInt64:
      return ConvertIntegers<int64_t>(info, src, to, dst, count);
    default:
      TESSERA_CHECK(from == DType::kUint64);
      return ConvertIntegers<uint64_t>(info, src, to, dst, count);
  }
}

// Between floats of 16 bits or fewer: float32 holds every value of the source.
void ConvertThroughFloat32(DType from, const std::byte* src, DType to, std::byte* dst,
                           size_t count) {
  const ConvertKernel widen = FindConvertKernel(from, DType::kFloat32, BestIsa());
  const ConvertKernel narrow = FindConvertKernel(DType::kFloat32, to, BestIsa());
  TESSERA_CHECK(widen != nullptr && narrow != nullptr);
  std::array<std::byte, kStage * sizeof(float)> stage;
  for (size_t done = 0; done < count; done += kStage) {
    const size_t length = std::min(kStage, count - done);
    widen(src + done * DTypeBytes(from), stage.data(), length);
    narrow(stage.data(), dst + done * DTypeBytes(to), length);
  }
}

// From any dtype but complex to a float.
void ConvertToFloat(DType from, const std::byte* src, DType to, std::byte* dst, size_t count) {
  if (from == to) {
    std::memcpy(dst, src, count * DTypeBytes(from));
  } else if (DTypeBytes(from) == 1) {
    ConvertBytes(from, src, to, dst, count);
  } else if (!IsFloat(from)) {
    ConvertWideIntegers(from, src, to, dst, count);
  } else if (const ConvertKernel kernel = FindConvertKernel(from, to, BestIsa())) {
    kernel(src, dst, count);
  } else {
    ConvertThroughFloat32(from, src, to, dst, count);
  }
}

// The imaginary halves are zero.
void ConvertFloatToComplex(DType from, const std::byte* src, DType to, std::byte* dst,
                           size_t count) {
  const size_t part_bytes = static_cast<size_t>(DTypeBytes(PartOf(to)));
  std::array<std::byte, kStage * sizeof(double)> stage;
  std::memset(dst, 0, count * 2 * part_bytes);
  for (size_t done = 0; done < count; done += kStage) {
    const size_t length = std::min(kStage, count - done);
    ConvertToFloat(from, src + done * DTypeBytes(from), PartOf(to), stage.data(), length);
    for (size_t i = 0; i < length; ++i) {
      std::memcpy(dst + (done + i) * 2 * part_bytes, stage.data() + i * part_bytes, part_bytes);
    }
  }
}

absl::Status CheckSizes(DType from, size_t src_bytes, DType to, size_t dst_bytes) {
  const size_t from_bytes = static_cast<size_t>(DTypeBytes(from));
  const size_t to_bytes = static_cast<size_t>(DTypeBytes(to));
  if (src_bytes % from_bytes != 0) {
    return InvalidArgument("src has ", src_bytes, " bytes, expected a multiple of ", from_bytes,
                           ", the size of ", DTypeName(from));
  }
  const size_t count = src_bytes / from_bytes;
  if (dst_bytes % to_bytes != 0 || dst_bytes / to_bytes != count) {
    return InvalidArgument("dst has ", dst_bytes, " bytes, expected ", count, " elements of ",
                           to_bytes, " bytes, ", DTypeName(to));
  }
  return absl::OkStatus();
}

}  // namespace

bool CanConvert(DType from, DType to) {
  if (from == to) return true;
  if (IsComplex(from)) return IsComplex(to);
  return IsFloat(to) || (IsFloat(from) && IsComplex(to));
}

absl::Status ConvertElements(DType from, std::span<const std::byte> src, DType to,
                             std::span<std::byte> dst) {
  if (!CanConvert(from, to)) {
    return InvalidArgument("no conversion from ", DTypeName(from), " to ", DTypeName(to));
  }
  TESSERA_RETURN_IF_ERROR(CheckSizes(from, src.size(), to, dst.size()));
  if (src.empty()) return absl::OkStatus();
  const size_t count = src.size() / static_cast<size_t>(DTypeBytes(from));
  if (from == to) {
    std::memcpy(dst.data(), src.data(), src.size());
  } else if (IsComplex(from)) {
    ConvertToFloat(PartOf(from), src.data(), PartOf(to), dst.data(), 2 * count);
  } else if (IsComplex(to)) {
    ConvertFloatToComplex(from, src.data(), to, dst.data(), count);
  } else {
    ConvertToFloat(from, src.data(), to, dst.data(), count);
  }
  return absl::OkStatus();
}

}  // namespace tessera
