// Histogram: how many numbers lie in each of some ranges of equal width.
#ifndef TESSERA_INSPECT_HISTOGRAM_H_
#define TESSERA_INSPECT_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/core/convert_kernels.h"
#include "tessera/core/dtype.h"

namespace tessera::inspect {

// counts[i] numbers x have edges[i] <= x < edges[i + 1]; the last range has its upper edge, too.
// Edges and counts are those of numpy.histogram over the numbers as float64.
struct Histogram {
  std::vector<double> edges;    // one more than counts; none when there are no numbers
  std::vector<int64_t> counts;  // one when the numbers are all the same
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

// Which of the ranges between two numbers another one lies in.
class BinScale {
 public:
  // One bin when `low` and `high` are the same, or too near each other to be told apart.
  // REQUIRES: bins > 0; both are finite, low <= high.
  BinScale(double low, double high, int bins);

  int bins() const { return bins_; }
  std::vector<double> Edges() const;

  // REQUIRES: low <= value <= high.
  int BinOf(double value) const;

  // Sets bin_of[i] for every value.  The same as BinOf.  REQUIRES: IsaSupported(isa).
  void BinsOf(std::span<const double> values, int32_t* bin_of, KernelIsa isa) const;

 private:
  double low_;
  double high_;
  int bins_;
  double factor_ = 1;  // a half where the range itself is larger than any double
  double step_ = 0;    // width of a bin, with the factor
  double scale_ = 0;   // bins per unit, with the factor
};

// Counts of bins as they are filled by loops: several for each, so that equal numbers in a row need
// not wait for each other.
class BinCounts {
 public:
  explicit BinCounts(const BinScale& scale)
      : scale_(scale), counts_(kCopies * static_cast<size_t>(scale.bins())) {}

  // Adds the finite ones of `count` elements, of any alignment.  Complex ones count by their
  // magnitude.  REQUIRES: the dtype has a summary kernel (moments.h).
  void Add(DType dtype, const std::byte* elements, size_t count, KernelIsa isa);

  void AddTo(std::vector<int64_t>& counts) const;

 private:
  static constexpr size_t kCopies = 4;
  template <typename T>
  void AddElements(const std::byte* elements, size_t count, KernelIsa isa);

  const BinScale& scale_;
  std::vector<int64_t> counts_;
};

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_HISTOGRAM_H_
