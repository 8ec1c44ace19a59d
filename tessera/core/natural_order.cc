#include "tessera/core/natural_order.h"

#include <algorithm>
#include <cstddef>

namespace tessera {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits that `text` begins with, and returns them without leading zeros.
std::string_view TakeNumber(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && IsDigit(text[length])) ++length;
  std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return digits;
}

// Takes away what both begin with, but no digit of a number that goes on after it.
void SkipCommon(std::string_view& a, std::string_view& b) {
  const size_t most = std::min(a.size(), b.size());
  size_t same =
      static_cast<size_t>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first - a.begin());
  while (same > 0 && IsDigit(a[same - 1])) --same;
  a.remove_prefix(same);
  b.remove_prefix(same);
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (true) {
    SkipCommon(a, b);
    if (a.empty() || b.empty()) break;
    if (!IsDigit(a[0]) || !IsDigit(b[0])) {
      return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    }
    const std::string_view x = TakeNumber(a);
    const std::string_view y = TakeNumber(b);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

}  // namespace tessera
