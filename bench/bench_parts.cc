// A quarter of a gigabyte of bfloat16 in a zarr array: what verifying costs, and many boxes at
// once.
//
// usage: [TESSERA_BENCH_DIR=DIR] bench_parts [flags of Google Benchmark]
//
// DIR, the system's folder for temporary files if it is not set, takes an array with zstd at level
// 1 and one without compression: 8192 x 16384 weights in chunks of 256 x 8192 (4 MiB).  Files are
// in the page cache, destinations have been written to before.  Limits do what nobody can leave
// out: the copy from one dense array to the boxes, and the hash of the bytes, on one core.
// Counters: GB/s of decoded bytes; cpu_s, processor time of all threads in one round.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <benchmark/benchmark.h>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/io_context.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"

namespace tessera::zarr {
namespace {

namespace fs = std::filesystem;

const Dims kShape{8192, 16384};
const Dims kChunk{256, 8192};
constexpr int64_t kBytes = int64_t{256} << 20;

template <typename T>
T Value(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

// Bytes of trained weights: the low ones are noise, the high ones are few.
std::vector<std::byte> Weights() {
  std::vector<std::byte> weights(kBytes);
  std::mt19937_64 engine(1);
  for (int64_t i = 0; i < kBytes; i += 8) {
    const uint64_t noise = engine();
    for (int64_t j = 0; j < 8; j += 2) {
      weights[i + j] = static_cast<std::byte>(noise >> (8 * j));
      const uint64_t spread = noise >> (8 * j + 8) & 255;
      weights[i + j + 1] = static_cast<std::byte>(0x3a + (spread == 0 ? 1 : 0) + (spread >> 6));
    }
  }
  return weights;
}

// The arrays, made by the first who asks.
class Arrays {
 public:
  static Arrays& Get() {
    static Arrays arrays;
    return arrays;
  }
  ~Arrays() { fs::remove_all(folder_); }

  store::KvStore& store() { return *store_; }
  const std::vector<std::byte>& weights() const { return weights_; }
  const Array& Named(const std::string& name) const { return arrays_.at(name); }
  ReadOptions Expected() const {
    return {.expected = [this](std::string_view key) -> std::optional<StoredValue> {
      return known_.at(std::string(key));
    }};
  }

  static Metadata MetadataOf(const std::string& name) {
    Metadata metadata = JaxMetadata({kShape, DType::kBfloat16}, kChunk);
    if (name == "plain") metadata.codecs.compression.clear();
    return metadata;
  }

 private:
  Arrays() {
    const char* base = std::getenv("TESSERA_BENCH_DIR");
    folder_ = (base != nullptr ? fs::path(base) : fs::temp_directory_path()) / "bench_parts";
    store_ =
        Value(store::OpenFileStore(folder_.string(), {.durability = store::Durability::kKernel}));
    IoContext io;
    Mutex mutex;
    for (const std::string name : {"zstd", "plain"}) {
      TESSERA_CHECK(store_->DeletePrefix(name + "/").ok());
      const Array array = Value(Array::Create(*store_, name, MetadataOf(name)));
      Value(array.Write(Box::Whole(kShape), RowMajorView(weights_.data(), kShape, 2), io,
                        {.on_stored = [&](std::string_view key, const StoredValue& value) {
                          MutexLock lock(mutex);
                          known_[std::string(key)] = value;
                        }}));
      arrays_.emplace(name, array);
    }
  }

  const std::vector<std::byte> weights_ = Weights();
  fs::path folder_;
  std::unique_ptr<store::KvStore> store_;
  std::unordered_map<std::string, Array> arrays_;
  std::unordered_map<std::string, StoredValue> known_;
};

// The array cut into boxes of equally many columns.
class Columns final : public Destination {
 public:
  explicit Columns(int64_t count) {
    const Dims shape{kShape[0], kShape[1] / count};
    for (int64_t i = 0; i < count; ++i) {
      boxes_.push_back(Value(Box::Make(Dims{0, i * shape[1]}, shape)));
      memory_.emplace_back(kBytes / count, std::byte{1});
    }
  }

  std::optional<StridedView> MemoryFor(const Box& box) override {
    for (size_t i = 0; i < boxes_.size(); ++i) {
      if (Contains(boxes_[i], box)) return SubView(View(i), RelativeTo(box, boxes_[i].origin()));
    }
    return std::nullopt;
  }

  absl::Status Put(const Box& box, const ConstStridedView& elements) override {
    for (size_t i = 0; i < boxes_.size(); ++i) {
      const Box shared = Intersect(boxes_[i], box);
      if (shared.empty()) continue;
      TESSERA_RETURN_IF_ERROR(
          CopyStrided(SubView(elements, RelativeTo(shared, box.origin())),
                      SubView(View(i), RelativeTo(shared, boxes_[i].origin()))));
    }
    return absl::OkStatus();
  }

 private:
  StridedView View(size_t i) { return RowMajorView(memory_[i].data(), boxes_[i].shape(), 2); }

  std::vector<Box> boxes_;
  std::vector<std::vector<std::byte>> memory_;
};

std::vector<Box> AllParts() {
  const CellRange cells = Value(CellRange::Of(Box::Whole(kShape), kChunk));
  std::vector<Box> parts;
  for (int64_t i = 0; i < cells.size(); ++i) parts.push_back(CellBox(cells.at(i), kChunk, kShape));
  return parts;
}

double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void Measure(benchmark::State& state, absl::FunctionRef<void()> round) {
  const double before = CpuSeconds();
  for (auto _ : state) round();
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(kBytes) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
  state.counters["cpu_s"] = (CpuSeconds() - before) / static_cast<double>(state.iterations());
}

void Read(benchmark::State& state, const std::string& name, int64_t boxes, bool verify,
          int64_t budget = int64_t{512} << 20) {
  const Array& array = Arrays::Get().Named(name);
  const std::vector<Box> parts = AllParts();
  Columns destination(boxes);
  IoContext io({.budget_bytes = budget});
  Measure(state, [&] {
    Value(
        array.ReadParts(parts, destination, io, verify ? Arrays::Get().Expected() : ReadOptions{}));
  });
}

void Write(benchmark::State& state, const std::string& name, bool hash) {
  Arrays& arrays = Arrays::Get();
  const Array array = Value(Array::Assume(arrays.store(), "written", Arrays::MetadataOf(name)));
  IoContext io;
  WriteOptions options;
  if (hash) options.on_stored = [](std::string_view, const StoredValue&) {};
  Measure(state, [&] {
    Value(array.Write(Box::Whole(kShape), RowMajorView(arrays.weights().data(), kShape, 2), io,
                      options));
  });
}

void LimitCopy(benchmark::State& state, int64_t boxes) {
  const std::vector<std::byte>& weights = Arrays::Get().weights();
  Columns destination(boxes);
  Measure(state, [&] {
    TESSERA_CHECK(
        destination.Put(Box::Whole(kShape), RowMajorView(weights.data(), kShape, 2)).ok());
  });
}

void LimitHash(benchmark::State& state) {
  const std::vector<std::byte>& weights = Arrays::Get().weights();
  Measure(state, [&] { benchmark::DoNotOptimize(HashOf(std::span<const std::byte>(weights))); });
}

#define TESSERA_ROUNDS ->Iterations(4)->Unit(benchmark::kMillisecond)->UseRealTime()
BENCHMARK_CAPTURE(Read, zstd, "zstd", 1, false) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, zstd_verified, "zstd", 1, true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, zstd_columns, "zstd", 16, false) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, zstd_columns_verified, "zstd", 16, true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, zstd_columns_in_8_mib, "zstd", 16, true, 8 << 20) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain, "plain", 1, false) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain_verified, "plain", 1, true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain_direct, "plain", 2, false) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain_direct_verified, "plain", 2, true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain_columns, "plain", 16, false) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain_columns_verified, "plain", 16, true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Write, zstd, "zstd", false) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Write, zstd_hashed, "zstd", true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Write, plain, "plain", false) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Write, plain_hashed, "plain", true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(LimitCopy, one_box, 1) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(LimitCopy, columns, 16) TESSERA_ROUNDS;
BENCHMARK(LimitHash) TESSERA_ROUNDS;

}  // namespace
}  // namespace tessera::zarr

BENCHMARK_MAIN();
