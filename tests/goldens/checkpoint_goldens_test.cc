// Every checkpoint of the golden sets that eformer, JAX and safetensors wrote, loaded whole on
// several meshes: type, shape and hash of each array.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "tessera/array/to_host.h"
#include "tessera/checkpoint/load.h"
#include "tessera/core/sha256.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"
#include "tessera/tree/walk.h"
#include "tests/goldens/golden_sets.h"

namespace tessera::goldens {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;

class CheckpointGoldensTest : public ::testing::TestWithParam<GoldenSet> {};

// Devices 0, 1, 2, ... in equal runs of `processes`.
mesh::Mesh MeshOf(int64_t x, int64_t y, int processes) {
  std::vector<mesh::Device> devices;
  for (int64_t i = 0; i < x * y; ++i) {
    devices.push_back({i, static_cast<int>(i * processes / (x * y))});
  }
  return *mesh::Mesh::Make({{"x", x}, {"y", y}}, std::move(devices));
}

std::unique_ptr<device::Platform> PlatformOf(const mesh::Mesh& mesh, int process) {
  device::HostPlatformOptions options{.count = 0, .process = process};
  for (const mesh::Device& device : mesh.devices()) {
    if (device.process == process) options.ids.push_back(device.id);
  }
  return *device::MakeHostPlatform(options);
}

// The array that processes hold together, put together here.
class Whole {
 public:
  explicit Whole(const ShapeDtype& about)
      : about_(about), memory_(static_cast<size_t>(*NumBytes(about.dtype, about.shape))) {}

  void Add(const array::ShardedArray& array) {
    EXPECT_EQ(array.shape_dtype(), about_);
    const StridedView all = RowMajorView(memory_.data(), about_.shape, DTypeBytes(about_.dtype));
    for (const array::Shard& shard : array.shards()) {
      EXPECT_THAT(CopyStrided(shard.View(about_.dtype), SubView(all, shard.box)), IsOk());
    }
  }
  std::string Hash() const { return Sha256Text(memory_); }

 private:
  ShapeDtype about_;
  std::vector<std::byte> memory_;
};

absl::Status LoadOn(const checkpoint::Checkpoint& opened, const mesh::Mesh& mesh, int process,
                    IoContext& io, std::map<std::string, Whole>& arrays) {
  const auto platform = PlatformOf(mesh, process);
  const checkpoint::LoadRequest request{
      .mesh = mesh, .rules = {{{".*", {"x", "y"}}}}, .auto_correct = true};
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::LoadResult loaded,
                           checkpoint::LoadCheckpoint(opened, request, {io, *platform}));
  return tree::ForEachLeaf(
      loaded.tree, [&](const tree::KeyPathView& path, const array::Value& value) -> absl::Status {
        const auto found = arrays.find(path.ToKeyPath().Dotted());
        if (found == arrays.end()) return NotFound(path.ToKeyPath().Dotted(), " is not expected");
        found->second.Add(std::get<array::ShardedArray>(value));
        return absl::OkStatus();
      });
}

TEST_P(CheckpointGoldensTest, EveryArrayHasTheRecordedHashOnEveryMesh) {
  const GoldenSet& set = GetParam();
  IoContext io({.budget_bytes = 64 << 20});
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const checkpoint::Checkpoint opened,
      checkpoint::Checkpoint::OpenAt(set.checkpoint.string(), io, {.all_prefixes = true}));
  EXPECT_EQ(opened.arrays().size(), set.arrays.size());
  struct Layout {
    int64_t x, y;
    int processes;
  };
  for (const Layout& layout : std::vector<Layout>{
           {1, 1, 1}, {2, 4, 1}, {8, 1, 1}, {1, 8, 1}, {2, 3, 3}, {6, 1, 3}, {2, 4, 2}}) {
    SCOPED_TRACE(std::to_string(layout.x) + "x" + std::to_string(layout.y));
    const mesh::Mesh mesh = MeshOf(layout.x, layout.y, layout.processes);
    std::map<std::string, Whole> arrays;
    for (const auto& [key, expected] : set.arrays) arrays.emplace(key, Whole(expected.array));
    for (int process = 0; process < layout.processes; ++process) {
      EXPECT_THAT(LoadOn(opened, mesh, process, io, arrays), IsOk());
    }
    for (const auto& [key, expected] : set.arrays) {
      EXPECT_EQ(arrays.at(key).Hash(), expected.sha256) << key;
    }
  }
  std::printf("%s: %zu arrays\n", set.name.c_str(), set.arrays.size());
}

INSTANTIATE_TEST_SUITE_P(Sets, CheckpointGoldensTest,
                         ::testing::ValuesIn(FindSets({"eformer-", "jax-zarr", "safetensors-"})),
                         [](const auto& info) {
                           std::string name = std::to_string(info.index) + "_" + info.param.name;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace tessera::goldens
