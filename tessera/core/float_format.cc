#include "tessera/core/float_format.h"

namespace tessera {
namespace {

constexpr FloatFormat kWide = kBinary64;
constexpr uint64_t kImplicitBit = uint64_t{1} << kWide.mantissa_bits;
constexpr uint64_t kMantissaMask = kImplicitBit - 1;
constexpr uint64_t kSignBit = uint64_t{1} << 63;

// `value` / 2^drop to the nearest integer, ties to even.
uint64_t RoundedShift(uint64_t value, int drop) {
  if (drop <= 0) return value;
  if (drop > kWide.mantissa_bits + 1) return 0;  // less than half of the last place
  const uint64_t half = uint64_t{1} << (drop - 1);
  const uint64_t odd = (value >> drop) & 1;
  return (value + half - 1 + odd) >> drop;
}

uint64_t EncodeMagnitude(const FloatFormat& format, uint64_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> kWide.mantissa_bits);
  const uint64_t significand = (magnitude & kMantissaMask) | (exponent > 0 ? kImplicitBit : 0);
  const int target_exponent = std::max(exponent, 1) - kWide.bias + format.bias;
  const int below_normal = std::max(0, 1 - target_exponent);
  const uint64_t rounded =
      RoundedShift(significand, kWide.mantissa_bits - format.mantissa_bits + below_normal);
  if (below_normal > 0) return rounded;
  // The implicit bit, and a carry out of the mantissa, add one to the exponent field.
  const uint64_t code =
      rounded + (static_cast<uint64_t>(target_exponent - 1) << format.mantissa_bits);
  return code > format.max_finite() ? format.overflow() : code;
}

// ml_dtypes' rules: zero and negatives are NaN; a tie goes up; what lies under the smallest power
// becomes it, and what lies between the two smallest becomes the second.
uint64_t EncodeScale(uint64_t float64_bits) {
  constexpr uint64_t kOffset = kWide.bias - kE8m0fnu.bias;
  constexpr uint64_t kSmallest = kOffset << kWide.mantissa_bits;
  if (float64_bits == 0 || (float64_bits & kSignBit) != 0) return kE8m0fnu.nan();
  if (float64_bits <= kSmallest) return 0;
  const uint64_t power = (float64_bits + kImplicitBit / 2) >> kWide.mantissa_bits;
  return std::clamp<uint64_t>(power - kOffset, 1, kE8m0fnu.nan());
}

uint64_t DecodeMagnitude(const FloatFormat& format, uint64_t magnitude) {
  const uint64_t exponent = magnitude >> format.mantissa_bits;
  const uint64_t mantissa = magnitude & ((uint64_t{1} << format.mantissa_bits) - 1);
  const bool scale = format.specials == FloatSpecials::kScale;
  int power = static_cast<int>(exponent) - format.bias;
  int mantissa_width = format.mantissa_bits;
  if (exponent == 0 && !scale) {
    if (mantissa == 0) return 0;
    mantissa_width = std::bit_width(mantissa) - 1;
    power = 1 - format.bias - format.mantissa_bits + mantissa_width;
  }
  const uint64_t fraction = (mantissa << (kWide.mantissa_bits - mantissa_width)) & kMantissaMask;
  return (static_cast<uint64_t>(power + kWide.bias) << kWide.mantissa_bits) | fraction;
}

}  // namespace

uint64_t DecodeFloat(const FloatFormat& format, uint64_t code) {
  if (format.mantissa_bits == kWide.mantissa_bits) return code;
  const uint64_t sign = (code >> format.sign_shift()) != 0 ? kSignBit : 0;
  const uint64_t magnitude = code & format.magnitude_mask();
  if (format.IsNan(code)) return sign | kWide.nan();
  if (format.specials == FloatSpecials::kIeee && magnitude == format.infinity()) {
    return sign | kWide.infinity();
  }
  return sign | DecodeMagnitude(format, magnitude);
}

uint64_t EncodeFloat(const FloatFormat& format, uint64_t float64_bits) {
  if (format.specials == FloatSpecials::kScale) return EncodeScale(float64_bits);
  const uint64_t magnitude = float64_bits & ~kSignBit;
  const uint64_t sign = (float64_bits >> 63) << format.sign_shift();
  const uint64_t code =
      magnitude > kWide.infinity() ? format.nan() : EncodeMagnitude(format, magnitude);
  const bool unsigned_code = code == 0 || code == format.nan();
  if (format.specials == FloatSpecials::kFnuz && unsigned_code) return code;
  return code ^ sign;  // not |: the zero that kFinite gives for NaN has the opposite sign
}

}  // namespace tessera
