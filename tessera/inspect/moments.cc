#include "tessera/inspect/moments.h"

#include <complex>

#include "tessera/inspect/element_blocks.h"

#if defined(__x86_64__)
#define TESSERA_HAS_X86_ISAS 1
#endif

namespace tessera::inspect {
namespace {

// Compilers turn these into instructions of any width, with the same results on each.  Loops whose
// lanes they would have to find themselves are four times slower.
constexpr size_t kVectorBytes = 32;
constexpr size_t kSums = 4;  // that do not wait for each other
using Doubles __attribute__((vector_size(kVectorBytes))) = double;
constexpr size_t kDoubles = kVectorBytes / sizeof(double);

template <typename Value>
struct Extremes {
  Value min;
  Value max;
  bool any = false;
};

template <typename Value>
TESSERA_INLINE void ExtremesOf(const Value* values, size_t count, Extremes<Value>& extremes) {
  using Some __attribute__((vector_size(kVectorBytes))) = Value;
  constexpr size_t kWidth = kVectorBytes / sizeof(Value);
  Some low;
  std::memcpy(&low, values, sizeof(low));
  Some high = low;
  for (size_t i = kWidth; i < count; i += kWidth) {
    Some some;
    std::memcpy(&some, values + i, sizeof(some));
    low = some < low ? some : low;
    high = some > high ? some : high;
  }
  if (!extremes.any) extremes = {values[0], values[0], true};
  for (size_t j = 0; j < kWidth; ++j) {
    extremes.min = std::min<Value>(extremes.min, low[j]);
    extremes.max = std::max<Value>(extremes.max, high[j]);
  }
}

template <typename Value>
TESSERA_INLINE int64_t ZerosOf(const Value* values, size_t count) {
  using Count = std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>;
  Count zeros = 0;
  for (size_t i = 0; i < count; ++i) zeros += values[i] == 0 ? Count{1} : Count{0};
  return static_cast<int64_t>(zeros);
}

// Of the differences of all values from a number.
struct Sums {
  double first = 0;
  double squares = 0;
};

TESSERA_INLINE double Folded(const Doubles* sums) {
  const Doubles sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <typename Value>
TESSERA_INLINE Sums SumsOf(const Value* values, size_t count, double from) {
  using Some __attribute__((vector_size(kDoubles * sizeof(Value)))) = Value;
  Doubles first[kSums] = {};
  Doubles squares[kSums] = {};
  const size_t even = count - count % (kSums * kDoubles);
  for (size_t i = 0; i < even; i += kSums * kDoubles) {
    for (size_t j = 0; j < kSums; ++j) {
      Some some;
      std::memcpy(&some, values + i + j * kDoubles, sizeof(some));
      const Doubles wide = __builtin_convertvector(some, Doubles) - from;
      first[j] += wide;
      squares[j] += wide * wide;
    }
  }
  Sums sums{Folded(first), Folded(squares)};
  for (size_t i = even; i < count; ++i) {
    const double value = static_cast<double>(values[i]) - from;
    sums.first += value;
    sums.squares += value * value;
  }
  return sums;
}

// `guess` is near the mean in most arrays, and then one pass is enough.
template <typename Value>
TESSERA_INLINE Moments MomentsOf(const Value* values, size_t count, double guess) {
  const auto number = static_cast<double>(count);
  Sums sums = SumsOf(values, count, guess);
  double mean = guess + sums.first / number;
  // Past this the difference below would lose more than two digits.
  if (!(sums.first * sums.first / number <= 0.99 * sums.squares)) {
    sums = SumsOf(values, count, mean);
    mean += sums.first / number;
  }
  const double squares = sums.squares - sums.first * sums.first / number;
  return {static_cast<int64_t>(count), mean, std::max(0.0, squares)};
}

template <typename Value>
Number NumberOf(Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_signed_v<Value>) {
    return int64_t{value};
  } else {
    return uint64_t{value};
  }
}

template <typename T>
TESSERA_INLINE void Summarise(const std::byte* elements, size_t count, Summary& summary) {
  using Value = ValueOf<T>;
  Extremes<Value> extremes{};
  Summary found;
  const NotFinite out = ForEachBlock<T>(
      elements, count, [&](const Value* values, size_t length) __attribute__((always_inline)) {
        ExtremesOf(values, length, extremes);
        found.zeros += ZerosOf(values, length);
        found.moments.Merge(MomentsOf(values, length, found.moments.mean));
      });
  found.nan = out.nan;
  found.positive_infinities = out.positive;
  found.negative_infinities = out.negative;
  if (extremes.any) {
    found.min = NumberOf(extremes.min);
    found.max = NumberOf(extremes.max);
  }
  summary.Merge(found);
}

template <typename T>
void SummariseBaseline(const std::byte* elements, size_t count, Summary& summary) {
  Summarise<T>(elements, count, summary);
}

#ifdef TESSERA_HAS_X86_ISAS
template <typename T>
__attribute__((target("avx2"))) void SummariseAvx2(const std::byte* elements, size_t count,
                                                   Summary& summary) {
  Summarise<T>(elements, count, summary);
}

template <typename T>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))) void SummariseAvx512(
    const std::byte* elements, size_t count, Summary& summary) {
  Summarise<T>(elements, count, summary);
}
#endif

template <typename T>
SummaryKernel KernelOf(KernelIsa isa) {
#ifdef TESSERA_HAS_X86_ISAS
  if (isa == KernelIsa::kAvx512) return SummariseAvx512<T>;
  if (isa == KernelIsa::kAvx2) return SummariseAvx2<T>;
#endif
  return SummariseBaseline<T>;
}

}  // namespace

void Moments::Merge(const Moments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const double delta = other.mean - mean;
  const double share = static_cast<double>(other.count) / static_cast<double>(count + other.count);
  mean += delta * share;
  squares += other.squares + delta * delta * share * static_cast<double>(count);
  count += other.count;
}

void Summary::Merge(const Summary& other) {
  zeros += other.zeros;
  nan += other.nan;
  positive_infinities += other.positive_infinities;
  negative_infinities += other.negative_infinities;
  if (other.min.has_value() && (!min.has_value() || *other.min < *min)) min = other.min;
  if (other.max.has_value() && (!max.has_value() || *max < *other.max)) max = other.max;
  moments.Merge(other.moments);
}

SummaryKernel FindSummaryKernel(DType dtype, KernelIsa isa) {
  switch (dtype) {
    case DType::kInt32:
      return KernelOf<int32_t>(isa);
    case DType::kInt64:
      return KernelOf<int64_t>(isa);
    case DType::kUint32:
      return KernelOf<uint32_t>(isa);
    case DType::kUint64:
      return KernelOf<uint64_t>(isa);
    case DType::kFloat32:
      return KernelOf<float>(isa);
    case DType::kFloat64:
      return KernelOf<double>(isa);
    case DType::kComplex64:
      return KernelOf<std::complex<float>>(isa);
    case DType::kComplex128:
      return KernelOf<std::complex<double>>(isa);
    default:
      return nullptr;
  }
}

}  // namespace tessera::inspect
