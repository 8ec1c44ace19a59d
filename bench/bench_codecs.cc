// Codecs over weights: 16 MiB of normally distributed bfloat16, one thread.
//
// bytes_per_second counts decoded bytes; ratio is encoded to decoded bytes; of_memcpy divides the
// speed by that of memcpy over as much.  Buffers are kept between rounds, as a saver keeps them.
// All times are processor time.
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "tessera/codec/array_codec.h"
#include "tessera/codec/auto.h"
#include "tessera/codec/chain.h"
#include "tessera/core/convert.h"
#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

constexpr int64_t kRows = 2048;
constexpr int64_t kColumns = 4096;
constexpr size_t kBytes = size_t{2} * kRows * kColumns;

using Data = std::vector<std::byte>;

Data MakeWeights() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(kBytes / 2);
  for (float& value : values) value = normal(random);
  Data weights(kBytes);
  TESSERA_CHECK(
      ConvertElements(DType::kFloat32, std::as_bytes(std::span(values)), DType::kBfloat16, weights)
          .ok());
  return weights;
}

const Data& Weights() {
  static const Data weights = MakeWeights();
  return weights;
}

// Processor time since construction.
class Stopwatch {
 public:
  double Seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

// Measured once, before any case.
double MemcpySpeed() {
  static const double speed = [] {
    constexpr int kRounds = 32;
    const Data& weights = Weights();
    Data target(kBytes);
    const Stopwatch stopwatch;
    for (int i = 0; i < kRounds; ++i) {
      std::memcpy(target.data(), weights.data(), kBytes);
      benchmark::ClobberMemory();
    }
    return static_cast<double>(kBytes) * kRounds / stopwatch.Seconds();
  }();
  return speed;
}

void Report(benchmark::State& state, double seconds, size_t encoded) {
  const auto bytes = static_cast<double>(kBytes) * static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(kBytes) * state.iterations());
  state.counters["ratio"] = static_cast<double>(encoded) / static_cast<double>(kBytes);
  state.counters["of_memcpy"] = bytes / seconds / MemcpySpeed();
}

void Encode(benchmark::State& state, const std::vector<BytesSpec>& specs) {
  const auto chain = Chain::Make(specs);
  TESSERA_CHECK(chain.ok());
  Scratch scratch;
  size_t encoded = 0;
  const Stopwatch stopwatch;
  for (auto _ : state) encoded = chain->Encode(Weights(), scratch)->size();
  Report(state, stopwatch.Seconds(), encoded);
}

void Decode(benchmark::State& state, const std::vector<BytesSpec>& specs) {
  const auto chain = Chain::Make(specs);
  TESSERA_CHECK(chain.ok());
  Scratch encoding;
  const auto encoded = chain->Encode(Weights(), encoding);
  TESSERA_CHECK(encoded.ok());
  Data target(kBytes);
  Scratch scratch;
  const Stopwatch stopwatch;
  for (auto _ : state) TESSERA_CHECK(chain->Decode(*encoded, target, scratch).ok());
  Report(state, stopwatch.Seconds(), encoded->size());
}

// Without compression: what byte order and layout alone cost.
void EncodeArray(benchmark::State& state, const ArraySpec& spec) {
  const auto codec = ArrayCodec::Make(spec);
  TESSERA_CHECK(codec.ok());
  Scratch scratch;
  const auto source = RowMajorView(Weights().data(), spec.array.shape, 2);
  const Stopwatch stopwatch;
  for (auto _ : state) TESSERA_CHECK(codec->Encode(source, scratch).ok());
  Report(state, stopwatch.Seconds(), kBytes);
}

void DecodeArray(benchmark::State& state, const ArraySpec& spec) {
  const auto codec = ArrayCodec::Make(spec);
  TESSERA_CHECK(codec.ok());
  Data memory(kBytes);
  const auto target = RowMajorView(memory.data(), spec.array.shape, 2);
  const Box whole = Box::Whole(spec.array.shape);
  Scratch scratch;
  const Stopwatch stopwatch;
  for (auto _ : state) TESSERA_CHECK(codec->Decode(Weights(), whole, target, scratch).ok());
  Report(state, stopwatch.Seconds(), kBytes);
}

// What choosing costs for one array.
void Choose(benchmark::State& state) {
  const Data& weights = Weights();
  const Workload workload{{1e9, 1e9}, 4, 1};
  Scratch scratch;
  for (auto _ : state) TESSERA_CHECK(ChooseCodecFor(weights, 2, workload, scratch).ok());
}

BytesSpec Blosc(const char* compressor, BloscSpec::Shuffle shuffle) {
  return BloscSpec{compressor, 5, shuffle, 2, 0};
}

void RegisterAll() {
  MemcpySpeed();
  using Shuffle = BloscSpec::Shuffle;
  const std::pair<const char*, std::vector<BytesSpec>> chains[] = {
      {"zstd_1", {ZstdSpec{1}}},
      {"zstd_3", {ZstdSpec{3}}},
      {"blosc_lz4_none", {Blosc("lz4", Shuffle::kNone)}},
      {"blosc_lz4_bytes", {Blosc("lz4", Shuffle::kBytes)}},
      {"blosc_lz4_bits", {Blosc("lz4", Shuffle::kBits)}},
      {"blosc_zstd_bits", {Blosc("zstd", Shuffle::kBits)}},
      {"gzip_1", {DeflateSpec{DeflateSpec::Wrapping::kGzip, 1}}},
      {"zlib_1", {DeflateSpec{DeflateSpec::Wrapping::kZlib, 1}}},
      {"bz2_1", {Bz2Spec{1}}},
      {"crc32c", {Crc32cSpec{}}},
      {"zstd_1_crc32c", {ZstdSpec{1}, Crc32cSpec{}}},
  };
  for (const auto& [name, specs] : chains) {
    benchmark::RegisterBenchmark(Concat("encode/", name).c_str(), Encode, specs);
    benchmark::RegisterBenchmark(Concat("decode/", name).c_str(), Decode, specs);
  }
  const ShapeDtype array{{kRows, kColumns}, DType::kBfloat16};
  const std::pair<const char*, ArraySpec> arrays[] = {
      {"big_endian", {.array = array, .endian = Endian::kBig}},
      {"transposed", {.array = array, .transposes = {{1, 0}}}},
  };
  for (const auto& [name, spec] : arrays) {
    benchmark::RegisterBenchmark(Concat("encode_array/", name).c_str(), EncodeArray, spec);
    benchmark::RegisterBenchmark(Concat("decode_array/", name).c_str(), DecodeArray, spec);
  }
  benchmark::RegisterBenchmark("choose", Choose);
}

}  // namespace
}  // namespace tessera::codec

int main(int argc, char** argv) {
  tessera::codec::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
