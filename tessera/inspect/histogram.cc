#include "tessera/inspect/histogram.h"

#include <array>
#include <cmath>
#include <complex>

#include "tessera/core/status.h"
#include "tessera/inspect/element_blocks.h"

#if defined(__x86_64__)
#define TESSERA_HAS_X86_ISAS 1
#endif

namespace tessera::inspect {
namespace {

// What the loop needs of a BinScale.
struct Ranges {
  double low;
  double factor;
  double step;
  double scale;
  int32_t last;
};

// The product may be off by one where a number lies at an edge: the edges decide.
TESSERA_INLINE int32_t BinIn(const Ranges& ranges, double value) {
  const double scaled = value * ranges.factor;
  auto bin = static_cast<int32_t>((scaled - ranges.low) * ranges.scale);
  bin = bin > ranges.last ? ranges.last : bin;
  const double edge = static_cast<double>(bin) * ranges.step + ranges.low;
  const double next = static_cast<double>(bin + 1) * ranges.step + ranges.low;
  const int32_t down = scaled < edge ? 1 : 0;
  const int32_t up = scaled >= next ? 1 : 0;
  bin += up - down;
  return bin > ranges.last ? ranges.last : bin;
}

TESSERA_INLINE void FindBins(const Ranges& ranges, const double* values, size_t count,
                             int32_t* bin_of) {
  for (size_t i = 0; i < count; ++i) bin_of[i] = BinIn(ranges, values[i]);
}

#ifdef TESSERA_HAS_X86_ISAS
__attribute__((target("avx2"))) void FindBinsAvx2(const Ranges& ranges, const double* values,
                                                  size_t count, int32_t* bin_of) {
  FindBins(ranges, values, count, bin_of);
}
#endif

}  // namespace

BinScale::BinScale(double low, double high, int bins) : low_(low), high_(high), bins_(bins) {
  TESSERA_CHECK(bins > 0 && low <= high);
  if (!std::isfinite(high - low)) factor_ = 0.5;
  const double range = high * factor_ - low * factor_;
  step_ = range / bins;
  scale_ = bins / range;
  if (step_ > 0 && std::isfinite(scale_)) return;
  bins_ = 1;
  step_ = range;
  scale_ = 0;
}

std::vector<double> BinScale::Edges() const {
  std::vector<double> edges;
  for (int i = 0; i < bins_; ++i) edges.push_back((i * step_ + low_ * factor_) / factor_);
  edges.push_back(high_);
  return edges;
}

int BinScale::BinOf(double value) const {
  return BinIn({low_ * factor_, factor_, step_, scale_, bins_ - 1}, value);
}

void BinScale::BinsOf(std::span<const double> values, int32_t* bin_of, KernelIsa isa) const {
  const Ranges ranges{low_ * factor_, factor_, step_, scale_, bins_ - 1};
#ifdef TESSERA_HAS_X86_ISAS
  if (isa != KernelIsa::kBaseline) {
    return FindBinsAvx2(ranges, values.data(), values.size(), bin_of);
  }
#endif
  FindBins(ranges, values.data(), values.size(), bin_of);
}

template <typename T>
void BinCounts::AddElements(const std::byte* elements, size_t count, KernelIsa isa) {
  const auto bins = static_cast<size_t>(scale_.bins());
  std::array<int64_t*, kCopies> copies;
  for (size_t j = 0; j < kCopies; ++j) copies[j] = counts_.data() + j * bins;
  std::array<double, kBlock> wide;
  std::array<int32_t, kBlock> bin_of;
  ForEachBlock<T>(elements, count, [&](const ValueOf<T>* values, size_t length) {
    for (size_t i = 0; i < length; ++i) wide[i] = static_cast<double>(values[i]);
    scale_.BinsOf(std::span(wide).first(length), bin_of.data(), isa);
    const size_t even = length - length % kCopies;
    for (size_t i = 0; i < even; i += kCopies) {
      for (size_t j = 0; j < kCopies; ++j) ++copies[j][bin_of[i + j]];
    }
    for (size_t i = even; i < length; ++i) ++copies[0][bin_of[i]];
  });
}

void BinCounts::Add(DType dtype, const std::byte* elements, size_t count, KernelIsa isa) {
  switch (dtype) {
    case DType::kInt32:
      return AddElements<int32_t>(elements, count, isa);
    case DType::kInt64:
      return AddElements<int64_t>(elements, count, isa);
    case DType::kUint32:
      return AddElements<uint32_t>(elements, count, isa);
    case DType::kUint64:
      return AddElements<uint64_t>(elements, count, isa);
    case DType::kFloat32:
      return AddElements<float>(elements, count, isa);
    case DType::kFloat64:
      return AddElements<double>(elements, count, isa);
    case DType::kComplex64:
      return AddElements<std::complex<float>>(elements, count, isa);
    default:
      TESSERA_CHECK(dtype == DType::kComplex128);
      return AddElements<std::complex<double>>(elements, count, isa);
  }
}

void BinCounts::AddTo(std::vector<int64_t>& counts) const {
  const auto bins = static_cast<size_t>(scale_.bins());
  for (size_t i = 0; i < counts_.size(); ++i) counts[i % bins] += counts_[i];
}

}  // namespace tessera::inspect
