#include "tessera/core/yaml_scalar.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera {
namespace {

bool IsOneOf(std::string_view text, std::string_view lower, std::string_view capital,
             std::string_view upper) {
  return text == lower || text == capital || text == upper;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t SkipDigits(std::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

size_t SkipSign(std::string_view text, size_t at) {
  return at < text.size() && (text[at] == '-' || text[at] == '+') ? at + 1 : at;
}

// [-+]? ( \.[0-9]+ | [0-9]+ (\.[0-9]*)? ) ([eE] [-+]? [0-9]+)?
bool LooksLikeFloat(std::string_view text) {
  size_t at = SkipSign(text, 0);
  const size_t whole = SkipDigits(text, at) - at;
  at += whole;
  size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = SkipDigits(text, at + 1) - (at + 1);
    at += 1 + fraction;
  }
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const size_t digits = SkipSign(text, at + 1);
    if (SkipDigits(text, digits) == digits) return false;
    at = SkipDigits(text, digits);
  }
  return at == text.size();
}

template <typename Integer>
std::optional<Integer> WholeInteger(std::string_view digits, int base) {
  Integer value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

absl::Status TooLarge(std::string_view text) {
  return InvalidArgument("the number ", Quoted(text), " does not fit 64 bits");
}

absl::StatusOr<Json> Decimal(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (const auto value = WholeInteger<int64_t>(digits, 10)) return Json(*value);
  if (const auto value = WholeInteger<uint64_t>(digits, 10)) return Json(*value);
  return TooLarge(text);
}

// 0o17 and 0x1F; nullopt: it is neither.
std::optional<absl::StatusOr<Json>> Prefixed(std::string_view text) {
  if (text.size() < 3 || text[0] != '0' || (text[1] != 'o' && text[1] != 'x')) return std::nullopt;
  const std::string_view allowed = text[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF";
  const std::string_view digits = text.substr(2);
  if (digits.find_first_not_of(allowed) != std::string_view::npos) return std::nullopt;
  const auto value = WholeInteger<uint64_t>(digits, text[1] == 'o' ? 8 : 16);
  if (!value.has_value()) return TooLarge(text);
  return Json(*value);
}

absl::StatusOr<Json> Float(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) return TooLarge(text);
  return Json(value);
}

std::optional<Json> Special(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text.empty() || text == "~" || IsOneOf(text, "null", "Null", "NULL")) return Json(nullptr);
  if (IsOneOf(text, "true", "True", "TRUE")) return Json(true);
  if (IsOneOf(text, "false", "False", "FALSE")) return Json(false);
  if (IsOneOf(text, ".nan", ".NaN", ".NAN")) return Json(std::nan(""));
  const size_t sign = SkipSign(text, 0);
  if (!IsOneOf(text.substr(sign), ".inf", ".Inf", ".INF")) return std::nullopt;
  return Json(text[0] == '-' ? -kInfinity : kInfinity);
}

}  // namespace

absl::StatusOr<Json> ResolvePlainScalar(std::string_view text) {
  if (const auto special = Special(text)) return *special;
  if (const auto prefixed = Prefixed(text)) return *prefixed;
  const size_t sign = SkipSign(text, 0);
  if (sign < text.size() && SkipDigits(text, sign) == text.size()) return Decimal(text);
  if (LooksLikeFloat(text)) return Float(text);
  return Json(std::string(text));
}

}  // namespace tessera
