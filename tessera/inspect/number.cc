#include "tessera/inspect/number.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tessera/core/float_format.h"
#include "tessera/core/status.h"

namespace tessera::inspect {
namespace {

// Numbers from here on are written with an exponent, as Python does.
constexpr int kFirstLong = 16;
constexpr int kLastSmall = -5;

uint64_t CodeAt(DType dtype, const std::byte* element) {
  uint64_t code = 0;
  std::memcpy(&code, element, static_cast<size_t>(DTypeBytes(dtype)));
  return code;
}

// "-1.25e-03" taken apart.
Decimal ParseScientific(std::string_view text) {
  Decimal decimal;
  decimal.negative = text.front() == '-';
  if (decimal.negative) text.remove_prefix(1);
  const size_t mark = text.find('e');
  for (const char c : text.substr(0, mark)) {
    if (c != '.') decimal.digits += c;
  }
  while (decimal.digits.size() > 1 && decimal.digits.back() == '0') decimal.digits.pop_back();
  std::string_view exponent = text.substr(mark + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), decimal.exponent);
  return decimal;
}

template <typename Float, typename... Precision>
std::string_view Scientific(std::array<char, 64>& room, Float value, Precision... precision) {
  const auto end = std::to_chars(room.data(), room.data() + room.size(), value,
                                 std::chars_format::scientific, precision...);
  return {room.data(), static_cast<size_t>(end.ptr - room.data())};
}

}  // namespace

double AsDouble(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

DType PartDType(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  return dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

Number NumberAt(DType dtype, const std::byte* element) {
  const DTypeInfo& info = InfoOf(dtype);
  const uint64_t code = CodeAt(dtype, element);
  const int unused = 64 - info.bits;
  switch (info.kind) {
    case DTypeKind::kBool:
      return int64_t{code != 0};
    case DTypeKind::kSignedInt:
      return static_cast<int64_t>(code << unused) >> unused;
    case DTypeKind::kUnsignedInt:
      return (code << unused) >> unused;
    default:
      TESSERA_CHECK(info.kind == DTypeKind::kFloat);
      return std::bit_cast<double>(DecodeFloat(FormatOf(dtype), code));
  }
}

Decimal ShortestDecimal(double value, DType dtype) {
  std::array<char, 64> room;
  if (dtype == DType::kFloat64) return ParseScientific(Scientific(room, value));
  if (dtype == DType::kFloat32) {
    return ParseScientific(Scientific(room, static_cast<float>(value)));
  }
  const FloatFormat& format = FormatOf(dtype);
  const uint64_t code = EncodeFloat(format, std::bit_cast<uint64_t>(value));
  for (int digits = 0;; ++digits) {
    const std::string text(Scientific(room, value, digits));
    const double back = std::strtod(text.c_str(), nullptr);
    // Seventeen digits are any double's own.
    if (digits == 16 || EncodeFloat(format, std::bit_cast<uint64_t>(back)) == code) {
      return ParseScientific(text);
    }
  }
}

std::string FloatText(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const Decimal decimal = ShortestDecimal(value, dtype);
  const std::string& digits = decimal.digits;
  std::string text = decimal.negative ? "-" : "";
  if (decimal.exponent >= kFirstLong || decimal.exponent <= kLastSmall) {
    text += digits[0];
    if (digits.size() > 1) text += Concat(".", digits.substr(1));
    const std::string power = std::to_string(std::abs(decimal.exponent));
    return Concat(text, decimal.exponent < 0 ? "e-" : "e+", power.size() < 2 ? "0" : "", power);
  }
  if (decimal.exponent < 0) {
    return Concat(text, "0.", std::string(static_cast<size_t>(-decimal.exponent - 1), '0'), digits);
  }
  const auto whole = static_cast<size_t>(decimal.exponent) + 1;
  if (digits.size() <= whole) {
    return Concat(text, digits, std::string(whole - digits.size(), '0'), ".0");
  }
  return Concat(text, digits.substr(0, whole), ".", digits.substr(whole));
}

std::string NumberText(const Number& number, DType dtype) {
  if (const double* value = std::get_if<double>(&number)) return FloatText(*value, dtype);
  return std::visit([](auto value) { return Concat(value); }, number);
}

std::string JsonText(const Number& number, DType dtype) {
  const double* value = std::get_if<double>(&number);
  if (value == nullptr || std::isfinite(*value)) return NumberText(number, dtype);
  if (std::isnan(*value)) return "\"NaN\"";
  return *value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
}

}  // namespace tessera::inspect
