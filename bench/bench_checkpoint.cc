// Saves and loads a checkpoint that is there, and tells what it took.
//
//   bench_checkpoint save FROM TO CODEC [rounds]      CODEC: zstd, auto or none
//   bench_checkpoint load FROM ROWS|COLUMNS|WHOLE [rounds] [noverify]
//   bench_checkpoint limits FROM [rounds]
//
// `save` loads FROM onto 8 devices by rows, or whole what has one dimension, and saves it to TO,
// which it replaces; `load` loads FROM onto 8 devices.  One JSON line: "first_s" is the first
// round, in which the system clears every page that is used, "seconds" the median of the others.
// "blocked_s" is how long the caller of a save waits.  "beside_mib" is the most resident memory
// beside state and result.  `limits` tells what the machine takes for the same bytes: "memcpy_s" a
// copy of the state on all cores, "decode_s" libzstd alone on the stored chunks, "pread_s" reading
// them.  Files are in the page cache.  bench/checkpoint_jax.py runs this beside JAX.
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/core/task_group.h"
#include "tessera/device/host_platform.h"
#include "tessera/store/file_store.h"

namespace tessera::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr int kDevices = 8;
constexpr int64_t kBudget = int64_t{256} << 20;

template <typename T>
T Value(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  fmt::print(stderr, "bench_checkpoint: {}\n", result.status().ToString());
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

int64_t StatusBytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != field) {
  }
  int64_t kilobytes = 0;
  status >> kilobytes;
  return kilobytes << 10;
}

void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Two dimensions and more are split.
mesh::PartitionSpec SpecFor(const ledger::ArrayRecord& record, std::string_view how) {
  if (record.shape.size() < 2 || how == "whole") return {};
  if (how == "rows") return {"x"};
  return {nullptr, "x"};
}

LoadResult LoadAs(const std::string& from, std::string_view how, bool verify, IoContext& io,
                  device::Platform& platform) {
  const mesh::Mesh mesh = *mesh::Mesh::MakeHost({{"x", kDevices}});
  const ShardingFunction choose =
      [&mesh, how](const ledger::ArrayRecord& record) -> absl::StatusOr<ChosenSharding> {
    TESSERA_ASSIGN_OR_RETURN(auto sharding, mesh::NamedSharding::Make(mesh, SpecFor(record, how)));
    return ChosenSharding(std::move(sharding));
  };
  return Value(Load(from)
                   .AllPrefixes()
                   .Mesh(mesh)
                   .Shardings(ShardingChoices::Leaf(choose))
                   .Verify(verify)
                   .On(platform)
                   .With(io)
                   .Run());
}

SaveCodec CodecNamed(std::string_view name) {
  if (name == "auto") return AutoCodec{};
  return name == "none" ? CodecList{} : JaxCodec();
}

int RunSave(const std::string& from, const std::string& to, std::string_view codec, int rounds) {
  const auto platform = Value(device::MakeHostPlatform({.count = kDevices}));
  IoContext io({.budget_bytes = kBudget});
  const LoadResult state = LoadAs(from, "rows", false, io, *platform);
  Saver saver({.io = &io, .platform = platform.get()});
  std::vector<double> blocked, total;
  SaveReport first, last;
  const int64_t before = StatusBytes("VmRSS:");
  ResetPeak();
  for (int i = 0; i <= rounds; ++i) {
    fs::remove_all(to);
    const auto future = Value(Save(state.tree).To(to).Codec(CodecNamed(codec)).Start(saver));
    last = Value(future.Wait());
    if (i == 0) first = last;
    if (i > 0) blocked.push_back(last.blocked_seconds);
    if (i > 0) total.push_back(last.total_seconds);
  }
  fmt::print(
      "{{\"do\": \"save\", \"codec\": \"{}\", \"arrays\": {}, \"bytes\": {}, \"stored_bytes\": {}, "
      "\"blocked_s\": {:.4f}, \"first_blocked_s\": {:.4f}, \"seconds\": {:.4f}, \"first_s\": "
      "{:.4f}, "
      "\"beside_mib\": {}}}\n",
      codec, last.arrays, last.nbytes, last.stored_bytes, Median(blocked), first.blocked_seconds,
      Median(total), first.total_seconds, (StatusBytes("VmHWM:") - before) >> 20);
  return 0;
}

int RunLoad(const std::string& from, std::string_view how, int rounds, bool verify) {
  const auto platform = Value(device::MakeHostPlatform({.count = kDevices}));
  std::vector<double> seconds;
  double first = 0;
  int64_t beside = 0;
  LoadReport report;
  for (int i = 0; i <= rounds; ++i) {
    IoContext io({.budget_bytes = kBudget});
    const int64_t before = StatusBytes("VmRSS:");
    ResetPeak();
    const double took = Seconds([&] { report = LoadAs(from, how, verify, io, *platform).report; });
    // Later rounds take the memory of the first one's result.
    if (i == 0) first = took, beside = StatusBytes("VmHWM:") - before - report.result_bytes;
    if (i > 0) seconds.push_back(took);
  }
  fmt::print(
      "{{\"do\": \"load\", \"as\": \"{}\", \"verify\": {}, \"arrays\": {}, \"bytes\": {}, "
      "\"bytes_read\": {}, \"seconds\": {:.4f}, \"first_s\": {:.4f}, \"beside_mib\": {}}}\n",
      how, verify, report.arrays, report.result_bytes, report.counts.bytes_read, Median(seconds),
      first, beside >> 20);
  return 0;
}

double MemcpySeconds(int64_t bytes) {
  static const auto source = AllocateHostMemory(bytes);
  static const auto target = AllocateHostMemory(bytes);
  std::memset(source.get(), 1, static_cast<size_t>(bytes));
  std::memset(target.get(), 2, static_cast<size_t>(bytes));
  return Seconds([&] {
    ParallelFor(bytes, int64_t{4} << 20, [&](int64_t begin, int64_t end) {
      std::memcpy(target.get() + begin, source.get() + begin, static_cast<size_t>(end - begin));
    });
  });
}

// Calls body(i) for each of `count` on as many threads as there are cores.
void OnAllCores(size_t count, const std::function<void(size_t)>& body) {
  ThreadPool pool(DefaultThreadCount());
  TaskGroup group(pool);
  for (size_t i = 0; i < count; ++i) {
    group.Run([&body, i](std::stop_token) {
      body(i);
      return absl::OkStatus();
    });
  }
  TESSERA_CHECK(group.Join().ok());
}

int RunLimits(const std::string& from, int rounds) {
  const auto store = Value(store::OpenFileStore(from, {.create_root = false}));
  const auto platform = Value(device::MakeHostPlatform({.count = kDevices}));
  IoContext io;
  const int64_t bytes = LoadAs(from, "rows", false, io, *platform).report.result_bytes;
  std::vector<std::string> chunks;
  for (const store::ListEntry& entry : Value(store->List(""))) {
    const std::string name = fs::path(entry.key).filename();
    if (name[0] >= '0' && name[0] <= '9') chunks.push_back(entry.key);
  }
  std::vector<Bytes> stored(chunks.size());
  std::vector<double> copy, decode, read;
  for (int i = 0; i <= rounds; ++i) {
    read.push_back(Seconds([&] {
      OnAllCores(chunks.size(), [&](size_t c) {
        static thread_local std::vector<std::byte> room(size_t{64} << 20);
        TESSERA_CHECK(store->ReadAll(chunks[c], room).ok());
      });
    }));
    for (size_t c = 0; c < chunks.size(); ++c) stored[c] = *Value(store->Read(chunks[c])).value;
    const bool zstd = stored[0].text().starts_with("\x28\xb5\x2f\xfd");
    decode.push_back(!zstd ? 0 : Seconds([&] {
      OnAllCores(chunks.size(), [&](size_t c) {
        static thread_local std::vector<std::byte> room(size_t{64} << 20);
        const size_t size =
            ZSTD_decompress(room.data(), room.size(), stored[c].data(), stored[c].size());
        TESSERA_CHECK(ZSTD_isError(size) == 0);
      });
    }));
    copy.push_back(MemcpySeconds(bytes));
  }
  fmt::print(
      "{{\"do\": \"limits\", \"bytes\": {}, \"memcpy_s\": {:.4f}, \"decode_s\": {:.4f}, "
      "\"pread_s\": {:.4f}}}\n",
      bytes, Median(copy), Median(decode), Median(read));
  return 0;
}

int Main(const std::vector<std::string>& words) {
  const auto count = [&](size_t at) {
    return words.size() > at ? std::max(1, std::atoi(words[at].c_str())) : 3;
  };
  if (words.size() >= 4 && words[0] == "save") {
    return RunSave(words[1], words[2], words[3], count(4));
  }
  if (words.size() >= 3 && words[0] == "load") {
    return RunLoad(words[1], words[2], count(3), words.back() != "noverify");
  }
  if (words.size() >= 2 && words[0] == "limits") return RunLimits(words[1], count(2));
  fmt::print(stderr,
             "usage: bench_checkpoint save FROM TO zstd|auto|none [rounds]\n"
             "       bench_checkpoint load FROM rows|columns|whole [rounds] [noverify]\n"
             "       bench_checkpoint limits FROM [rounds]\n");
  return 2;
}

}  // namespace
}  // namespace tessera::checkpoint

int main(int argc, char** argv) {
  return tessera::checkpoint::Main(std::vector<std::string>(argv + 1, argv + argc));
}
