// Loading a state onto 8 devices: as it was saved, and split the other way.
//
//   bench_load FOLDER [rounds [case]]
//
// One JSON line a case, for files that are in the page cache:
//   zstd1_rows, zstd1_columns, none_rows, none_columns   2 GiB of bfloat16 in 16 arrays that were
//                                     saved in 8 row shards, wanted as 8 row or 8 column shards
//   small                             20,000 arrays of 4 KiB in folders of 10, on one device
// each with and without "verify".  "seconds" is the median, from the folder's name to the tree;
// "beside_mib" the most memory of any round beside its result, of which "budget_mib" is the bound;
// "memcpy_s" a copy of the same bytes on all cores into memory that is there.  "cpu_s" is
// processor time of all threads, which a busy machine disturbs less.  What FOLDER has under the
// names of the cases is replaced, and kept.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/checkpoint/load_tree.h"
#include "tessera/core/mutex.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/ledger/index_file.h"
#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBudget = int64_t{256} << 20;

template <typename T>
T Value(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  fmt::print(stderr, "{}\n", result.status().ToString());
  std::exit(1);
}

double Seconds(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

// Of all threads, so far.
double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int64_t StatusBytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != field) {
  }
  int64_t kilobytes = 0;
  status >> kilobytes;
  return kilobytes << 10;
}

// Weights as training leaves them: bell-shaped around 0, cut to 16 bits.
std::vector<uint16_t> Weights(int64_t count) {
  uint64_t state = 88172645463325252u;
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& each : values) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const auto part = [&](int at) { return static_cast<float>(state >> at & 0xffff) / 65536.0F; };
    const float value = (part(0) + part(16) + part(32) + part(48) - 2.0F) * 0.02F;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    each = static_cast<uint16_t>(bits >> 16);
  }
  return values;
}

// Writes arrays, and what an index and a manifest say of them.
class Writer {
 public:
  explicit Writer(const fs::path& folder)
      : store_(Value(store::OpenFileStore(folder, {.durability = store::Durability::kKernel}))) {}

  void Add(const std::string& path, const ShapeDtype& about, const Dims& chunks, bool compressed,
           std::span<const std::byte> elements) {
    zarr::Metadata metadata = zarr::JaxMetadata(about, chunks);
    if (!compressed) metadata.codecs.compression.clear();
    const zarr::Array array = Value(zarr::Array::Create(*store_, path, metadata));
    ledger::ArrayManifest manifest{path, ".zarray", zarr::MetadataText(metadata), {}};
    Mutex mutex;
    zarr::WriteOptions options;
    options.on_stored = [&](std::string_view key, const zarr::StoredValue& value) {
      MutexLock lock(mutex);
      manifest.chunks.push_back({std::string(key.substr(path.size() + 1)), value.size, value.hash});
    };
    Value(array.Write(Box::Whole(about.shape), RowMajorView(elements.data(), about.shape, 2), io_,
                      options));
    manifest_.arrays.push_back(std::move(manifest));
    change_.arrays.push_back({path, about.shape, std::string(DTypeName(about.dtype))});
  }

  void Finish() {
    change_.note.manifest = ".tessera/manifests/bench.json";
    const std::string index = Value(ledger::ApplyIndexChange({}, change_));
    manifest_.id = "bench";
    manifest_.index_digest = ledger::IndexDigest(Value(ledger::DecodeIndexFile(index)), "");
    Write(change_.note.manifest, Value(ledger::EncodeManifest(manifest_)));
    Write(std::string(ledger::kIndexName), index);
  }

 private:
  void Write(const std::string& key, const std::string& text) {
    Value(store_->Write(key, std::as_bytes(std::span(text))));
  }

  std::unique_ptr<store::KvStore> store_;
  IoContext io_;
  ledger::IndexChange change_;
  ledger::Manifest manifest_;
};

void WriteLarge(const fs::path& folder, bool compressed) {
  Writer writer(folder);
  const std::vector<uint16_t> weights = Weights(int64_t{8192} * 8192);
  for (int i = 0; i < 16; ++i) {
    writer.Add(fmt::format("layer{}", i), {{8192, 8192}, DType::kBfloat16}, {1024, 8192},
               compressed, std::as_bytes(std::span(weights)));
  }
  writer.Finish();
}

void WriteSmall(const fs::path& folder) {
  Writer writer(folder);
  const std::vector<uint16_t> weights = Weights(2048);
  for (int i = 0; i < 20000; ++i) {
    writer.Add(fmt::format("layer{:04}/w{}", i / 10, i % 10), {{32, 64}, DType::kBfloat16},
               {32, 64}, true, std::as_bytes(std::span(weights)));
  }
  writer.Finish();
}

double MemcpySeconds(int64_t bytes) {
  std::vector<std::byte> from(static_cast<size_t>(bytes), std::byte{1});
  std::vector<std::byte> to(static_cast<size_t>(bytes), std::byte{2});
  return Seconds([&] {
    ParallelFor(bytes, 1 << 20, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
    });
  });
}

struct Case {
  std::string name;
  std::string folder;
  mesh::PartitionSpec spec;
  int64_t devices;
};

void Measure(const fs::path& root, const Case& each, bool verify, int rounds) {
  const mesh::Mesh mesh = *mesh::Mesh::MakeHost({{"x", each.devices}});
  std::vector<double> seconds;
  std::vector<double> cpu;
  int64_t beside = 0;
  LoadReport report;
  const auto platform = Value(device::MakeHostPlatform({.count = each.devices}));
  for (int i = 0; i <= rounds; ++i) {
    IoContext io({.budget_bytes = kBudget});
    // What the platform keeps of the round before is the memory of this one's result.
    const int64_t kept = i == 0 ? 0 : report.result_bytes;
    std::ofstream("/proc/self/clear_refs") << "5";
    const int64_t before = StatusBytes("VmRSS:");
    const double cpu_before = CpuSeconds();
    const double took = Seconds([&] {
      report = Value(Load((root / each.folder).string())
                         .Mesh(mesh)
                         .Rules({{".*", each.spec}})
                         .Verify(verify)
                         .On(*platform)
                         .With(io)
                         .Run())
                   .report;
    });
    beside = std::max(beside, StatusBytes("VmHWM:") - before - (report.result_bytes - kept));
    if (i == 0) continue;  // it fills the cache
    seconds.push_back(took);
    cpu.push_back(CpuSeconds() - cpu_before);
  }
  const double median = Median(seconds);
  fmt::print(
      "{{\"bench\": \"load\", \"case\": \"{}\", \"verify\": {}, \"arrays\": {}, \"bytes\": {}, "
      "\"bytes_read\": {}, \"seconds\": {:.4f}, \"cpu_s\": {:.4f}, \"GB_per_s\": {:.2f}, "
      "\"arrays_per_s\": {:.0f}, "
      "\"beside_mib\": {}, \"budget_mib\": {}, \"memcpy_s\": {:.4f}}}\n",
      each.name, verify, report.arrays, report.result_bytes, report.counts.bytes_read, median,
      Median(cpu), static_cast<double>(report.result_bytes) * 1e-9 / median,
      static_cast<double>(report.arrays) / median, beside >> 20, kBudget >> 20,
      MemcpySeconds(report.result_bytes));
  std::fflush(stdout);
}

int Main(const fs::path& root, int rounds, std::string_view only) {
  const std::vector<Case> cases{{"zstd1_rows", "zstd1", {"x"}, 8},
                                {"zstd1_columns", "zstd1", {nullptr, "x"}, 8},
                                {"none_rows", "none", {"x"}, 8},
                                {"none_columns", "none", {nullptr, "x"}, 8},
                                {"small", "small", {}, 1}};
  std::set<std::string> written;
  for (const Case& each : cases) {
    if (!only.empty() && each.name != only) continue;
    if (written.insert(each.folder).second) {
      fs::remove_all(root / each.folder);
      fs::create_directories(root / each.folder);
      if (each.folder == "small") {
        WriteSmall(root / each.folder);
      } else {
        WriteLarge(root / each.folder, each.folder == "zstd1");
      }
    }
    for (const bool verify : {true, false}) Measure(root, each, verify, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace tessera::checkpoint

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_load FOLDER [rounds [case]]\n");
    return 2;
  }
  return tessera::checkpoint::Main(argv[1], argc > 2 ? std::atoi(argv[2]) : 3,
                                   argc > 3 ? argv[3] : "");
}
