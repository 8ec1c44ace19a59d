#include "tessera/inspect/statistics.h"

#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/inspect/code_counts.h"
#include "tessera/inspect/testing/opened.h"

namespace tessera::inspect {
namespace {

using ::tessera::inspect::testing::BytesOf;
using ::tessera::inspect::testing::Opened;
using ::tessera::inspect::testing::RandomElements;
using ::tessera::testing::StatusIs;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Elements as numbers; of complex ones the magnitude.
std::vector<Number> NumbersOf(DType dtype, const std::vector<std::byte>& elements) {
  std::vector<Number> numbers;
  const auto bytes = static_cast<size_t>(DTypeBytes(dtype));
  for (size_t i = 0; i < elements.size(); i += bytes) {
    const std::byte* element = elements.data() + i;
    if (dtype == DType::kComplex64 || dtype == DType::kComplex128) {
      const double re = AsDouble(NumberAt(PartDType(dtype), element));
      const double im = AsDouble(NumberAt(PartDType(dtype), element + bytes / 2));
      numbers.push_back(std::isnan(re) || std::isnan(im) ? kNan : std::hypot(re, im));
    } else {
      numbers.push_back(NumberAt(dtype, element));
    }
  }
  return numbers;
}

std::vector<int64_t> NaiveCounts(const std::vector<Number>& finite, double low, double high,
                                 int bins) {
  std::vector<double> edges;
  for (int i = 0; i < bins; ++i) edges.push_back(i * ((high - low) / bins) + low);
  edges.push_back(high);
  std::vector<int64_t> counts(static_cast<size_t>(bins));
  for (const Number& number : finite) {
    int bin = 0;
    while (bin + 1 < bins && AsDouble(number) >= edges[static_cast<size_t>(bin) + 1]) ++bin;
    ++counts[static_cast<size_t>(bin)];
  }
  return counts;
}

void ExpectNear(double found, long double expected, long double scale) {
  EXPECT_LE(std::abs(found - expected), 1e-13L * scale) << found << " for " << double(expected);
}

void ExpectNaive(const ArrayStatistics& found, const std::vector<Number>& numbers, int bins) {
  std::vector<Number> finite;
  ArrayStatistics naive;
  long double sum = 0;
  for (const Number& number : numbers) {
    const double value = AsDouble(number);
    ++naive.count;
    naive.nan += std::isnan(value) ? 1 : 0;
    naive.positive_infinities += value == kInf ? 1 : 0;
    naive.negative_infinities += value == -kInf ? 1 : 0;
    naive.zeros += value == 0 ? 1 : 0;
    if (!std::isfinite(value)) continue;
    finite.push_back(number);
    sum += value;
  }
  EXPECT_EQ(found.count, naive.count);
  EXPECT_EQ(found.nan, naive.nan);
  EXPECT_EQ(found.positive_infinities, naive.positive_infinities);
  EXPECT_EQ(found.negative_infinities, naive.negative_infinities);
  EXPECT_EQ(found.zeros, naive.zeros);
  ASSERT_EQ(found.finite, static_cast<int64_t>(finite.size()));
  if (finite.empty()) {
    EXPECT_FALSE(found.min.has_value() || found.mean.has_value());
    EXPECT_EQ(found.histogram, Histogram());
    return;
  }
  EXPECT_EQ(found.min, *std::min_element(finite.begin(), finite.end()));
  EXPECT_EQ(found.max, *std::max_element(finite.begin(), finite.end()));
  const long double mean = sum / finite.size();
  long double squares = 0;
  for (const Number& number : finite) {
    squares += (AsDouble(number) - mean) * (AsDouble(number) - mean);
  }
  const double low = AsDouble(*found.min);
  const double high = AsDouble(*found.max);
  const long double scale = std::max(std::abs(low), std::abs(high));
  ExpectNear(*found.mean, mean, scale);
  ExpectNear(*found.deviation, std::sqrt(squares / finite.size()), scale);
  if (!(high > low) || !std::isfinite(high - low)) return;
  EXPECT_EQ(found.histogram.counts, NaiveCounts(finite, low, high, bins));
}

ArrayStatistics Compute(const ShapeDtype& about, const Dims& chunks,
                        const std::vector<std::byte>& elements, const IoOptions& io = {},
                        const StatisticsOptions& options = {}) {
  Opened opened({{"a", about, chunks, elements}}, io);
  auto found = ComputeStatistics(opened.checkpoint(), opened.array(), options, opened.io());
  EXPECT_THAT(found, ::tessera::testing::IsOk());
  return found.ok() ? *std::move(found) : ArrayStatistics();
}

std::vector<float> Normal(size_t count, double mean, double deviation) {
  std::mt19937 random(1);
  std::normal_distribution<double> next(mean, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(next(random));
  return values;
}

TEST(ComputeStatisticsTest, AgreesWithANaiveLoopForEveryDTypeThatZarrHas) {
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.zarr2.empty()) continue;
    SCOPED_TRACE(info.name);
    auto elements = RandomElements(info.dtype, 37 * 111, 7);
    if (info.dtype == DType::kFloat64 || info.dtype == DType::kComplex128) {
      // Random bits have exponents that nobody's sums can hold.
      for (size_t i = 7; i < elements.size(); i += 8) elements[i] = std::byte{0x3F};
    }
    ExpectNaive(Compute({{37, 111}, info.dtype}, {10, 50}, elements),
                NumbersOf(info.dtype, elements), 40);
  }
}

TEST(ComputeStatisticsTest, AgreesWithANaiveLoopForEveryCodeOfSmallTypes) {
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.bytes > 2 || info.kind == DTypeKind::kBool) continue;
    SCOPED_TRACE(info.name);
    std::vector<std::byte> elements;
    for (int code = 0; code < 1 << info.bits; ++code) {
      for (int byte = 0; byte < info.bytes; ++byte) {
        elements.push_back(static_cast<std::byte>(code >> (8 * byte)));
      }
    }
    CodeCounts counts(info.dtype);
    counts.Add(elements);
    const Summary summary = counts.Summarise();
    const auto numbers = NumbersOf(info.dtype, elements);
    EXPECT_EQ(summary.moments.count + summary.nan + summary.positive_infinities +
                  summary.negative_infinities,
              static_cast<int64_t>(numbers.size()));
    const Histogram histogram =
        counts.HistogramOf(BinScale(AsDouble(*summary.min), AsDouble(*summary.max), 7));
    std::vector<Number> finite;
    for (const Number& number : numbers) {
      if (std::isfinite(AsDouble(number))) finite.push_back(number);
    }
    EXPECT_EQ(histogram.counts,
              NaiveCounts(finite, AsDouble(*summary.min), AsDouble(*summary.max), 7));
  }
}

TEST(ComputeStatisticsTest, KeepsAllBitsOfIntegers) {
  const std::vector<int64_t> large = {std::numeric_limits<int64_t>::min() + 1, 0,
                                      std::numeric_limits<int64_t>::max() - 1};
  const ArrayStatistics found = Compute({{3}, DType::kInt64}, {2}, BytesOf(large));
  EXPECT_EQ(found.min, Number(large[0]));
  EXPECT_EQ(found.max, Number(large[2]));
  const std::vector<uint64_t> largest = {std::numeric_limits<uint64_t>::max() - 1};
  EXPECT_EQ(Compute({{1}, DType::kUint64}, {1}, BytesOf(largest)).max, Number(largest[0]));
}

TEST(ComputeStatisticsTest, LeavesOutWhatIsNotFinite) {
  const std::vector<float> values = {1, NAN, INFINITY, -INFINITY, -0.0F, 3, -NAN, INFINITY};
  const ArrayStatistics found =
      Compute({{8}, DType::kFloat32}, {3}, BytesOf(values), {}, {.bins = 3});
  EXPECT_EQ(found.count, 8);
  EXPECT_EQ(found.finite, 3);
  EXPECT_EQ(found.zeros, 1);
  EXPECT_EQ(found.nan, 2);
  EXPECT_EQ(found.positive_infinities, 2);
  EXPECT_EQ(found.negative_infinities, 1);
  EXPECT_EQ(found.min, Number(-0.0));
  EXPECT_EQ(found.max, Number(3.0));
  EXPECT_DOUBLE_EQ(*found.mean, 4.0 / 3);
  EXPECT_THAT(found.histogram.edges, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(found.histogram.counts, ElementsAre(1, 1, 1));
}

TEST(ComputeStatisticsTest, HasNothingToSayOfNoFiniteElement) {
  const ArrayStatistics none = Compute({{0, 3}, DType::kFloat32}, {1, 3}, {});
  EXPECT_EQ(none, ArrayStatistics());
  const ArrayStatistics nan =
      Compute({{2}, DType::kFloat32}, {2}, BytesOf(std::vector<float>{NAN, NAN}));
  EXPECT_EQ(nan, (ArrayStatistics{.count = 2, .nan = 2}));
}

TEST(ComputeStatisticsTest, TakesAScalar) {
  const ArrayStatistics found =
      Compute({{}, DType::kFloat64}, {}, BytesOf(std::vector<double>{2.5}));
  EXPECT_EQ(found.count, 1);
  EXPECT_EQ(found.mean, 2.5);
  EXPECT_EQ(found.deviation, 0.0);
  EXPECT_EQ(found.histogram, (Histogram{{2.5, 2.5}, {1}}));
}

TEST(ComputeStatisticsTest, TakesTheMagnitudeOfComplexElements) {
  const std::vector<std::complex<float>> values = {
      {3, 4}, {0, 0}, {NAN, 1}, {INFINITY, 1}, {0, -1}};
  const ArrayStatistics found = Compute({{5}, DType::kComplex64}, {5}, BytesOf(values));
  EXPECT_EQ(found.min, Number(0.0));
  EXPECT_EQ(found.max, Number(5.0));
  EXPECT_EQ(found.zeros, 1);
  EXPECT_EQ(found.nan, 1);
  EXPECT_EQ(found.positive_infinities, 1);
  EXPECT_EQ(*found.mean, 2.0);
}

TEST(ComputeStatisticsTest, LosesNoDigitsToAMeanFarFromZero) {
  std::vector<double> values;
  for (int i = 0; i < 100000; ++i) values.push_back(1e9 + (i % 2 == 0 ? 0x1p-10 : -0x1p-10));
  const ArrayStatistics found = Compute({{100000}, DType::kFloat64}, {7000}, BytesOf(values));
  EXPECT_DOUBLE_EQ(*found.deviation, 0x1p-10);
  EXPECT_DOUBLE_EQ(*found.mean, 1e9);
}

TEST(ComputeStatisticsTest, FindsTheSameWhateverTheNumberOfThreads) {
  const auto elements = BytesOf(Normal(1 << 20, 0.5, 2));
  const ShapeDtype about = {{1 << 10, 1 << 10}, DType::kFloat32};
  const ArrayStatistics alone =
      Compute(about, {600, 700}, elements, {.in_flight = 1, .compute = 1});
  for (const int threads : {2, 3, 8}) {
    EXPECT_EQ(Compute(about, {600, 700}, elements, {.in_flight = threads, .compute = threads}),
              alone);
  }
}

TEST(ComputeStatisticsTest, FindsTheSameInOnePassAndInTwo) {
  const auto elements = BytesOf(Normal(1 << 19, -3, 0.1));
  const ShapeDtype about = {{512, 1024}, DType::kFloat32};
  const ArrayStatistics once = Compute(about, {128, 1024}, elements);
  EXPECT_EQ(Compute(about, {128, 1024}, elements, {.budget_bytes = 6 << 20}), once);
}

TEST(ComputeStatisticsTest, TellsOfAllBytes) {
  for (const auto& [budget, first] : {std::pair(1 << 20, 1.5), {1 << 20, 2.0}, {1 << 30, 2.0}}) {
    std::vector<double> values(256 * 256, 1.5);
    values[0] = first;
    std::atomic<int64_t> bytes = 0;
    Compute({{256, 256}, DType::kFloat64}, {16, 256}, BytesOf(values), {.budget_bytes = budget},
            {.on_bytes = [&](int64_t more) { bytes += more; }});
    EXPECT_EQ(bytes, 256 * 256 * 8) << budget;
  }
}

TEST(ComputeStatisticsTest, RefusesAHistogramOfNoBins) {
  Opened opened({{"a", {{1}, DType::kInt8}, {1}, std::vector<std::byte>(1)}});
  EXPECT_THAT(ComputeStatistics(opened.checkpoint(), opened.array(), {.bins = 0}, opened.io()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 bins, expected 1 to")));
}

TEST(ComputeStatisticsTest, ReportsAChunkThatIsDamaged) {
  Opened opened({{"a", {{4}, DType::kInt32}, {2}, std::vector<std::byte>(16)}});
  ASSERT_THAT(opened.store().Write("a/1", Bytes::CopyOf("short").span()),
              ::tessera::testing::IsOk());
  EXPECT_THAT(ComputeStatistics(opened.checkpoint(), opened.array(), {}, opened.io()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a/1")));
}

TEST(ComputeStatisticsTest, AChunkThatIsNotThereCountsAsZeros) {
  Opened opened({{"a", {{4}, DType::kInt32}, {2}, BytesOf(std::vector<int32_t>{1, 2, 3, 4})}});
  ASSERT_THAT(opened.store().Delete("a/1"), ::tessera::testing::IsOk());
  const auto found = ComputeStatistics(opened.checkpoint(), opened.array(), {}, opened.io());
  ASSERT_THAT(found, ::tessera::testing::IsOk());
  EXPECT_EQ(found->zeros, 2);
  EXPECT_EQ(found->mean, 0.75);
}

TEST(SummaryKernelTest, GivesTheSameOnEveryProcessor) {
  const auto floats = BytesOf(Normal(10001, 1, 5));
  for (const DType dtype : {DType::kInt32, DType::kUint32, DType::kFloat32, DType::kComplex64}) {
    const size_t count = floats.size() / static_cast<size_t>(DTypeBytes(dtype));
    Summary baseline;
    FindSummaryKernel(dtype, KernelIsa::kBaseline)(floats.data(), count, baseline);
    for (const KernelIsa isa : {KernelIsa::kAvx2, KernelIsa::kAvx512}) {
      if (!IsaSupported(isa)) continue;
      Summary found;
      FindSummaryKernel(dtype, isa)(floats.data(), count, found);
      EXPECT_EQ(found.moments.mean, baseline.moments.mean);
      EXPECT_EQ(found.moments.squares, baseline.moments.squares);
      EXPECT_EQ(found.min, baseline.min);
      EXPECT_EQ(found.max, baseline.max);
    }
  }
}

TEST(BinScaleTest, DividesARangeThatNoDoubleHolds) {
  const double most = std::numeric_limits<double>::max();
  const BinScale scale(-most, most, 4);
  EXPECT_THAT(scale.Edges(), ElementsAre(-most, DoubleEq(-most / 2), 0, DoubleEq(most / 2), most));
  EXPECT_EQ(scale.BinOf(-most), 0);
  EXPECT_EQ(scale.BinOf(0), 2);
  EXPECT_EQ(scale.BinOf(most), 3);
}

TEST(BinScaleTest, HasOneBinForNumbersTooNearToDivide) {
  const BinScale scale(0, std::numeric_limits<double>::denorm_min(), 40);
  EXPECT_EQ(scale.bins(), 1);
  EXPECT_EQ(scale.BinOf(std::numeric_limits<double>::denorm_min()), 0);
}

TEST(BinScaleTest, PutsNumbersAtEdgesIntoTheUpperBin) {
  const BinScale scale(0, 39, 39);
  for (int i = 0; i < 39; ++i) EXPECT_EQ(scale.BinOf(i), i);
  EXPECT_EQ(scale.BinOf(39), 38);
}

}  // namespace
}  // namespace tessera::inspect
