#include "tessera/zarr/fill_value.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "tessera/core/float_format.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::zarr {
namespace {

// Elements here are codes: the bits of a float, an integer or a bool.  A complex number is two.
using Codes = std::vector<uint64_t>;

// The dtype of each code of an element.
DType PartOf(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  return dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

size_t PartCount(DType dtype) { return PartOf(dtype) == dtype ? 1 : 2; }

// float4_e2m1fn of v2: NumPy has no number for it, so it is written as bytes.
bool IsBase64Only(Format format, DType dtype) {
  return format == Format::kV2 && dtype == DType::kFloat4E2m1fn;
}

std::vector<std::byte> BytesOf(DType dtype, const Codes& codes) {
  std::vector<std::byte> bytes;
  for (uint64_t code : codes) {
    for (int i = 0; i < DTypeBytes(PartOf(dtype)); ++i, code >>= 8) {
      bytes.push_back(static_cast<std::byte>(code & 0xFF));
    }
  }
  return bytes;
}

Codes CodesOf(DType dtype, std::span<const std::byte> bytes) {
  const size_t part_bytes = static_cast<size_t>(DTypeBytes(PartOf(dtype)));
  Codes codes(PartCount(dtype));
  for (size_t i = 0; i < codes.size() * part_bytes; ++i) {
    codes[i / part_bytes] |= std::to_integer<uint64_t>(bytes[i]) << (8 * (i % part_bytes));
  }
  return codes;
}

// As a number in metadata, float8_e8m0fnu is what TensorStore makes of it, the only other program
// that has the type there: code 63 is 1, not code 127, and the code of the smallest power is 0.
constexpr int kScaleOfOne = 63;

std::optional<uint64_t> ScaleCode(const FloatFormat& format, double number) {
  if (number == 0) return 0;
  const uint64_t code = EncodeFloat(format, std::bit_cast<uint64_t>(number));
  if (number < 0 || format.IsNan(code)) return std::nullopt;
  const uint64_t shift = format.bias - kScaleOfOne;
  return code < shift ? 0 : code - shift;
}

// The nearest code; nullopt when the number is past the range, which for float8_e8m0fnu begins
// above zero.
std::optional<uint64_t> NearestCode(const FloatFormat& format, double number) {
  if (format.specials == FloatSpecials::kScale) return ScaleCode(format, number);
  const uint64_t code = EncodeFloat(format, std::bit_cast<uint64_t>(number));
  const double nearest = std::bit_cast<double>(DecodeFloat(format, code));
  if (!std::isfinite(nearest)) return std::nullopt;
  const double most = std::bit_cast<double>(DecodeFloat(format, format.max_finite()));
  if (format.specials == FloatSpecials::kFinite && std::abs(number) > most) return std::nullopt;
  return code;
}

// "0x" and the bits, most significant digit first.
std::optional<uint64_t> CodeOfHex(const DTypeInfo& info, std::string_view text) {
  text.remove_prefix(2);
  uint64_t code = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, code, 16);
  if (error != std::errc() || rest != end || text.size() > 2 * static_cast<size_t>(info.bytes) ||
      (info.bits < 64 && code >> info.bits != 0)) {
    return std::nullopt;
  }
  return code;
}

std::optional<uint64_t> CodeOfDecimal(const FloatFormat& format, std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  // Other spellings of Inf and NaN are numbers to from_chars, but not here.
  if (error != std::errc() || rest != end || !std::isfinite(number)) return std::nullopt;
  return NearestCode(format, number);
}

std::optional<uint64_t> CodeOfText(Format format, DType dtype, std::string_view text) {
  const FloatFormat& bits = FormatOf(dtype);
  if (text == "NaN") {
    return bits.specials == FloatSpecials::kFinite ? std::nullopt : std::optional(bits.nan());
  }
  if (text == "Infinity" || text == "-Infinity") {
    if (bits.specials != FloatSpecials::kIeee) return std::nullopt;
    return bits.infinity() | (uint64_t{text[0] == '-'} << bits.sign_shift());
  }
  if (format == Format::kV2) return CodeOfDecimal(bits, text);
  return text.starts_with("0x") ? CodeOfHex(InfoOf(dtype), text) : std::nullopt;
}

std::optional<uint64_t> CodeOfFloat(Format format, DType dtype, const Json& value) {
  if (value.is_number()) return NearestCode(FormatOf(dtype), value.get<double>());
  if (!value.is_string()) return std::nullopt;
  return CodeOfText(format, dtype, value.get_ref<const std::string&>());
}

// A whole number, be it written 5 or 5.0; nullopt when it does not fit.
template <typename Integer>
std::optional<Integer> IntegerOf(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const double past = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
    const double least = static_cast<double>(std::numeric_limits<Integer>::min());
    if (std::trunc(number) != number || number < least || number >= past) return std::nullopt;
    return static_cast<Integer>(number);
  }
  const auto narrowed = [](auto number) {
    return std::in_range<Integer>(number) ? std::optional(static_cast<Integer>(number))
                                          : std::nullopt;
  };
  if (value.is_number_unsigned()) return narrowed(value.get<uint64_t>());
  if (value.is_number_integer()) return narrowed(value.get<int64_t>());
  return std::nullopt;
}

// The value of the low `bits`.
int64_t SignExtended(uint64_t code, int bits) {
  return static_cast<int64_t>(code << (64 - bits)) >> (64 - bits);
}

// v2 takes what the whole byte of int4 and int2 holds and keeps the low bits, as TensorStore does.
std::optional<uint64_t> CodeOfInteger(Format format, const DTypeInfo& info, const Json& value) {
  const int range_bits = format == Format::kV2 ? 8 * info.bytes : info.bits;
  if (info.kind == DTypeKind::kUnsignedInt) {
    const auto number = IntegerOf<uint64_t>(value);
    if (!number.has_value() || (range_bits < 64 && *number >> range_bits != 0)) return std::nullopt;
    return *number;
  }
  const auto number = IntegerOf<int64_t>(value);
  if (!number.has_value()) return std::nullopt;
  const uint64_t code = static_cast<uint64_t>(*number);
  if (SignExtended(code, range_bits) != *number) return std::nullopt;
  // Memory has zeros above the value, also above a negative one.
  return info.bits == 64 ? code : code & ((uint64_t{1} << info.bits) - 1);
}

std::optional<uint64_t> CodeOf(Format format, DType dtype, const Json& value) {
  const DTypeInfo& info = InfoOf(dtype);
  if (info.kind == DTypeKind::kFloat) return CodeOfFloat(format, dtype, value);
  if (info.kind != DTypeKind::kBool) return CodeOfInteger(format, info, value);
  return value.is_boolean() ? std::optional(uint64_t{value.get<bool>()}) : std::nullopt;
}

// Only complex numbers and float4_e2m1fn of v2.  NaN payloads have no other form in v2 that could
// keep them, so they go here as they would when the metadata is written again.
std::optional<Codes> CodesOfBase64(DType dtype, codec::Endian endian, const std::string& text) {
  std::string decoded;
  if (!absl::Base64Unescape(absl::string_view(text.data(), text.size()), &decoded) ||
      decoded.size() != static_cast<size_t>(DTypeBytes(dtype))) {
    return std::nullopt;
  }
  if (endian == codec::Endian::kBig) {
    const auto middle = decoded.begin() + static_cast<ptrdiff_t>(decoded.size() / PartCount(dtype));
    std::reverse(decoded.begin(), middle);
    std::reverse(middle, decoded.end());
  }
  Codes codes = CodesOf(dtype, std::as_bytes(std::span(decoded)));
  const FloatFormat& format = FormatOf(PartOf(dtype));
  for (uint64_t& code : codes) {
    if (dtype == DType::kFloat4E2m1fn) code &= 0xF;
    if (format.IsNan(code)) code = format.nan();
  }
  return codes;
}

std::optional<Codes> CodesOfJson(Format format, DType dtype, codec::Endian endian,
                                 const Json& value) {
  const size_t parts = PartCount(dtype);
  if (value.is_string() && (IsBase64Only(format, dtype) || (parts == 2 && format == Format::kV2))) {
    return CodesOfBase64(dtype, endian, value.get_ref<const std::string&>());
  }
  if (IsBase64Only(format, dtype) || (parts == 2 && (!value.is_array() || value.size() != 2))) {
    return std::nullopt;
  }
  Codes codes;
  for (size_t i = 0; i < parts; ++i) {
    const auto code = CodeOf(format, PartOf(dtype), parts == 2 ? value[i] : value);
    if (!code.has_value()) return std::nullopt;
    codes.push_back(*code);
  }
  return codes;
}

std::string Expected(Format format, DType dtype) {
  const bool v2 = format == Format::kV2;
  if (IsBase64Only(format, dtype)) return "Base64 of one byte";
  switch (InfoOf(dtype).kind) {
    case DTypeKind::kBool:
      return "true or false";
    case DTypeKind::kSignedInt:
    case DTypeKind::kUnsignedInt:
      return "a whole number in the type's range";
    case DTypeKind::kFloat:
      return Concat("a number in the type's range, NaN or Infinity where it has them, or ",
                    v2 ? "a number as text" : "its bits as 0x and hexadecimal digits");
    case DTypeKind::kComplex:
      break;
  }
  return Concat("a list of two floats",
                v2 ? Concat(" or Base64 of ", DTypeBytes(dtype), " bytes") : std::string());
}

absl::Status Invalid(Format format, DType dtype, std::string_view found) {
  return InvalidArgument("fill_value: ", found, " is invalid for ", DTypeName(dtype), "; expected ",
                         Expected(format, dtype));
}

// Bits say the same to every reader, so they are preferred where the format has them.
Json ScaleToJson(Format format, uint64_t code) {
  if (code == 0) return 0.0;
  if (format == Format::kV3) return fmt::format("0x{:02x}", code);
  return std::ldexp(1.0, static_cast<int>(code) - kScaleOfOne);
}

Json FloatToJson(Format format, DType dtype, uint64_t code) {
  const FloatFormat& bits = FormatOf(dtype);
  if (bits.IsNan(code)) {
    if (format == Format::kV2 || code == bits.nan()) return "NaN";
    return fmt::format("0x{:0{}x}", code, 2 * bits.bytes());
  }
  if (bits.specials == FloatSpecials::kScale) return ScaleToJson(format, code);
  const double number = std::bit_cast<double>(DecodeFloat(bits, code));
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

Json CodeToJson(Format format, DType dtype, uint64_t code) {
  const DTypeInfo& info = InfoOf(dtype);
  switch (info.kind) {
    case DTypeKind::kBool:
      return code != 0;
    case DTypeKind::kSignedInt:
      return SignExtended(code, info.bits);
    case DTypeKind::kUnsignedInt:
      return code;
    default:
      return FloatToJson(format, dtype, code);
  }
}

}  // namespace

absl::StatusOr<FillValue> FillValueFromJson(Format format, DType dtype, codec::Endian endian,
                                            const Json& value) {
  if (value.is_null() && format == Format::kV2) return FillValue();
  const auto codes = CodesOfJson(format, dtype, endian, value);
  if (!codes.has_value()) return Invalid(format, dtype, Quoted(value.dump()));
  return FillValue(BytesOf(dtype, *codes));
}

Json FillValueToJson(Format format, DType dtype, const FillValue& fill) {
  if (!fill.has_value()) return nullptr;
  if (IsBase64Only(format, dtype)) {
    const char byte = static_cast<char>(fill->front());
    return absl::Base64Escape(absl::string_view(&byte, 1));
  }
  const Codes codes = CodesOf(dtype, *fill);
  if (codes.size() == 1) return CodeToJson(format, dtype, codes[0]);
  return Json::array(
      {CodeToJson(format, PartOf(dtype), codes[0]), CodeToJson(format, PartOf(dtype), codes[1])});
}

absl::Status CheckFillValue(Format format, DType dtype, const FillValue& fill) {
  if (!fill.has_value()) {
    return format == Format::kV2 ? absl::OkStatus() : Invalid(format, dtype, "null");
  }
  if (fill->size() != static_cast<size_t>(DTypeBytes(dtype))) {
    return InvalidArgument("fill_value: ", fill->size(), " bytes, but ", DTypeName(dtype), " has ",
                           DTypeBytes(dtype));
  }
  const Json written = FillValueToJson(format, dtype, fill);
  const auto read = FillValueFromJson(format, dtype, codec::Endian::kLittle, written);
  if (read.ok() && *read == fill) return absl::OkStatus();
  return InvalidArgument("fill_value: the format cannot write these bytes of ", DTypeName(dtype),
                         "; nearest is ", written.dump());
}

}  // namespace tessera::zarr
