#include "tessera/core/environment.h"

#include <charconv>
#include <cstdlib>

#include "tessera/core/status.h"

namespace tessera {
namespace {

std::string_view TrimBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits without their separators; nullopt unless digits surround each underscore.
std::optional<std::string> JoinDigits(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDigit(text[i])) {
      digits += text[i];
    } else if (text[i] != '_' || i == 0 || i + 1 == text.size() || !IsDigit(text[i - 1])) {
      return std::nullopt;
    }
  }
  if (digits.empty()) return std::nullopt;
  return digits;
}

}  // namespace

std::optional<std::string> GetEnvironment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::string(text);
}

absl::StatusOr<int64_t> ParseInteger(std::string_view text) {
  std::string_view rest = TrimBlanks(text);
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const auto digits = JoinDigits(rest);
  if (!digits.has_value()) return InvalidArgument("'", text, "' is not an integer");
  const std::string number = (negative ? "-" : "") + *digits;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc()) return InvalidArgument("'", text, "' does not fit 64 bits");
  return value;
}

}  // namespace tessera
