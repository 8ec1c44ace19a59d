#include "tessera/inspect/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "tessera/core/convert.h"
#include "tessera/core/float_format.h"
#include "tessera/core/status.h"

namespace tessera::inspect {
namespace {

constexpr size_t kStage = 512;  // elements on the stack

__extension__ using Int128 = __int128;
using Complex = std::complex<double>;

bool IsComplex(DType dtype) { return InfoOf(dtype).kind == DTypeKind::kComplex; }
bool IsInteger(DType dtype) { return !IsFloat(dtype) && !IsComplex(dtype); }
bool Is64Bits(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kUint64; }

// Elements as numbers of type Wide, which holds all of them.
template <typename Wide>
void Load(DType dtype, const std::byte* elements, size_t count, Wide* numbers) {
  const auto bytes = static_cast<size_t>(DTypeBytes(dtype));
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = std::visit([](auto value) { return static_cast<Wide>(value); },
                            NumberAt(dtype, elements + i * bytes));
  }
}

template <>
void Load<double>(DType dtype, const std::byte* elements, size_t count, double* numbers) {
  TESSERA_CHECK(ConvertElements(dtype, {elements, count * static_cast<size_t>(DTypeBytes(dtype))},
                                DType::kFloat64, std::as_writable_bytes(std::span(numbers, count)))
                    .ok());
}

template <>
void Load<Complex>(DType dtype, const std::byte* elements, size_t count, Complex* numbers) {
  if (IsComplex(dtype)) {
    TESSERA_CHECK(ConvertElements(dtype, {elements, count * static_cast<size_t>(DTypeBytes(dtype))},
                                  DType::kComplex128,
                                  std::as_writable_bytes(std::span(numbers, count)))
                      .ok());
    return;
  }
  std::array<double, kStage> real;
  Load<double>(dtype, elements, count, real.data());
  std::copy_n(real.begin(), count, numbers);
}

template <typename Wide>
bool IsNan(const Wide& number) {
  if constexpr (std::is_same_v<Wide, Complex>) {
    return std::isnan(number.real()) || std::isnan(number.imag());
  } else {
    return number != number;
  }
}

// |number|, as a type that can be compared.
template <typename Wide>
auto Magnitude(const Wide& number) {
  if constexpr (std::is_same_v<Wide, Int128>) {
    return number < 0 ? -number : number;
  } else {
    return std::abs(number);
  }
}

double ProductOf(const Complex& a, const Complex& b) {
  return a.real() * b.real() + a.imag() * b.imag();
}
template <typename Wide>
double ProductOf(const Wide& a, const Wide& b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

// Adds up what one type of numbers needs; made into Distances at the end.
template <typename Wide>
struct Tally {
  using Size = decltype(Magnitude(Wide()));
  Size max_abs = 0;
  double max_rel = 0;
  Distances distances;

  // Of two that are the same number.
  void AddSame(const Wide& number) {
    const double square = ProductOf(number, number);
    if (!std::isfinite(square)) return;
    distances.product += square;
    distances.square_a += square;
    distances.square_b += square;
  }

  void Add(const Wide& a, const Wide& b) {
    if (IsNan(a) || IsNan(b)) {
      ++distances.nan_mismatches;
      return;
    }
    const Size apart = Magnitude(static_cast<Wide>(a - b));
    const Size scale = std::max(Magnitude(a), Magnitude(b));
    max_abs = std::max(max_abs, apart);
    if (!std::isfinite(static_cast<double>(apart))) {
      max_rel = std::numeric_limits<double>::infinity();
      return;
    }
    max_rel = std::max(max_rel, static_cast<double>(apart) / static_cast<double>(scale));
    distances.product += ProductOf(a, b);
    distances.square_a += ProductOf(a, a);
    distances.square_b += ProductOf(b, b);
  }

  Distances Finish() && {
    distances.max_rel = max_rel;
    if constexpr (std::is_same_v<Wide, Int128>) {
      if (max_abs <= static_cast<Int128>(std::numeric_limits<uint64_t>::max())) {
        distances.max_abs = static_cast<uint64_t>(max_abs);
        return distances;
      }
    }
    distances.max_abs = static_cast<double>(max_abs);
    return distances;
  }
};

// Where a code stands among all numbers of its type; the two zeros stand at the same place.
int64_t PlaceOf(const FloatFormat& format, uint64_t code) {
  const auto magnitude = static_cast<int64_t>(code & format.magnitude_mask());
  return (code >> format.sign_shift()) != 0 ? -magnitude : magnitude;
}

uint64_t CodeAt(const std::byte* element, size_t bytes) {
  uint64_t code = 0;
  std::memcpy(&code, element, bytes);
  return code;
}

uint64_t UlpsBetween(DType dtype, const std::byte* a, const std::byte* b) {
  const FloatFormat& format = FormatOf(dtype);
  const auto bytes = static_cast<size_t>(DTypeBytes(dtype));
  // In places 64 bits are enough for, the difference is right also where it wraps.
  const auto place_a = static_cast<uint64_t>(PlaceOf(format, CodeAt(a, bytes)));
  const auto place_b = static_cast<uint64_t>(PlaceOf(format, CodeAt(b, bytes)));
  return static_cast<int64_t>(place_a) < static_cast<int64_t>(place_b) ? place_b - place_a
                                                                       : place_a - place_b;
}

// Two runs of elements.
struct Pair {
  DType dtype_a;
  const std::byte* a;
  DType dtype_b;
  const std::byte* b;
  size_t count;

  size_t bytes_a() const { return static_cast<size_t>(DTypeBytes(dtype_a)); }
  size_t bytes_b() const { return static_cast<size_t>(DTypeBytes(dtype_b)); }
  bool one_dtype() const { return dtype_a == dtype_b; }
  Pair From(size_t begin, size_t length) const {
    return {dtype_a, a + begin * bytes_a(), dtype_b, b + begin * bytes_b(), length};
  }
  bool SameBytes() const { return one_dtype() && std::memcmp(a, b, count * bytes_a()) == 0; }
  bool SameBytesAt(size_t i) const {
    return one_dtype() && std::memcmp(a + i * bytes_a(), b + i * bytes_b(), bytes_a()) == 0;
  }
};

void CountDifferent(size_t i, Comparison& found) {
  if (found.different++ == 0) found.first_different = static_cast<int64_t>(i);
}

Comparison CompareBytes(const Pair& pair) {
  Comparison found{.elements = static_cast<int64_t>(pair.count)};
  if (pair.SameBytes()) return found;
  for (size_t i = 0; i < pair.count; ++i) {
    if (!pair.SameBytesAt(i)) CountDifferent(i, found);
  }
  return found;
}

template <typename Wide>
Comparison CompareNumbers(const Pair& pair) {
  Comparison found{.elements = static_cast<int64_t>(pair.count)};
  Tally<Wide> tally;
  const bool has_ulps = pair.one_dtype() && IsFloat(pair.dtype_a);
  uint64_t max_ulp = 0;
  std::array<Wide, kStage> a;
  std::array<Wide, kStage> b;
  for (size_t done = 0; done < pair.count; done += kStage) {
    const Pair stage = pair.From(done, std::min(kStage, pair.count - done));
    Load<Wide>(stage.dtype_a, stage.a, stage.count, a.data());
    Load<Wide>(stage.dtype_b, stage.b, stage.count, b.data());
    for (size_t i = 0; i < stage.count; ++i) {
      const bool same = a[i] == b[i] || (IsNan(a[i]) && IsNan(b[i]));
      same ? tally.AddSame(a[i]) : tally.Add(a[i], b[i]);
      if (pair.one_dtype() ? stage.SameBytesAt(i) : same) continue;
      CountDifferent(done + i, found);
      tally.distances.same_number += same ? 1 : 0;
      if (!has_ulps || IsNan(a[i]) || IsNan(b[i])) continue;
      max_ulp = std::max(max_ulp, UlpsBetween(pair.dtype_a, stage.a + i * stage.bytes_a(),
                                              stage.b + i * stage.bytes_b()));
    }
  }
  found.distances = std::move(tally).Finish();
  if (has_ulps) found.distances->max_ulp = max_ulp;
  return found;
}

}  // namespace

std::optional<double> Distances::Cosine() const {
  if (!(square_a > 0) || !(square_b > 0)) return std::nullopt;
  return std::clamp(product / (std::sqrt(square_a) * std::sqrt(square_b)), -1.0, 1.0);
}

void Comparison::Append(const Comparison& next) {
  if (!first_different.has_value() && next.first_different.has_value()) {
    first_different = elements + *next.first_different;
  }
  elements += next.elements;
  different += next.different;
  if (!next.distances.has_value()) return;
  if (!distances.has_value()) {
    distances = next.distances;
    return;
  }
  const Distances& more = *next.distances;
  distances->same_number += more.same_number;
  distances->nan_mismatches += more.nan_mismatches;
  if (AsDouble(distances->max_abs) < AsDouble(more.max_abs) ||
      (distances->max_abs.index() == more.max_abs.index() && distances->max_abs < more.max_abs)) {
    distances->max_abs = more.max_abs;
  }
  distances->max_rel = std::max(distances->max_rel, more.max_rel);
  distances->max_ulp = std::max(distances->max_ulp, more.max_ulp);
  distances->product += more.product;
  distances->square_a += more.square_a;
  distances->square_b += more.square_b;
}

Comparison CompareElements(DType dtype_a, const std::byte* a, DType dtype_b, const std::byte* b,
                           size_t count, bool with_distances) {
  const Pair pair{dtype_a, a, dtype_b, b, count};
  if (!with_distances && dtype_a == dtype_b) return CompareBytes(pair);
  if (IsComplex(dtype_a) || IsComplex(dtype_b)) return CompareNumbers<Complex>(pair);
  if (!Is64Bits(dtype_a) && !Is64Bits(dtype_b)) return CompareNumbers<double>(pair);
  if (IsInteger(dtype_a) && IsInteger(dtype_b)) return CompareNumbers<Int128>(pair);
  // It has 64 bits of mantissa or more, and so holds the numbers of both.
  return CompareNumbers<long double>(pair);
}

}  // namespace tessera::inspect
