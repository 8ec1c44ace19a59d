// Safetensors sets onto meshes: the same requests as those of zarr arrays, the same results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/to_host.h"
#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/testing/stored_set.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/store/file_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/tree/walk.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::ValuesOf;
using ::tessera::checkpoint::testing::StoredSet;
using ::tessera::checkpoint::testing::WriteText;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kRanks = 3;

// Six devices, two of each rank.
mesh::Mesh Mesh23() {
  std::vector<mesh::Device> devices;
  for (int64_t i = 0; i < 6; ++i) devices.push_back({i, static_cast<int>(i % kRanks)});
  return *mesh::Mesh::Make({{"x", 2}, {"y", 3}}, devices);
}

LoadRequest Request() {
  return {.mesh = Mesh23(),
          .rules = {{{"rows", {"x"}}, {"cols", {nullptr, "y"}}, {"both", {"x", "y"}}, {".*", {}}}}};
}

// The tensors count from 0, so each shard tells what it should hold.
int CheckShards(const array::ValueTree& tree) {
  int arrays = 0;
  EXPECT_THAT(tree::ForEachLeaf(tree,
                                [&](const tree::KeyPathView&, const array::Value& value) {
                                  const auto& array = std::get<array::ShardedArray>(value);
                                  const array::HostArray whole = HostIota(array.shape());
                                  for (const array::Shard& shard : array.shards()) {
                                    EXPECT_EQ(ValuesOf(shard),
                                              ValuesOf(SubView(whole.view(), shard.box)));
                                  }
                                  ++arrays;
                                }),
              IsOk());
  return arrays;
}

class LoadSetTest : public ::testing::Test {
 protected:
  LoadSetTest() {
    set_.Add("a-00001-of-00002.safetensors", "rows", {12, 6})
        .Add("a-00001-of-00002.safetensors", "deep.cols", {6, 9})
        .Add("a-00002-of-00002.safetensors", "deep.both", {4, 6})
        .Add("a-00002-of-00002.safetensors", "all", {5})
        .Add("a-00002-of-00002.safetensors", "none", {0, 3})
        .WriteFiles()
        .WriteIndex();
  }
  absl::Status RunAll(bool share, int64_t budget, int64_t chunk_size = 0) {
    return comm::RunRanks(kRanks, [&](comm::Comm& comm) -> absl::Status {
      IoContext io({.in_flight = 2, .budget_bytes = budget});
      const auto platform = *device::MakeHostPlatform(
          {.process = comm.rank(), .ids = {comm.rank(), comm.rank() + 3}});
      TESSERA_ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(set_.store(), io));
      const LoadOptions options{.chunk_size = chunk_size, .share_reads = share};
      TESSERA_ASSIGN_OR_RETURN(const LoadResult loaded,
                               LoadCheckpoint(opened, Request(), {io, *platform, &comm}, options));
      EXPECT_LE(io.budget().peak(), budget);
      EXPECT_EQ(CheckShards(loaded.tree), 5);
      return absl::OkStatus();
    });
  }

  StoredSet set_;
  IoContext io_{{.in_flight = 2}};
};

TEST_F(LoadSetTest, EveryProcessGetsItsShards) {
  for (const bool seal : {false, true}) {
    SCOPED_TRACE(seal);
    if (seal) {
      ASSERT_THAT(SealCheckpoint(set_.store(), io_), IsOk());
    }
    EXPECT_THAT(RunAll(false, 1 << 20), IsOk());
    EXPECT_THAT(RunAll(false, 1 << 20, 2), IsOk());
    EXPECT_THAT(RunAll(true, 1 << 20), IsOk());
    EXPECT_THAT(RunAll(true, 4096, 2), IsOk());
  }
}

TEST_F(LoadSetTest, ThePlanCountsBlocksAsChunks) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(set_.store(), io_));
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadPlan plan, PlanLoad(opened, Request()));
  const auto platform = *device::MakeHostPlatform({.process = 1, .ids = {1, 4}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                               LoadCheckpoint(opened, Request(), {io_, *platform}));
  ASSERT_EQ(plan.processes.size(), 3);
  EXPECT_EQ(loaded.report.counts.chunks, plan.processes[1].requests);
  EXPECT_EQ(loaded.report.result_bytes, plan.processes[1].result_bytes);
  EXPECT_EQ(loaded.report.counts.absent_chunks, 0);
}

TEST_F(LoadSetTest, CastsSelectsAndCallsBack) {
  set_.Add("b.safetensors", {"f", DType::kFloat32, {2}, {"\0\0\x80\x3f\0\0\0\xc0", 8}})
      .WriteFiles();
  std::vector<std::string> called;
  LoadSettings settings{.open = {.file = "b.safetensors"},
                        .request = {.cast = DType::kFloat64},
                        .lent = {.io = &io_}};
  settings.options.callback = [&](array::ShardedArray array,
                                  std::string_view name) -> absl::StatusOr<array::Value> {
    called.push_back(Concat(name, " ", DTypeName(array.dtype())));
    return array::Value(std::move(array));
  };
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened,
                               Checkpoint::Open(set_.store(), io_, settings.open));
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded, LoadOpened(opened, settings));
  EXPECT_THAT(called, ElementsAre("f float64"));
  const auto& array = std::get<array::ShardedArray>(loaded.tree.Find("f")->leaf());
  double values[2];
  std::memcpy(values, array.shards()[0].buffer.data(), sizeof(values));
  EXPECT_THAT(values, ElementsAre(1.0, -2.0));
}

TEST_F(LoadSetTest, ATargetMustFit) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(set_.store(), io_));
  const auto platform = *device::MakeHostPlatform({.count = 1});
  const auto target = [](const ShapeDtype& about) {
    TargetLeaf leaf;
    leaf.array = about;
    return TargetTree::MakeDict({{"all", leaf}});
  };
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const LoadResult loaded,
      LoadCheckpoint(opened, {.target = target({{5}, DType::kInt32})}, {io_, *platform}));
  EXPECT_EQ(CheckShards(loaded.tree), 1);
  EXPECT_THAT(LoadCheckpoint(opened, {.target = target({{6}, DType::kInt32})}, {io_, *platform}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'all' is stored as")));
}

TEST_F(LoadSetTest, DamageIsNamedWithFileTensorAndBytes) {
  ASSERT_THAT(SealCheckpoint(set_.store(), io_), IsOk());
  std::string text = set_.TextOf("a-00001-of-00002.safetensors");
  text.back() ^= 1;
  WriteText(set_.store(), "a-00001-of-00002.safetensors", text);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(set_.store(), io_));
  const auto platform = *device::MakeHostPlatform({.count = 1});
  EXPECT_THAT(LoadCheckpoint(opened, {}, {io_, *platform}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a-00001-of-00002.safetensors"),
                             HasSubstr("tensor 'deep.cols'"), HasSubstr("bytes ["))));
  EXPECT_THAT(LoadCheckpoint(opened, {.names = {"rows"}}, {io_, *platform}), IsOk());
  EXPECT_THAT(LoadCheckpoint(opened, {}, {io_, *platform}, {.read = {.verify = false}}), IsOk());
}

TEST_F(LoadSetTest, AFileThatIsReplacedMeanwhileIsAborted) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(set_.store(), io_));
  set_.WriteFiles();
  const auto platform = *device::MakeHostPlatform({.count = 1});
  EXPECT_THAT(LoadCheckpoint(opened, {}, {io_, *platform}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("replaced")));
}

// Several blocks, of which each shard needs a part, through a budget of two.
TEST(LoadLargeSetTest, BlocksAreReadWithinTheBudget) {
  const store::testing::TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto store,
      store::OpenFileStore(folder.path(), {.durability = store::Durability::kKernel}));
  StoredSet set;
  set.Add("model.safetensors", "w", {1000, 3, 1024});
  WriteText(*store, "model.safetensors", set.TextOf("model.safetensors"));
  constexpr int64_t kBudget = 2 * static_cast<int64_t>(safetensors::kBlockBytes);
  IoContext io({.in_flight = 4, .budget_bytes = kBudget});
  ASSERT_THAT(SealCheckpoint(*store, io), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(*store, io));
  const auto platform = *device::MakeHostPlatform({.count = 4});
  for (const mesh::PartitionSpec& spec :
       {mesh::PartitionSpec{"x"}, mesh::PartitionSpec{nullptr, nullptr, "x"}}) {
    const LoadRequest request{.mesh = *mesh::Mesh::MakeHost({{"x", 4}}), .rules = {{{".*", spec}}}};
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                                 LoadCheckpoint(opened, request, {io, *platform}));
    EXPECT_EQ(CheckShards(loaded.tree), 1);
    EXPECT_EQ(loaded.report.counts.chunks, 3);
    EXPECT_LE(io.budget().peak(), kBudget);
  }
}

TEST(LoadSetFromAFolderTest, TreesOfShardingsAndLeavesComeFromTheHeaders) {
  const store::testing::TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, store::OpenFileStore(folder.path()));
  StoredSet set;
  set.Add("model.safetensors", "deep.w", {4, 2}).Add("model.safetensors", "b", {3});
  WriteText(*store, "model.safetensors", set.TextOf("model.safetensors"));
  for (const std::string& location :
       {folder.path().string(), (folder.path() / "model.safetensors").string()}) {
    SCOPED_TRACE(location);
    TESSERA_ASSERT_OK_AND_ASSIGN(const array::ValueTree tree, TreeDeserializeLeaves(location));
    EXPECT_EQ(CheckShards(tree), 2);
    ASSERT_NE(tree.Find("deep"), nullptr);
    EXPECT_NE(tree.Find("deep")->Find("w"), nullptr);
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult fluent, Load(location).Only({"b"}).Run());
    EXPECT_EQ(CheckShards(fluent.tree), 1);
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const ShardingTree shardings,
        CreateShardingTreeFromIndex(location, {.mesh = *mesh::Mesh::MakeHost({{"x", 2}})}));
    EXPECT_TRUE(shardings.Find("deep")->Find("w")->leaf().has_value());
  }
}

}  // namespace
}  // namespace tessera::checkpoint
