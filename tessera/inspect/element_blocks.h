// Blocks of elements as finite numbers in the first-level cache, for the loops over them.
#ifndef TESSERA_INSPECT_ELEMENT_BLOCKS_H_
#define TESSERA_INSPECT_ELEMENT_BLOCKS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// Loop bodies must end up inside the function that names the instruction set.
#define TESSERA_INLINE __attribute__((always_inline)) inline

namespace tessera::inspect {

inline constexpr size_t kBlock = 2048;
inline constexpr size_t kWhole = 16;  // elements that a vector has at most

// What was taken out of a block.
struct NotFinite {
  int64_t nan = 0;
  int64_t positive = 0;
  int64_t negative = 0;
};

// What the elements of memory type T are as numbers.
template <typename T>
struct ValueType {
  using Type = T;
};
template <typename Part>
struct ValueType<std::complex<Part>> {
  using Type = double;
};
template <typename T>
using ValueOf = typename ValueType<T>::Type;

// Counted many at a time, as nearly all blocks have none.
template <typename Float>
TESSERA_INLINE bool AllFinite(const Float* values, size_t count) {
  using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  constexpr Bits kInfinity = sizeof(Float) == 4 ? Bits{0x7F800000} : Bits(0x7FF0000000000000);
  Bits any = 0;
  for (size_t i = 0; i < count; ++i) {
    const Bits exponent = std::bit_cast<Bits>(values[i]) & kInfinity;
    any |= exponent == kInfinity ? ~Bits{0} : Bits{0};
  }
  return any == 0;
}

// Moves the finite values to the front and returns how many there are.
template <typename Float>
size_t TakeOut(Float* values, size_t count, NotFinite& out) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const Float value = values[i];
    if (std::isfinite(value)) {
      values[kept++] = value;
    } else if (std::isnan(value)) {
      ++out.nan;
    } else {
      ++(value > 0 ? out.positive : out.negative);
    }
  }
  return kept;
}

// NaN when a half is.  The squares of float halves fit a double.
inline double MagnitudeOf(const std::complex<float>& value) {
  const double re = value.real();
  const double im = value.imag();
  return std::sqrt(re * re + im * im);
}
inline double MagnitudeOf(const std::complex<double>& value) {
  if (std::isnan(value.real()) || std::isnan(value.imag())) return std::nan("");
  return std::hypot(value.real(), value.imag());
}

// Copies up to kBlock elements to `values`, the finite ones only, and returns how many.
template <typename T>
TESSERA_INLINE size_t LoadBlock(const std::byte* elements, size_t count, ValueOf<T>* values,
                                NotFinite& out) {
  if constexpr (std::is_same_v<T, ValueOf<T>>) {
    std::memcpy(values, elements, count * sizeof(T));
  } else {
    for (size_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, elements + i * sizeof(T), sizeof(T));
      values[i] = MagnitudeOf(element);
    }
  }
  if constexpr (std::is_floating_point_v<ValueOf<T>>) {
    if (!AllFinite(values, count)) return TakeOut(values, count, out);
  }
  return count;
}

// Calls body(values, count) for all elements, block by block.  Up to the next multiple of kWhole
// there are more values, which repeat the first.
template <typename T, typename Body>
TESSERA_INLINE NotFinite ForEachBlock(const std::byte* elements, size_t count, Body body) {
  alignas(64) ValueOf<T> values[kBlock];
  NotFinite out;
  for (size_t done = 0; done < count; done += kBlock) {
    const size_t length = std::min(kBlock, count - done);
    const size_t kept = LoadBlock<T>(elements + done * sizeof(T), length, values, out);
    if (kept == 0) continue;
    // So that a loop may take whole vectors.
    for (size_t i = kept; i % kWhole != 0; ++i) values[i] = values[0];
    body(values, kept);
  }
  return out;
}

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_ELEMENT_BLOCKS_H_
