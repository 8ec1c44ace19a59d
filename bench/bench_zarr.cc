// One gigabyte of bfloat16 in a zarr array: read, written, and what the machine can do at best.
//
// usage: TESSERA_BENCH_DIR=DIR bench_zarr [flags of Google Benchmark]
//
// DIR holds arrays that zarr_tensorstore.py makes (zstd_rows, zstd_tiles, plain_rows, plain_tiles:
// the same weights, chunks of 16 MiB) and takes those that are written here.  Limits do only what
// nobody can leave out: libzstd over chunks that are in memory already, pread into the same memory,
// on all cores.  A destination has been written to before, unless the case says fresh: getting
// pages from the kernel costs as much as decoding, and is the same for everybody.
// Counters: GB/s of decoded bytes; cpu_s, processor time of all threads in one round, which a busy
// machine disturbs less; beside_mib, the most memory beside the destination.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "tessera/core/io_context.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"

namespace tessera::zarr {
namespace {

namespace fs = std::filesystem;

// Of memory beside the destination.
constexpr int64_t kBudget = 512 << 20;

std::string Folder() {
  const char* folder = std::getenv("TESSERA_BENCH_DIR");
  if (folder != nullptr) return folder;
  std::fprintf(stderr, "set TESSERA_BENCH_DIR to the folder that zarr_tensorstore.py made\n");
  std::exit(2);
}

template <typename T>
T Value(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

// Memory for a destination.
class Destination {
 public:
  Destination(size_t size, bool fresh) : size_(size) {
    data_ = static_cast<std::byte*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    TESSERA_CHECK(data_ != MAP_FAILED);
    madvise(data_, size, MADV_HUGEPAGE);
    if (!fresh) std::memset(data_, 1, size);
  }
  ~Destination() { munmap(data_, size_); }
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  size_t size_;
};

// Of this program; what it was started from does not count, as it would with getrusage.
int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmHWM:") {
  }
  int64_t kilobytes = 0;
  status >> kilobytes;
  return kilobytes << 10;
}

// Processor time of all threads since construction.
class CpuClock {
 public:
  double Seconds() const { return Now() - start_; }

 private:
  static double Now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  double start_ = Now();
};

void Report(benchmark::State& state, double cpu_seconds, int64_t bytes, int64_t destination) {
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(bytes) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
  state.counters["cpu_s"] = cpu_seconds;
  state.counters["beside_mib"] = static_cast<double>((PeakBytes() - destination) >> 20);
}

void Read(benchmark::State& state, const std::string& name,
          const std::function<Box(DimsView)>& part, bool fresh = false) {
  const auto store = Value(store::OpenFileStore(Folder(), {.create_root = false}));
  const Array array = Value(Array::Open(*store, name));
  const Box box = part(array.metadata().shape);
  const int64_t bytes = Value(NumBytes(array.metadata().dtype, box.shape()));
  IoContext io({.budget_bytes = kBudget});
  const Destination memory(bytes, fresh);
  double cpu = 0;
  for (auto _ : state) {
    const CpuClock clock;
    const ReadReport report =
        Value(array.Read(box, RowMajorView(memory.data(), box.shape(), 2), io));
    TESSERA_CHECK(report.absent_chunks == 0);
    cpu = clock.Seconds();
  }
  Report(state, cpu, bytes, bytes);
}

Box Everything(DimsView shape) { return Box::Whole(shape); }

// One sixteenth of every chunk of 256 rows, in pieces.
Box Sixteenth(DimsView shape) {
  return Value(Box::Make(Dims{0, shape[1] / 2}, Dims{shape[0], shape[1] / 16}));
}

// The weights, decoded.
std::vector<std::byte> Weights(const Array& array) {
  std::vector<std::byte> weights(Value(NumBytes(array.metadata().dtype, array.metadata().shape)));
  IoContext io;
  Value(array.Read(Box::Whole(array.metadata().shape),
                   RowMajorView(weights.data(), array.metadata().shape, 2), io));
  return weights;
}

void Write(benchmark::State& state, const std::string& name, store::Durability durability) {
  const auto store = Value(store::OpenFileStore(Folder(), {.durability = durability}));
  const Array like = Value(Array::Open(*store, name));
  const std::vector<std::byte> weights = Weights(like);
  IoContext io({.budget_bytes = kBudget});
  double cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    TESSERA_CHECK(store->DeletePrefix("written/").ok());
    state.ResumeTiming();
    const CpuClock clock;
    const Array array = Value(Array::Create(*store, "written", like.metadata()));
    Value(array.Write(Box::Whole(like.metadata().shape),
                      RowMajorView(weights.data(), like.metadata().shape, 2), io));
    cpu = clock.Seconds();
  }
  Report(state, cpu, static_cast<int64_t>(weights.size()), static_cast<int64_t>(weights.size()));
}

// Calls work(i) for i in [0, count) on as many threads as there are cores.
void OnAllCores(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < DefaultThreadCount(); ++t) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The chunk files of an array that lie in memory one after the other.
std::vector<fs::path> ChunkFiles(const std::string& name) {
  const auto store = Value(store::OpenFileStore(Folder(), {.create_root = false}));
  const Array array = Value(Array::Open(*store, name));
  const int64_t chunks = array.metadata().shape[0] / array.metadata().chunk_shape[0];
  std::vector<fs::path> files;
  for (int64_t i = 0; i < chunks; ++i)
    files.push_back(fs::path(Folder()) / array.KeyOf(Dims{i, 0}));
  return files;
}

std::vector<char> Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void LimitZstdDecode(benchmark::State& state) {
  std::vector<std::vector<char>> chunks;
  for (const fs::path& path : ChunkFiles("zstd_rows")) chunks.push_back(Contents(path));
  const size_t each = ZSTD_getFrameContentSize(chunks[0].data(), chunks[0].size());
  const Destination memory(each * chunks.size(), false);
  double cpu = 0;
  for (auto _ : state) {
    const CpuClock clock;
    OnAllCores(chunks.size(), [&](size_t i) {
      thread_local ZSTD_DCtx* context = ZSTD_createDCtx();
      TESSERA_CHECK(ZSTD_decompressDCtx(context, memory.data() + i * each, each, chunks[i].data(),
                                        chunks[i].size()) == each);
    });
    cpu = clock.Seconds();
  }
  Report(state, cpu, static_cast<int64_t>(each * chunks.size()), 0);
}

void LimitZstdEncode(benchmark::State& state) {
  const auto store = Value(store::OpenFileStore(Folder()));
  const std::vector<std::byte> weights = Weights(Value(Array::Open(*store, "zstd_rows")));
  constexpr size_t kChunk = 16 << 20;
  double cpu = 0;
  for (auto _ : state) {
    const CpuClock clock;
    OnAllCores(weights.size() / kChunk, [&](size_t i) {
      thread_local ZSTD_CCtx* context = ZSTD_createCCtx();
      thread_local std::vector<std::byte> room(ZSTD_compressBound(kChunk));
      TESSERA_CHECK(!ZSTD_isError(ZSTD_compressCCtx(context, room.data(), room.size(),
                                                    weights.data() + i * kChunk, kChunk, 1)));
    });
    cpu = clock.Seconds();
  }
  Report(state, cpu, static_cast<int64_t>(weights.size()), 0);
}

void LimitPread(benchmark::State& state) {
  const std::vector<fs::path> files = ChunkFiles("plain_rows");
  const size_t each = fs::file_size(files[0]);
  const Destination memory(each * files.size(), false);
  double cpu = 0;
  for (auto _ : state) {
    const CpuClock clock;
    OnAllCores(files.size(), [&](size_t i) {
      const int file = open(files[i].c_str(), O_RDONLY);
      for (size_t done = 0; done < each;) {
        const ssize_t count = pread(file, memory.data() + i * each + done, each - done, done);
        TESSERA_CHECK(count > 0);
        done += count;
      }
      close(file);
    });
    cpu = clock.Seconds();
  }
  Report(state, cpu, static_cast<int64_t>(each * files.size()), 0);
}

void LimitPwrite(benchmark::State& state) {
  const auto store = Value(store::OpenFileStore(Folder()));
  const std::vector<std::byte> weights = Weights(Value(Array::Open(*store, "plain_rows")));
  constexpr size_t kChunk = 16 << 20;
  const fs::path folder = fs::path(Folder()) / "limit";
  double cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    fs::remove_all(folder);
    fs::create_directories(folder);
    state.ResumeTiming();
    const CpuClock clock;
    OnAllCores(weights.size() / kChunk, [&](size_t i) {
      const int file = open((folder / std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0666);
      for (size_t done = 0; done < kChunk;) {
        const ssize_t count = pwrite(file, weights.data() + i * kChunk + done, kChunk - done, done);
        TESSERA_CHECK(count > 0);
        done += count;
      }
      close(file);
    });
    cpu = clock.Seconds();
  }
  fs::remove_all(folder);
  Report(state, cpu, static_cast<int64_t>(weights.size()), 0);
}

#define TESSERA_ROUNDS ->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime()
BENCHMARK_CAPTURE(Read, zstd_rows, "zstd_rows", Everything) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, zstd_tiles, "zstd_tiles", Everything) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain_rows, "plain_rows", Everything) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain_tiles, "plain_tiles", Everything) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, zstd_fresh, "zstd_rows", Everything, true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, plain_fresh, "plain_rows", Everything, true) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Read, zstd_sixteenth, "zstd_rows", Sixteenth) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Write, zstd_rows, "zstd_rows", store::Durability::kKernel) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Write, zstd_tiles, "zstd_tiles", store::Durability::kKernel) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Write, plain_rows, "plain_rows", store::Durability::kKernel) TESSERA_ROUNDS;
BENCHMARK_CAPTURE(Write, zstd_rows_synced, "zstd_rows", store::Durability::kDisk) TESSERA_ROUNDS;
BENCHMARK(LimitZstdDecode) TESSERA_ROUNDS;
BENCHMARK(LimitZstdEncode) TESSERA_ROUNDS;
BENCHMARK(LimitPread) TESSERA_ROUNDS;
BENCHMARK(LimitPwrite) TESSERA_ROUNDS;

}  // namespace
}  // namespace tessera::zarr

BENCHMARK_MAIN();
