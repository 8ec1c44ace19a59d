// Resharding on host devices of one process, rows to columns: the peer of bench/reshard_jax.py.
//
// Usage: bench_reshard [rounds]
//
// One JSON line a case:
//   same_devices   2 GiB from rows to columns over the same 8 devices
//   bytes          the same for less, to show that cost is linear in bytes
//   devices        512 MiB from rows on n devices to columns on n others, n = 1, 8, 64, 512
// "seconds" is the median of Reshard, which plans, takes fresh memory and copies.  Beside it, from
// the same rounds: "copy_s", CopyStrided of the same pieces on all cores into memory that is there,
// which is what this machine can do; "fresh_copy_s", the same into fresh memory; and "plan_s".
// Dropping the results is not counted, as it is not in the Python peer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/array/reshard.h"
#include "tessera/comm/alone.h"
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
  Pieces(const ReshardPlan& plan, const ShardedArray& source, device::Platform& platform) {
    const int64_t element = DTypeBytes(plan.array.dtype);
    for (const mesh::DeviceShard& shard : plan.targets) {
      targets_.push_back(*platform.Find(shard.device.id)
                              ->AllocateStaging(*NumBytes(plan.array.dtype, shard.box.shape())));
    }
    for (const LocalCopy& copy : plan.copies) {
      const Shard& from = source.shards()[static_cast<size_t>(copy.source)];
      const auto to = static_cast<size_t>(copy.target);
      const Box& box = plan.targets[to].box;
      sources_.push_back(
          SubView(from.View(plan.array.dtype), RelativeTo(copy.box, from.box.origin())));
      views_.push_back(SubView(RowMajorView(targets_[to].data(), box.shape(), element),
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

  std::vector<device::WritableBuffer> targets_;
  std::vector<ConstStridedView> sources_;
  std::vector<StridedView> views_;
};

void Run(const Case& c, int rounds) {
  const auto platform = *device::MakeHostPlatform({.count = 2 * c.devices});
  const auto comm = comm::MakeAlone();
  const ShardedArray source = MakeSource(c, *platform);
  const ReshardPlan plan = *PlanReshard(c.array(), c.from(), c.to());
  std::vector<double> reshard, copy, fresh, planned;
  for (int round = 0; round < rounds; ++round) {
    {
      absl::StatusOr<ShardedArray> result;
      reshard.push_back(Seconds([&] { result = Reshard(source, c.to(), *platform, *comm); }));
      TESSERA_CHECK(result.ok());
    }
    std::unique_ptr<Pieces> pieces;
    fresh.push_back(Seconds([&] {
      pieces = std::make_unique<Pieces>(plan, source, *platform);
      pieces->Copy();
    }));
    copy.push_back(Seconds([&] { pieces->Copy(); }));
    planned.push_back(
        Seconds([&] { TESSERA_CHECK(PlanReshard(c.array(), c.from(), c.to()).ok()); }));
  }
  fmt::print(
      "{{\"case\": \"{}\", \"side\": \"tessera\", \"dtype\": \"{}\", \"bytes\": {}, "
      "\"devices\": {}, \"rounds\": {}, \"seconds\": {:.4f}, \"copy_s\": {:.4f}, "
      "\"fresh_copy_s\": {:.4f}, \"plan_s\": {:.5f}, \"gib_per_s\": {:.2f}, \"of_copy\": {:.2f}, "
      "\"of_fresh_copy\": {:.2f}}}\n",
      c.name, DTypeName(c.dtype), c.bytes, c.devices, rounds, Median(reshard), Median(copy),
      Median(fresh), Median(planned), static_cast<double>(c.bytes) / (1 << 30) / Median(reshard),
      Median(copy) / Median(reshard), Median(fresh) / Median(reshard));
  std::fflush(stdout);
}

int Main(int rounds) {
  for (DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    Run({"same_devices", dtype, 2048 * kMiB, 8, false}, rounds);
  }
  for (int64_t mib : {256, 512, 1024}) {
    Run({"bytes", DType::kFloat32, mib * kMiB, 8, false}, rounds);
  }
  for (int64_t devices : {1, 8, 64, 512}) {
    Run({"devices", DType::kFloat32, 512 * kMiB, devices, true}, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace tessera::array

int main(int argc, char** argv) {
  return tessera::array::Main(std::max(argc > 1 ? std::atoi(argv[1]) : 5, 1));
}
