// Comparison: how the elements of two arrays differ.  Pure.
#ifndef TESSERA_INSPECT_COMPARISON_H_
#define TESSERA_INSPECT_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tessera/core/dtype.h"
#include "tessera/inspect/number.h"

namespace tessera::inspect {

// Differences of numbers, in addition to whether there are any.
struct Distances {
  // Of the elements that differ, those that are the same number: NaN with other bits, zeros of
  // other signs.
  int64_t same_number = 0;
  int64_t nan_mismatches = 0;  // one is NaN, the other is not; these count for nothing below
  Number max_abs = 0.0;        // largest |a - b|: exact for integers; of infinity and a number, inf
  double max_rel = 0;          // largest |a - b| / max(|a|, |b|)
  // Largest number of steps from one to the other along all numbers of the type; nullopt unless
  // both are of one float type.
  std::optional<uint64_t> max_ulp = {};
  // Sums over pairs of finite numbers, for the cosine.
  double product = 0;
  double square_a = 0;
  double square_b = 0;

  // nullopt: one of the two is zero.
  std::optional<double> Cosine() const;
};

// Elements of one dtype differ when their bytes do, of two when their numbers do; of these NaN is
// the same as NaN, and -0 as 0.
struct Comparison {
  int64_t elements = 0;
  int64_t different = 0;
  std::optional<int64_t> first_different = {};  // place among the elements
  std::optional<Distances> distances = {};

  // Appends what was found about the elements that follow.
  void Append(const Comparison& next);
};

// Compares `count` elements, of any alignment.  Numbers are compared as float64, which holds them
// exactly, those of 64 bits as wider ones; complex numbers by the magnitude of their difference.
Comparison CompareElements(DType dtype_a, const std::byte* a, DType dtype_b, const std::byte* b,
                           size_t count, bool with_distances);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_COMPARISON_H_
