#include "tessera/codec/auto.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tessera/codec/chain.h"
#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

// The least share of the time that a compressor must save: plain bytes can be mapped and read in
// parts, which these times do not show.
constexpr double kLeastSaving = 0.03;

constexpr double kGigabyte = 1e9;

// Processor time of this thread.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Bytes per second of the faster of two runs: the first one pays for fresh pages and cold caches.
template <typename RunFn>
absl::StatusOr<double> SpeedOf(size_t bytes, RunFn run) {
  constexpr double kTick = 1e-9;  // a small sample may take less than the clock shows
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 2; ++i) {
    const double start = ThreadSeconds();
    TESSERA_RETURN_IF_ERROR(run());
    least = std::min(least, ThreadSeconds() - start);
  }
  return static_cast<double>(bytes) / std::max(least, kTick);
}

std::vector<std::vector<BytesSpec>> Candidates(int element_bytes) {
  return {
      {}, {BloscSpec{"lz4", 5, BloscSpec::Shuffle::kBits, element_bytes, 0}}, {ZstdSpec{1, false}}};
}

// None is measured as a copy: what stores do with bytes that are not changed.
// REQUIRES: the sample is not empty.
absl::StatusOr<CodecMeasurement> Measure(std::span<const std::byte> sample,
                                         std::vector<BytesSpec> compression, Scratch& scratch) {
  TESSERA_ASSIGN_OR_RETURN(const Chain chain, Chain::Make(compression));
  std::span<const std::byte> encoded;
  const auto encode = [&]() -> absl::Status {
    TESSERA_ASSIGN_OR_RETURN(encoded, chain.Encode(sample, scratch));
    return absl::OkStatus();
  };
  const std::span<std::byte> target = scratch.elements.Resize(sample.size());
  const auto decode = [&] { return chain.Decode(encoded, target, scratch); };
  CodecMeasurement measured{std::move(compression)};
  TESSERA_ASSIGN_OR_RETURN(measured.encode_bytes_per_second, SpeedOf(sample.size(), encode));
  TESSERA_ASSIGN_OR_RETURN(measured.decode_bytes_per_second, SpeedOf(sample.size(), decode));
  if (chain.empty()) measured.encode_bytes_per_second = measured.decode_bytes_per_second;
  measured.ratio = static_cast<double>(encoded.size()) / static_cast<double>(sample.size());
  return measured;
}

absl::Status CheckPositive(std::string_view name, double value) {
  if (value > 0) return absl::OkStatus();
  return InvalidArgument(name, " is ", value, "; expected more than 0");
}

absl::Status CheckWorkload(const Workload& workload) {
  TESSERA_RETURN_IF_ERROR(
      CheckPositive("write_bytes_per_second", workload.storage.write_bytes_per_second));
  TESSERA_RETURN_IF_ERROR(
      CheckPositive("read_bytes_per_second", workload.storage.read_bytes_per_second));
  TESSERA_RETURN_IF_ERROR(CheckPositive("threads", workload.threads));
  if (workload.reads_per_write >= 0) return absl::OkStatus();
  return InvalidArgument("reads_per_write is ", workload.reads_per_write, "; expected 0 or more");
}

absl::Status CheckMeasurement(const CodecMeasurement& measured) {
  TESSERA_RETURN_IF_ERROR(CheckPositive("ratio", measured.ratio));
  TESSERA_RETURN_IF_ERROR(
      CheckPositive("encode_bytes_per_second", measured.encode_bytes_per_second));
  return CheckPositive("decode_bytes_per_second", measured.decode_bytes_per_second);
}

CodecCost CostOf(const CodecMeasurement& measured, const Workload& workload) {
  const auto seconds = [&](double bytes_per_second, double storage_bytes_per_second) {
    return kGigabyte * std::max(1 / (bytes_per_second * workload.threads),
                                measured.ratio / storage_bytes_per_second);
  };
  CodecCost cost{measured};
  cost.write_seconds =
      seconds(measured.encode_bytes_per_second, workload.storage.write_bytes_per_second);
  cost.read_seconds =
      seconds(measured.decode_bytes_per_second, workload.storage.read_bytes_per_second);
  cost.seconds = cost.write_seconds + workload.reads_per_write * cost.read_seconds;
  return cost;
}

}  // namespace

std::vector<std::byte> TakeSample(std::span<const std::byte> data, int element_bytes) {
  if (data.size() <= kSampleBytes) return {data.begin(), data.end()};
  constexpr size_t kSlices = 8;
  const auto element = static_cast<size_t>(element_bytes);
  const size_t slice = kSampleBytes / kSlices / element * element;
  std::vector<std::byte> sample(kSlices * slice);
  for (size_t i = 0; i < kSlices; ++i) {
    // The first slice is at the start, the last one at the end.
    const size_t offset = (data.size() - slice) / (kSlices - 1) * i / element * element;
    std::memcpy(sample.data() + i * slice, data.data() + offset, slice);
  }
  return sample;
}

absl::StatusOr<std::vector<CodecMeasurement>> MeasureCandidates(std::span<const std::byte> sample,
                                                                int element_bytes,
                                                                Scratch& scratch) {
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  if (sample.empty()) return std::vector<CodecMeasurement>{{{}, 1, kNoTime, kNoTime}};
  std::vector<CodecMeasurement> measurements;
  for (std::vector<BytesSpec>& compression : Candidates(element_bytes)) {
    TESSERA_ASSIGN_OR_RETURN(CodecMeasurement measured,
                             Measure(sample, std::move(compression), scratch));
    measurements.push_back(std::move(measured));
  }
  return measurements;
}

absl::StatusOr<AutoChoice> ChooseCodec(std::span<const CodecMeasurement> measurements,
                                       const Workload& workload) {
  TESSERA_RETURN_IF_ERROR(CheckWorkload(workload));
  AutoChoice choice;
  const CodecMeasurement* none = nullptr;
  for (const CodecMeasurement& measured : measurements) {
    TESSERA_RETURN_IF_ERROR(CheckMeasurement(measured));
    choice.candidates.push_back(CostOf(measured, workload));
    if (measured.compression.empty()) none = &measured;
  }
  if (none == nullptr) return InvalidArgument("no measurement without compression to compare to");
  double least = CostOf(*none, workload).seconds * (1 - kLeastSaving);
  for (const CodecCost& cost : choice.candidates) {
    if (cost.measured.compression.empty() || cost.seconds >= least) continue;
    least = cost.seconds;
    choice.compression = cost.measured.compression;
  }
  return choice;
}

absl::StatusOr<AutoChoice> ChooseCodecFor(std::span<const std::byte> data, int element_bytes,
                                          const Workload& workload, Scratch& scratch) {
  TESSERA_RETURN_IF_ERROR(CheckPositive("element_bytes", element_bytes));
  TESSERA_ASSIGN_OR_RETURN(
      const std::vector<CodecMeasurement> measurements,
      MeasureCandidates(TakeSample(data, element_bytes), element_bytes, scratch));
  return ChooseCodec(measurements, workload);
}

}  // namespace tessera::codec
