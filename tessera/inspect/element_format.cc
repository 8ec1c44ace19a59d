#include "tessera/inspect/element_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/inspect/number.h"

namespace tessera::inspect {
namespace {

std::string Spaces(size_t count) { return std::string(count, ' '); }
std::string Zeros(size_t count) { return std::string(count, '0'); }

// A float as text, in parts: "-0" "." "001" or "-1" "." "5" "e-07".
struct FloatParts {
  std::string whole;
  std::string fraction;
  int exponent = 0;
};

class FloatColumn final : public ElementFormat {
 public:
  // `plus`: positive numbers have a sign.
  FloatColumn(DType dtype, std::span<const std::byte> elements, size_t stride, bool plus)
      : dtype_(dtype), plus_(plus) {
    ChooseExponents(elements, stride);
    for (size_t i = 0; i < elements.size(); i += stride) {
      const double value = ValueAt(elements.data() + i);
      if (!std::isfinite(value)) continue;
      const FloatParts parts = PartsOf(value);
      whole_ = std::max(whole_, parts.whole.size());
      fraction_ = std::max(fraction_, parts.fraction.size());
      const size_t digits = std::to_string(std::abs(parts.exponent)).size();
      exponent_ = std::max({exponent_, digits, size_t{2}});
    }
    for (size_t i = 0; i < elements.size(); i += stride) {
      const double value = ValueAt(elements.data() + i);
      if (std::isfinite(value)) continue;
      // What has no point takes the place of everything.
      const size_t others = Width() - whole_;
      const size_t needed = NotFinite(value).size();
      if (needed > others) whole_ = std::max(whole_, needed - others);
    }
  }

  std::string Text(const std::byte* element) const override {
    const double value = ValueAt(element);
    if (!std::isfinite(value)) {
      const std::string text = NotFinite(value);
      return Concat(Spaces(Width() - text.size()), text);
    }
    const FloatParts parts = scientific_ ? Rounded(value) : PartsOf(value);
    const std::string before = Concat(Spaces(whole_ - parts.whole.size()), parts.whole, ".");
    const size_t missing = fraction_ - parts.fraction.size();
    if (!scientific_) return Concat(before, parts.fraction, Spaces(missing));
    const std::string power = std::to_string(std::abs(parts.exponent));
    return Concat(before, parts.fraction, parts.exponent < 0 ? "e-" : "e+",
                  Zeros(exponent_ - power.size()), power);
  }

 private:
  double ValueAt(const std::byte* element) const { return AsDouble(NumberAt(dtype_, element)); }

  size_t Width() const { return whole_ + 1 + fraction_ + (scientific_ ? 2 + exponent_ : 0); }

  std::string NotFinite(double value) const {
    if (std::isnan(value)) return plus_ ? "+nan" : "nan";
    return value < 0 ? "-inf" : (plus_ ? "+inf" : "inf");
  }

  // As NumPy does: for large and for small numbers, and where both would be beside each other.
  void ChooseExponents(std::span<const std::byte> elements, size_t stride) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (size_t i = 0; i < elements.size(); i += stride) {
      const double value = std::abs(ValueAt(elements.data() + i));
      if (!std::isfinite(value) || value == 0) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    scientific_ = most > 0 && (most >= 1e8 || least < 1e-4 || most / least > 1000);
  }

  // To as many digits as the longest has: those that follow the shortest are the number's own.
  FloatParts Rounded(double value) const {
    std::array<char, 64> room;
    const auto end = std::to_chars(room.data(), room.data() + room.size(), std::abs(value),
                                   std::chars_format::scientific, static_cast<int>(fraction_));
    const std::string_view text(room.data(), static_cast<size_t>(end.ptr - room.data()));
    const size_t mark = text.find('e');
    FloatParts parts{Concat(Sign(value), text.substr(0, 1)), ""};
    if (fraction_ > 0) parts.fraction = text.substr(2, mark - 2);
    parts.exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
    return parts;
  }

  std::string_view Sign(double value) const {
    return std::signbit(value) ? "-" : (plus_ ? "+" : "");
  }

  FloatParts PartsOf(double value) const {
    const Decimal decimal = ShortestDecimal(value, dtype_);
    const std::string& digits = decimal.digits;
    const std::string_view sign = Sign(value);
    if (scientific_) return {Concat(sign, digits.substr(0, 1)), digits.substr(1), decimal.exponent};
    if (decimal.exponent < 0) {
      const std::string fraction =
          Concat(Zeros(static_cast<size_t>(-decimal.exponent - 1)), digits);
      return {Concat(sign, "0"), fraction == "0" ? "" : fraction};
    }
    const auto whole = static_cast<size_t>(decimal.exponent) + 1;
    if (digits.size() <= whole) return {Concat(sign, digits, Zeros(whole - digits.size())), ""};
    return {Concat(sign, digits.substr(0, whole)), digits.substr(whole)};
  }

  const DType dtype_;
  const bool plus_;
  bool scientific_ = false;
  size_t whole_ = 0;     // characters before the point
  size_t fraction_ = 0;  // and after it
  size_t exponent_ = 0;  // digits of the exponent
};

class ComplexColumn final : public ElementFormat {
 public:
  ComplexColumn(DType dtype, std::span<const std::byte> elements)
      : half_(static_cast<size_t>(DTypeBytes(dtype)) / 2),
        real_(PartDType(dtype), elements, 2 * half_, false),
        imaginary_(PartDType(dtype), elements.subspan(std::min(half_, elements.size())), 2 * half_,
                   true) {}

  // The j follows the digits, not the spaces behind them.
  std::string Text(const std::byte* element) const override {
    std::string imaginary = imaginary_.Text(element + half_);
    const size_t end = imaginary.find_last_not_of(' ') + 1;
    imaginary.insert(end, 1, 'j');
    return real_.Text(element) + imaginary;
  }

 private:
  const size_t half_;
  const FloatColumn real_;
  const FloatColumn imaginary_;
};

class IntegerColumn final : public ElementFormat {
 public:
  IntegerColumn(DType dtype, std::span<const std::byte> elements) : dtype_(dtype) {
    const auto stride = static_cast<size_t>(DTypeBytes(dtype));
    for (size_t i = 0; i < elements.size(); i += stride) {
      width_ = std::max(width_, TextOf(elements.data() + i).size());
    }
  }

  std::string Text(const std::byte* element) const override {
    const std::string text = TextOf(element);
    return Concat(Spaces(width_ - text.size()), text);
  }

 private:
  std::string TextOf(const std::byte* element) const {
    return NumberText(NumberAt(dtype_, element), dtype_);
  }

  const DType dtype_;
  size_t width_ = 0;
};

class BoolColumn final : public ElementFormat {
 public:
  explicit BoolColumn(bool scalar) : scalar_(scalar) {}
  std::string Text(const std::byte* element) const override {
    if (*element == std::byte{0}) return "False";
    return scalar_ ? "True" : " True";
  }

 private:
  const bool scalar_;
};

}  // namespace

std::unique_ptr<ElementFormat> MakeElementFormat(DType dtype, std::span<const std::byte> elements,
                                                 bool scalar) {
  const auto stride = static_cast<size_t>(DTypeBytes(dtype));
  switch (InfoOf(dtype).kind) {
    case DTypeKind::kBool:
      return std::make_unique<BoolColumn>(scalar);
    case DTypeKind::kFloat:
      return std::make_unique<FloatColumn>(dtype, elements, stride, false);
    case DTypeKind::kComplex:
      return std::make_unique<ComplexColumn>(dtype, elements);
    default:
      return std::make_unique<IntegerColumn>(dtype, elements);
  }
}

}  // namespace tessera::inspect
