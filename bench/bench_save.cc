// Saving a state of 8 devices: how long the caller is blocked, and how long it takes in all.
//
//   bench_save FOLDER [rounds [case]]
//
// One JSON line a case:
//   large_zstd1, large_none, large_auto   2 GiB of bfloat16 in 16 arrays, split by rows
//   small                                 20,000 arrays of 4 KiB, in folders of 10, with zstd 1
// "blocked_s" is the median time until Saver::Start returns, from the second save on, as a program
// that saves again and again sees it; "first_blocked_s" that of the first, for which the system
// clears every page.  "memcpy_s" is a copy of the same bytes on all cores into memory that is
// there.  "seconds" is the median until the commit is durable; each save replaces the one before.
// FOLDER is emptied.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/checkpoint/save_tree.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/device/host_memory.h"
#include "tessera/device/host_platform.h"

namespace tessera::checkpoint {
namespace {

namespace fs = std::filesystem;
using Tree = array::ValueTree;

double Seconds(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

// Weights as training leaves them: bell-shaped around 0, cut to 16 bits.
absl::Status FillWeights(const Box& box, const StridedView& target) {
  uint64_t state = 88172645463325252u + static_cast<uint64_t>(box.rank() > 0 ? box.begin(0) : 0);
  const int64_t count = *NumElements(target.shape);
  auto* values = reinterpret_cast<uint16_t*>(target.data);
  for (int64_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const auto part = [&](int at) { return static_cast<float>(state >> at & 0xffff) / 65536.0F; };
    const float value = (part(0) + part(16) + part(32) + part(48) - 2.0F) * 0.02F;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    values[i] = static_cast<uint16_t>(bits >> 16);
  }
  return absl::OkStatus();
}

mesh::Sharding ByRows() {
  return *mesh::NamedSharding::Make(*mesh::Mesh::MakeHost({{"x", 8}}), {"x"});
}

Tree LargeTree(device::Platform& platform) {
  Tree::Items items;
  for (int i = 0; i < 16; ++i) {
    items.push_back(
        {Concat("layer", i), *array::ShardedArray::FromCallback({{8192, 8192}, DType::kBfloat16},
                                                                ByRows(), platform, FillWeights)});
  }
  return Tree::MakeDict(items);
}

Tree SmallTree(device::Platform& platform) {
  const mesh::SingleDeviceSharding first{{0, 0}};
  Tree::Items layers;
  for (int i = 0; i < 2000; ++i) {
    Tree::Items items;
    for (int j = 0; j < 10; ++j) {
      items.push_back(
          {Concat("w", j), *array::ShardedArray::FromCallback({{2048}, DType::kBfloat16}, first,
                                                              platform, FillWeights)});
    }
    layers.push_back({Concat("layer", i), Tree::MakeDict(items)});
  }
  return Tree::MakeDict(layers);
}

// The machine's own: as many bytes in one piece, on all cores.
double MemcpySeconds(int64_t bytes, int rounds) {
  const auto source = device::AllocateHostMemory(bytes);
  const auto target = device::AllocateHostMemory(bytes);
  std::memset(source.get(), 1, static_cast<size_t>(bytes));
  std::memset(target.get(), 2, static_cast<size_t>(bytes));
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    seconds.push_back(Seconds([&] {
      ParallelFor(bytes, int64_t{4} << 20, [&](int64_t begin, int64_t end) {
        std::memcpy(target.get() + begin, source.get() + begin, static_cast<size_t>(end - begin));
      });
    }));
  }
  return Median(seconds);
}

void Run(const char* name, const std::string& folder, const Tree& tree,
         const device::Platform& platform, SaveCodec codec, int rounds) {
  fs::remove_all(folder);
  Saver saver({.platform = &platform});
  SaveReport first, last;
  std::vector<double> blocked, total;
  for (int round = 0; round <= rounds; ++round) {
    const auto future = Save(tree).To(folder).Prefix("model").Codec(codec).Start(saver);
    TESSERA_CHECK(future.ok());
    const absl::Status status = saver.WaitUntilFinished();
    if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
    TESSERA_CHECK(status.ok());
    last = *future->Wait();
    if (round == 0) {
      first = last;
      continue;
    }
    blocked.push_back(last.blocked_seconds);
    total.push_back(last.total_seconds);
  }
  const double seconds = Median(total);
  fmt::print(
      "{{\"case\": \"{}\", \"bytes\": {}, \"arrays\": {}, \"stored_bytes\": {}, "
      "\"blocked_s\": {:.4f}, \"first_blocked_s\": {:.4f}, \"memcpy_s\": {:.4f}, "
      "\"seconds\": {:.3f}, \"first_s\": {:.3f}, \"GB/s\": {:.2f}}}\n",
      name, last.nbytes, last.arrays, last.stored_bytes, Median(blocked), first.blocked_seconds,
      MemcpySeconds(last.nbytes, rounds), seconds, first.total_seconds,
      static_cast<double>(last.nbytes) / seconds / 1e9);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_save FOLDER [rounds [case]]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const int rounds = std::max(1, argc > 2 ? std::atoi(argv[2]) : 3);
  const std::string_view only = argc > 3 ? argv[3] : "";
  const auto wanted = [&](std::string_view name) { return name.substr(0, only.size()) == only; };
  const auto platform = *device::MakeHostPlatform({.count = 8});
  const std::pair<const char*, SaveCodec> large[] = {
      {"large_zstd1", JaxCodec()}, {"large_none", CodecList{}}, {"large_auto", AutoCodec{}}};
  if (std::any_of(std::begin(large), std::end(large), [&](auto& c) { return wanted(c.first); })) {
    const Tree tree = LargeTree(*platform);
    for (const auto& [name, codec] : large) {
      if (wanted(name)) Run(name, folder, tree, *platform, codec, rounds);
    }
  }
  if (wanted("small")) Run("small", folder, SmallTree(*platform), *platform, JaxCodec(), rounds);
  fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace tessera::checkpoint

int main(int argc, char** argv) { return tessera::checkpoint::Main(argc, argv); }
