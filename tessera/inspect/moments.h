// Loops over elements of four bytes and more: what their statistics are made of.
//
// Complex elements count by their magnitude.  What is not finite is counted and left out of all
// else.  The sums of a run depend on its elements alone, not on the processor or the alignment.
#ifndef TESSERA_INSPECT_MOMENTS_H_
#define TESSERA_INSPECT_MOMENTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tessera/core/convert_kernels.h"
#include "tessera/core/dtype.h"
#include "tessera/inspect/number.h"

namespace tessera::inspect {

// Of some finite numbers.  Deviations are taken from the mean of each block and then merged (Chan,
// Golub and LeVeque), so that a mean far from zero costs no digits.
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;  // sum of the squared deviations from the mean

  void Merge(const Moments& other);
};

// Of some elements.
struct Summary {
  int64_t zeros = 0;
  int64_t nan = 0;
  int64_t positive_infinities = 0;
  int64_t negative_infinities = 0;
  std::optional<Number> min = {};
  std::optional<Number> max = {};
  Moments moments = {};

  void Merge(const Summary& other);
};

// Adds `count` elements, of any alignment, to `summary`.
using SummaryKernel = void (*)(const std::byte* elements, size_t count, Summary& summary);

// nullptr for elements of one or two bytes, whose codes are counted instead (code_counts.h).
// REQUIRES: IsaSupported(isa).
SummaryKernel FindSummaryKernel(DType dtype, KernelIsa isa);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_MOMENTS_H_
