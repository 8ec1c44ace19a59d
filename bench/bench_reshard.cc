// Resharding on host devices of one process, rows to columns.
//
// Usage: bench_reshard [rounds [case]]
//
// One JSON line a case:
//   same_devices   2 GiB from rows to columns over the same 8 devices
//   bytes          the same for less, to show that cost is linear in bytes
//   devices        512 MiB from rows on n devices to columns on n others, n = 1, 8, 64, 512
// "seconds" is the median of Reshard, which plans, takes memory and copies; the memory is that of
// the result before, which the platform has kept.  Beside it, from the same rounds: "fresh_s",
// Reshard on a platform that keeps none, so that the system clears every page; "copy_s",
// CopyStrided of the same pieces on all cores into memory that is there, which is what this machine
// can do; "fresh_copy_s", the same into fresh memory; and "plan_s".  Dropping the results is not
// counted, as it is not in the Python peer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/array/reshard.h"
#include "tessera/comm/alone.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"

namespace tessera::array {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

double Seconds(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

mesh::Sharding OnDevices(int64_t first, int64_t count, mesh::PartitionSpec spec) {
  std::vector<mesh::Device> devices;
  for (int64_t i = first; i < first + count; ++i) devices.push_back({i, 0});
  return *mesh::NamedSharding::Make(*mesh::Mesh::Make({{"x", count}}, devices), std::move(spec));
}

struct Case {
  const char* name;
  DType dtype;
  int64_t bytes;
  int64_t devices;
  bool to_others;

  // Rows of 128 KiB, or of 64 KiB where elements have two bytes.
  ShapeDtype array() const {
    const int64_t columns = 32768;
    return {{bytes / columns / DTypeBytes(dtype), columns}, dtype};
  }
  mesh::Sharding from() const { return OnDevices(0, devices, {"x"}); }
  mesh::Sharding to() const { return OnDevices(to_others ? devices : 0, devices, {nullptr, "x"}); }
};

ShardedArray MakeSource(const Case& c, device::Platform& platform) {
  const auto fill = [](const Box&, const StridedView& target) {
    const int64_t bytes = target.shape[0] * target.shape[1] * target.element_bytes;
    for (int64_t i = 0; i < bytes; ++i) target.data[i] = static_cast<std::byte>(i * 7);
    return absl::OkStatus();
  };
  return *ShardedArray::FromCallback(c.array(), c.from(), platform, fill);
}

// The pieces of a plan between the source and memory for the targets.
class Pieces {
 public:
  Pieces(const ReshardPlan& plan, const ShardedArray& source) {
    const int64_t element = DTypeBytes(plan.array.dtype);
    for (const mesh::DeviceShard& shard : plan.targets) {
      targets_.push_back(AllocateHostMemory(*NumBytes(plan.array.dtype, shard.box.shape())));
    }
    for (const LocalCopy& copy : plan.copies) {
      const Shard& from = source.shards()[static_cast<size_t>(copy.source)];
      const auto to = static_cast<size_t>(copy.target);
      const Box& box = plan.targets[to].box;
      sources_.push_back(
          SubView(from.View(plan.array.dtype), RelativeTo(copy.box, from.box.origin())));
      views_.push_back(SubView(RowMajorView(targets_[to].get(), box.shape(), element),
                               RelativeTo(copy.box, box.origin())));
    }
  }

  void Copy() const {
    const auto count = static_cast<int64_t>(views_.size());
    // Few large pieces are cut by rows, so that all cores have work to the end.
    const int64_t parts = std::max<int64_t>(1, 256 / count);
    ParallelFor(count * parts, std::max<int64_t>(1, count * parts / 512),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) CopyPart(i / parts, i % parts, parts);
                });
  }

 private:
  void CopyPart(int64_t piece, int64_t part, int64_t parts) const {
    const ConstStridedView& source = sources_[static_cast<size_t>(piece)];
    const int64_t rows = source.shape[0];
    const int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    const Box box = *Box::Make(Dims{begin, 0}, Dims{end - begin, source.shape[1]});
    TESSERA_CHECK(
        CopyStrided(SubView(source, box), SubView(views_[static_cast<size_t>(piece)], box)).ok());
  }

  std::vector<std::shared_ptr<std::byte>> targets_;
  std::vector<ConstStridedView> sources_;
  std::vector<StridedView> views_;
};

// An array, and the same devices with and without memory that is kept.
struct Sides {
  explicit Sides(const Case& c)
      : keeping(*device::MakeHostPlatform({.count = 2 * c.devices, .spare_bytes = 2 * c.bytes})),
        fresh(*device::MakeHostPlatform({.count = 2 * c.devices, .spare_bytes = 0})),
        source(MakeSource(c, *keeping)) {}

  std::unique_ptr<device::Platform> keeping;
  std::unique_ptr<device::Platform> fresh;
  ShardedArray source;
};

double SecondsToReshard(const Case& c, const ShardedArray& source, device::Platform& platform,
                        comm::Comm& comm) {
  absl::StatusOr<ShardedArray> result;
  const double seconds = Seconds([&] { result = Reshard(source, c.to(), platform, comm); });
  TESSERA_CHECK(result.ok());
  return seconds;
}

struct Times {
  std::vector<double> reshard, fresh, copy, fresh_copy, plan;
};

Times Measure(const Case& c, int rounds) {
  const Sides sides(c);
  const auto comm = comm::MakeAlone();
  const ReshardPlan plan = *PlanReshard(c.array(), c.from(), c.to());
  SecondsToReshard(c, sides.source, *sides.keeping, *comm);
  Times times;
  for (int round = 0; round < rounds; ++round) {
    times.reshard.push_back(SecondsToReshard(c, sides.source, *sides.keeping, *comm));
    times.fresh.push_back(SecondsToReshard(c, sides.source, *sides.fresh, *comm));
    std::unique_ptr<Pieces> pieces;
    times.fresh_copy.push_back(Seconds([&] {
      pieces = std::make_unique<Pieces>(plan, sides.source);
      pieces->Copy();
    }));
    times.copy.push_back(Seconds([&] { pieces->Copy(); }));
    times.plan.push_back(
        Seconds([&] { TESSERA_CHECK(PlanReshard(c.array(), c.from(), c.to()).ok()); }));
  }
  return times;
}

void Run(const Case& c, int rounds) {
  const Times times = Measure(c, rounds);
  const double seconds = Median(times.reshard), copy = Median(times.copy);
  fmt::print(
      "{{\"case\": \"{}\", \"side\": \"tessera\", \"dtype\": \"{}\", \"bytes\": {}, "
      "\"devices\": {}, \"rounds\": {}, \"seconds\": {:.4f}, \"fresh_s\": {:.4f}, "
      "\"copy_s\": {:.4f}, \"fresh_copy_s\": {:.4f}, \"plan_s\": {:.5f}, "
      "\"gib_per_s\": {:.2f}, \"of_copy\": {:.2f}}}\n",
      c.name, DTypeName(c.dtype), c.bytes, c.devices, rounds, seconds, Median(times.fresh), copy,
      Median(times.fresh_copy), Median(times.plan),
      static_cast<double>(c.bytes) / (1 << 30) / seconds, copy / seconds);
  std::fflush(stdout);
}

int Main(int rounds, std::string_view only) {
  std::vector<Case> cases;
  for (DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    cases.push_back({"same_devices", dtype, 2048 * kMiB, 8, false});
  }
  for (int64_t mib : {256, 512, 1024}) {
    cases.push_back({"bytes", DType::kFloat32, mib * kMiB, 8, false});
  }
  for (int64_t devices : {1, 8, 64, 512}) {
    cases.push_back({"devices", DType::kFloat32, 512 * kMiB, devices, true});
  }
  for (const Case& c : cases) {
    if (only.empty() || only == c.name) Run(c, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace tessera::array

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  return tessera::array::Main(std::max(rounds, 1), argc > 2 ? argv[2] : "");
}
