// Element conversion beside memcpy, one thread.
//
// Each case converts a source of 64 MiB.  bytes_per_second counts what is read plus what is
// written; of_memcpy divides it by the same figure of memcpy over 64 MiB, measured just before the
// case; items_per_second counts elements.  All times are processor time.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "tessera/core/convert.h"
#include "tessera/core/dtype.h"
#include "tessera/core/status.h"

namespace tessera {
namespace {

constexpr size_t kSourceBytes = size_t{64} << 20;

constexpr std::pair<DType, DType> kPairs[] = {
    {DType::kFloat32, DType::kBfloat16},      {DType::kBfloat16, DType::kFloat32},
    {DType::kFloat32, DType::kFloat16},       {DType::kFloat16, DType::kFloat32},
    {DType::kBfloat16, DType::kFloat16},      {DType::kFloat16, DType::kBfloat16},
    {DType::kFloat32, DType::kFloat8E4m3fn},  {DType::kFloat32, DType::kFloat8E5m2},
    {DType::kFloat32, DType::kFloat4E2m1fn},  {DType::kFloat32, DType::kFloat8E8m0fnu},
    {DType::kBfloat16, DType::kFloat8E4m3fn}, {DType::kFloat8E4m3fn, DType::kBfloat16},
    {DType::kFloat8E4m3fn, DType::kFloat32},  {DType::kFloat8E4m3fn, DType::kFloat8E5m2},
    {DType::kFloat32, DType::kFloat64},       {DType::kFloat64, DType::kFloat32},
    {DType::kFloat64, DType::kBfloat16},      {DType::kFloat64, DType::kFloat8E4m3fn},
    {DType::kInt32, DType::kFloat32},
};

// Numbers as weights have them, in `dtype`; integers are left as the bits of those.
std::vector<std::byte> Weights(DType dtype) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.05f);
  const size_t count = kSourceBytes / static_cast<size_t>(DTypeBytes(dtype));
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = i < 4096 ? normal(random) : values[i - 4096];
  std::vector<std::byte> weights(kSourceBytes);
  if (IsFloat(dtype)) {
    TESSERA_CHECK(
        ConvertElements(DType::kFloat32, std::as_bytes(std::span(values)), dtype, weights).ok());
  } else {
    std::memcpy(weights.data(), values.data(), std::min(kSourceBytes, count * sizeof(float)));
  }
  return weights;
}

// Processor time since construction.
class Stopwatch {
 public:
  double Seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

// Bytes per second, read plus written, over enough rounds for the clock.
double MemcpySpeed(const std::vector<std::byte>& src, std::vector<std::byte>& dst) {
  constexpr int kRounds = 16;
  std::memcpy(dst.data(), src.data(), kSourceBytes);
  const Stopwatch stopwatch;
  for (int i = 0; i < kRounds; ++i) {
    std::memcpy(dst.data(), src.data(), kSourceBytes);
    benchmark::ClobberMemory();
  }
  return 2.0 * kSourceBytes * kRounds / stopwatch.Seconds();
}

void Report(benchmark::State& state, size_t bytes, double seconds, double memcpy_speed) {
  const double all_bytes = static_cast<double>(bytes) * static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
  state.counters["of_memcpy"] = all_bytes / seconds / memcpy_speed;
}

void Memcpy(benchmark::State& state) {
  const std::vector<std::byte> src = Weights(DType::kFloat32);
  std::vector<std::byte> dst(kSourceBytes);
  const double memcpy_speed = MemcpySpeed(src, dst);
  const Stopwatch stopwatch;
  for (auto _ : state) {
    std::memcpy(dst.data(), src.data(), kSourceBytes);
    benchmark::ClobberMemory();
  }
  Report(state, 2 * kSourceBytes, stopwatch.Seconds(), memcpy_speed);
}

void Convert(benchmark::State& state, DType from, DType to) {
  const std::vector<std::byte> src = Weights(from);
  const size_t count = kSourceBytes / static_cast<size_t>(DTypeBytes(from));
  const size_t dst_bytes = count * static_cast<size_t>(DTypeBytes(to));
  std::vector<std::byte> dst(std::max(dst_bytes, kSourceBytes));
  const double memcpy_speed = MemcpySpeed(src, dst);
  const Stopwatch stopwatch;
  for (auto _ : state) {
    TESSERA_CHECK(ConvertElements(from, src, to, std::span(dst).first(dst_bytes)).ok());
    benchmark::ClobberMemory();
  }
  Report(state, kSourceBytes + dst_bytes, stopwatch.Seconds(), memcpy_speed);
  state.SetItemsProcessed(static_cast<int64_t>(count) * state.iterations());
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("memcpy", tessera::Memcpy);
  for (const auto& [from, to] : tessera::kPairs) {
    const std::string name =
        tessera::Concat("convert/", tessera::DTypeName(from), "/", tessera::DTypeName(to));
    benchmark::RegisterBenchmark(name.c_str(), tessera::Convert, from, to);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
