// Random checkpoints on random meshes, against the arrays they were written from; and memory.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/testing/arbitrary.h"
#include "tessera/store/file_store.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::checkpoint::testing::StoredCheckpoint;
using ::tessera::testing::IsOk;

struct RandomArray {
  std::string path;
  mesh::PartitionSpec spec;
  Dims shape;
};

// Devices 0, 1, 2, ... of the mesh, some of them of another process.
mesh::Mesh MeshOverTwo() {
  const mesh::Mesh any = mesh::testing::ArbitraryMesh();
  std::vector<mesh::Device> devices(any.devices().begin(), any.devices().end());
  for (mesh::Device& device : devices) device.process = *rc::gen::inRange(0, 2);
  return *mesh::Mesh::Make({any.axes().begin(), any.axes().end()}, std::move(devices));
}

std::unique_ptr<device::Platform> PlatformOf(const mesh::Mesh& mesh, int process) {
  device::HostPlatformOptions options{.count = 0, .process = process};
  for (const mesh::Device& device : mesh.devices()) {
    if (device.process == process) options.ids.push_back(device.id);
  }
  return *device::MakeHostPlatform(options);
}

void CheckShards(const array::ShardedArray& array) {
  const array::HostArray whole = array::testing::HostIota(array.shape());
  for (const array::Shard& shard : array.shards()) {
    RC_ASSERT(array::testing::ValuesOf(shard) ==
              array::testing::ValuesOf(SubView(whole.view(), shard.box)));
  }
}

RC_GTEST_PROP(LoadPropertyTest, EveryShardHasItsElementsAndThePlanCountsThem, ()) {
  const mesh::Mesh mesh = MeshOverTwo();
  StoredCheckpoint stored;
  auto choices = ShardingChoices::Items();
  const int count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i) {
    const int rank = *rc::gen::inRange(0, 4);
    const mesh::PartitionSpec spec = mesh::testing::ArbitrarySpec(mesh, rank);
    const Dims shape = mesh::testing::ArbitraryShapeFor(mesh, spec, rank);
    Dims chunk;
    for (const int64_t size : shape) chunk.push_back(*rc::gen::inRange<int64_t>(1, size + 3));
    const std::string path = Concat("layer", i, "/w");
    stored.Add(path, shape, chunk);
    choices.emplace_back(Concat("layer", i, ".w"), ShardingChoice(spec));
  }
  if (*rc::gen::arbitrary<bool>()) {
    stored.Sealed();
  } else {
    stored.Index();
  }
  IoContext io({.in_flight = 2});
  const auto opened = Checkpoint::Open(stored.store(), io);
  RC_ASSERT(opened.ok());
  const LoadRequest request{.mesh = mesh, .shardings = ShardingChoices::MakeDict(choices)};
  const auto plan = PlanLoad(*opened, request);
  RC_ASSERT(plan.ok());
  for (const ProcessPlan& process : plan->processes) {
    const auto platform = PlatformOf(mesh, process.process);
    const auto loaded = LoadCheckpoint(*opened, request, {io, *platform});
    RC_ASSERT(loaded.ok());
    RC_ASSERT(loaded->report.counts.chunks == process.requests);
    RC_ASSERT(loaded->report.result_bytes == process.result_bytes);
    for (const array::ValueTree& layer : loaded->tree.children()) {
      CheckShards(std::get<array::ShardedArray>(layer.Find("w")->leaf()));
    }
  }
}

int64_t StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != field) {
  }
  int64_t kilobytes = 0;
  status >> kilobytes;
  return kilobytes << 10;
}

// Chunks of 32 MiB, of which each shard needs a part, through a budget of 16 MiB.
TEST(LoadMemoryTest, PeakIsTheResultAndTheBudget) {
  constexpr int64_t kBudget = 16 << 20;
  const store::testing::TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto store,
      store::OpenFileStore(folder.path(), {.durability = store::Durability::kKernel}));
  const Dims shape{4096, 4096};
  {
    IoContext io({.in_flight = 2});
    const array::HostArray values = array::testing::HostIota(shape);
    for (const char* path : {"a", "b"}) {
      const auto array = zarr::Array::Create(
          *store, path, zarr::JaxMetadata({shape, DType::kInt32}, Dims{2048, 4096}));
      ASSERT_THAT(array, IsOk());
      ASSERT_THAT(array->Write(Box::Whole(shape), values.view(), io), IsOk());
    }
  }
  IoContext io({.in_flight = 4, .budget_bytes = kBudget});
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(*store, io));
  const auto platform = *device::MakeHostPlatform({.count = 4, .spare_bytes = 0});
  const LoadRequest request{.mesh = *mesh::Mesh::MakeHost({{"x", 4}}),
                            .rules = {{{".*", {nullptr, "x"}}}}};
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM counts from here
  const int64_t before = StatusBytes("VmRSS:");
  const auto loaded = LoadCheckpoint(opened, request, {io, *platform});
  ASSERT_THAT(loaded, IsOk());
  EXPECT_LE(io.budget().peak(), kBudget);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr int64_t kResult = int64_t{2} * 64 << 20;
  constexpr int64_t kSlack = 8 << 20;  // stacks, tables, what malloc keeps
  EXPECT_LE(StatusBytes("VmHWM:") - before, kResult + kBudget + kSlack);
#else
  EXPECT_GT(before, 0);
#endif
  for (const array::ValueTree& leaf : loaded->tree.children()) {
    const auto& array = std::get<array::ShardedArray>(leaf.leaf());
    const auto shard = array::testing::ValuesOf(array.shards()[3]);
    EXPECT_EQ(shard[0], 3072);
    EXPECT_EQ(shard.back(), 4096 * 4096 - 1);
  }
}

}  // namespace
}  // namespace tessera::checkpoint
