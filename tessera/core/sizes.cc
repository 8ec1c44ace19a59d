#include "tessera/core/sizes.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera {
namespace {

constexpr std::string_view kPowers = "KMGTPE";

absl::Status BadSize(std::string_view text) {
  return InvalidArgument("size ", Quoted(text),
                         ": expected a number of bytes, or one with a unit: 512KiB, 4GiB, 5GB");
}

// What a unit multiplies by; 0: there is no such unit.
double UnitFactor(std::string_view unit) {
  std::string upper;
  for (char c : unit) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (upper.empty() || upper == "B") return 1;
  const size_t power = kPowers.find(upper[0]);
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = std::string_view(upper).substr(1);
  const double exponent = static_cast<double>(power + 1);
  if (rest == "IB" || rest == "I") return std::pow(1024, exponent);
  if (rest == "B" || rest.empty()) return std::pow(1000, exponent);
  return 0;
}

}  // namespace

absl::StatusOr<int64_t> ParseSize(std::string_view text) {
  const char* const end = text.data() + text.size();
  // Whole bytes need all 63 bits, which a double does not have.
  int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end && whole >= 0) {
    return whole;
  }
  double number = 0;
  const auto read = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (read.ec != std::errc() || !std::isfinite(number) || number < 0) return BadSize(text);
  std::string_view unit(read.ptr, static_cast<size_t>(end - read.ptr));
  while (!unit.empty() && unit[0] == ' ') unit.remove_prefix(1);
  const double bytes = number * UnitFactor(unit);
  if (UnitFactor(unit) == 0) return BadSize(text);
  if (bytes >= std::ldexp(1.0, 63)) {
    return InvalidArgument("size ", Quoted(text), " is past what 63 bits count");
  }
  return static_cast<int64_t>(std::llround(bytes));
}

std::string SizeText(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double number = static_cast<double>(bytes) / 1024;
  size_t power = 0;
  // 1023.6 would be written as 1024.
  for (; number >= 1023.5 && power + 1 < kPowers.size(); ++power) number /= 1024;
  const int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}iB", number, digits, kPowers[power]);
}

std::string CountText(int64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace tessera
