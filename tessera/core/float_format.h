// How each float type lays out its bits, and the exact scalar conversion to and from float64.
//
// float64 holds every value of every other type here, so decoding is exact and encoding rounds
// once.  All of it is integer arithmetic: neither the rounding mode nor flush-to-zero matters.
#ifndef TESSERA_CORE_FLOAT_FORMAT_H_
#define TESSERA_CORE_FLOAT_FORMAT_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "tessera/core/dtype.h"
#include "tessera/core/status.h"

namespace tessera {

// Which codes are not finite numbers.
enum class FloatSpecials : uint8_t {
  kIeee,    // top exponent: Inf with mantissa 0, NaN else
  kFn,      // no Inf; NaN is every bit but the sign set
  kFnuz,    // no Inf and no -0; NaN is the code that -0 would have
  kFinite,  // neither: overflow saturates, NaN turns into a zero of the opposite sign
  kScale,   // float8_e8m0fnu: powers of two, no sign, no zero; NaN is every bit set
};

// Sign, exponent and mantissa, from the top bit down; code 1 << mantissa_bits is the smallest
// normal number.  Public members, so that a format can be a template argument.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  FloatSpecials specials;

  // Place of the sign bit.  kScale has none: no byte reaches that place.
  constexpr int sign_shift() const { return exponent_bits + mantissa_bits; }
  constexpr int bytes() const { return sign_shift() <= 8 ? 1 : (sign_shift() + 1) / 8; }
  constexpr uint64_t magnitude_mask() const { return (uint64_t{1} << sign_shift()) - 1; }
  // The code of +Inf where there is one.
  constexpr uint64_t infinity() const {
    return magnitude_mask() & ~((uint64_t{1} << mantissa_bits) - 1);
  }
  constexpr uint64_t max_finite() const {
    switch (specials) {
      case FloatSpecials::kIeee:
        return infinity() - 1;
      case FloatSpecials::kFn:
      case FloatSpecials::kScale:
        return magnitude_mask() - 1;
      case FloatSpecials::kFnuz:
      case FloatSpecials::kFinite:
        break;
    }
    return magnitude_mask();
  }
  // What a positive NaN becomes.  The sign of a NaN is put on top, except with kFnuz and kScale.
  constexpr uint64_t nan() const {
    switch (specials) {
      case FloatSpecials::kIeee:
        return infinity() | (uint64_t{1} << (mantissa_bits - 1));
      case FloatSpecials::kFn:
      case FloatSpecials::kScale:
        return magnitude_mask();
      case FloatSpecials::kFnuz:
      case FloatSpecials::kFinite:
        break;
    }
    return uint64_t{1} << sign_shift();
  }
  // What a positive magnitude that rounds past max_finite() becomes.
  constexpr uint64_t overflow() const {
    if (specials == FloatSpecials::kIeee) return infinity();
    if (specials == FloatSpecials::kFinite) return max_finite();
    return nan();
  }
  constexpr bool IsNan(uint64_t code) const {
    if (specials == FloatSpecials::kFnuz) return code == nan();
    const uint64_t largest = specials == FloatSpecials::kIeee ? infinity() : max_finite();
    return (code & magnitude_mask()) > largest;
  }
};

inline constexpr FloatFormat kE2m1fn = {2, 1, 1, FloatSpecials::kFinite};
inline constexpr FloatFormat kE2m3fn = {2, 3, 1, FloatSpecials::kFinite};
inline constexpr FloatFormat kE3m2fn = {3, 2, 3, FloatSpecials::kFinite};
inline constexpr FloatFormat kE3m4 = {3, 4, 3, FloatSpecials::kIeee};
inline constexpr FloatFormat kE4m3fn = {4, 3, 7, FloatSpecials::kFn};
inline constexpr FloatFormat kE5m2 = {5, 2, 15, FloatSpecials::kIeee};
inline constexpr FloatFormat kE4m3b11fnuz = {4, 3, 11, FloatSpecials::kFnuz};
inline constexpr FloatFormat kE4m3fnuz = {4, 3, 8, FloatSpecials::kFnuz};
inline constexpr FloatFormat kE5m2fnuz = {5, 2, 16, FloatSpecials::kFnuz};
inline constexpr FloatFormat kE8m0fnu = {8, 0, 127, FloatSpecials::kScale};
inline constexpr FloatFormat kBf16 = {8, 7, 127, FloatSpecials::kIeee};
inline constexpr FloatFormat kBinary16 = {5, 10, 15, FloatSpecials::kIeee};
inline constexpr FloatFormat kBinary32 = {8, 23, 127, FloatSpecials::kIeee};
inline constexpr FloatFormat kBinary64 = {11, 52, 1023, FloatSpecials::kIeee};

// The format of a float dtype.
constexpr const FloatFormat& FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat4E2m1fn:
      return kE2m1fn;
    case DType::kFloat6E2m3fn:
      return kE2m3fn;
    case DType::kFloat6E3m2fn:
      return kE3m2fn;
    case DType::kFloat8E3m4:
      return kE3m4;
    case DType::kFloat8E4m3fn:
      return kE4m3fn;
    case DType::kFloat8E5m2:
      return kE5m2;
    case DType::kFloat8E4m3b11fnuz:
      return kE4m3b11fnuz;
    case DType::kFloat8E4m3fnuz:
      return kE4m3fnuz;
    case DType::kFloat8E5m2fnuz:
      return kE5m2fnuz;
    case DType::kFloat8E8m0fnu:
      return kE8m0fnu;
    case DType::kBfloat16:
      return kBf16;
    case DType::kFloat16:
      return kBinary16;
    case DType::kFloat32:
      return kBinary32;
    default:
      TESSERA_CHECK(dtype == DType::kFloat64);
      return kBinary64;
  }
}

// The bits of the float64 with the value of `code`.  Any bit above the place of the sign counts
// as the sign, which tells what a stray byte means in the types that are narrower than one.
uint64_t DecodeFloat(const FloatFormat& format, uint64_t code);

// The code for the float64 with these bits; the rules are those of ConvertElements.
uint64_t EncodeFloat(const FloatFormat& format, uint64_t float64_bits);

}  // namespace tessera

#endif  // TESSERA_CORE_FLOAT_FORMAT_H_
