#include "tessera/checkpoint/checkpoint_file.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/array/to_host.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/comm/alone.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::Iota;
using ::tessera::array::testing::On24;
using ::tessera::array::testing::On24OverRanks;
using ::tessera::array::testing::PlatformOfRank;
using ::tessera::array::testing::ShardedIota;
using ::tessera::array::testing::ValuesOf;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Tree = array::ValueTree;

array::HostArray Floats(const std::vector<float>& values) {
  const Dims shape = {static_cast<int64_t>(values.size())};
  return *array::HostArray::CopyOf({shape, DType::kFloat32}, std::as_bytes(std::span(values)));
}

Tree Model() {
  return Tree::MakeDict({{"a", Tree::MakeDict({{"w", Floats({1, 2.5, -3})}, {"n", HostIota({5})}})},
                         {"b", HostIota({2, 3})}});
}

const array::HostArray& HostAt(const Tree& tree, std::vector<std::string> path) {
  const Tree* node = &tree;
  for (const std::string& key : path) node = node->Find(key);
  return std::get<array::HostArray>(node->leaf());
}

std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(CheckpointFileTest, ShardsAreLoadedByAnyOfTheirPaths) {
  const store::testing::TemporaryFolder folder;
  const std::string stem = (folder.path() / "m").string();
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavedCheckpointFile saved,
                               SaveCheckpointFile(stem + ".safetensors", Model(),
                                                  {.shard_bytes = 24, .metadata = {{"by", "us"}}}));
  EXPECT_EQ(saved.path, stem + ".safetensors.index.json");
  EXPECT_EQ(saved.report.arrays, 3);
  EXPECT_THAT(NamesIn(folder.path()),
              ElementsAre("m-00001-of-00003.safetensors", "m-00002-of-00003.safetensors",
                          "m-00003-of-00003.safetensors", "m.safetensors.index.json"));
  for (const std::string ending :
       {".safetensors.index.json", "-00002-of-00003.safetensors", "-00001-of-00003.safetensors"}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedCheckpointFile loaded,
                                 LoadCheckpointFile(stem + ending));
    EXPECT_EQ(HostAt(loaded.tree, {"a", "w"}).dtype(), DType::kBfloat16);
    EXPECT_EQ(ValuesOf(HostAt(loaded.tree, {"b"})), Iota(6));
    EXPECT_EQ(loaded.mismatches, 0);
    EXPECT_THAT(loaded.metadata, ::testing::Contains(Pair("by", "us")));
  }
}

TEST(CheckpointFileTest, WithoutAShardSizeThereIsOneFile) {
  const store::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "x.safetensors").string();
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const SavedCheckpointFile saved,
      SaveCheckpointFile(path, Model(), {.float_dtype = std::nullopt, .shard_bytes = {}}));
  EXPECT_EQ(saved.path, path);
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedCheckpointFile loaded, LoadCheckpointFile(path));
  EXPECT_EQ(HostAt(loaded.tree, {"a", "w"}).dtype(), DType::kFloat32);
  EXPECT_THAT(LoadCheckpointFile((folder.path() / "y.safetensors").string()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("y.safetensors")));
  EXPECT_THAT(SaveCheckpointFile(folder.path().string() + "/", Model()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without a file's name")));
}

TEST(CheckpointFileTest, FunctionsCallbacksAndDtypesCount) {
  const store::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "x.safetensors").string();
  ASSERT_THAT(SaveCheckpointFile(path, Model(), {.shard_bytes = {}}), IsOk());
  std::vector<std::string> called;
  ReadProcessArrayOptions options;
  options.functions["b"] = [&](array::Value) -> absl::StatusOr<array::Value> {
    return array::Value(HostIota({1}));
  };
  options.callback = [&](array::Value value, std::string_view key) -> absl::StatusOr<array::Value> {
    called.emplace_back(key);
    return value;
  };
  options.dtype = "fp32";
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedCheckpointFile loaded,
                               LoadCheckpointFile(path, options));
  EXPECT_EQ(loaded.mismatches, 2);
  EXPECT_EQ(called.size(), 3u);
  EXPECT_EQ(ValuesOf(HostAt(loaded.tree, {"b"})), Iota(1));
  EXPECT_EQ(HostAt(loaded.tree, {"a", "w"}).dtype(), DType::kFloat32);
  options.mismatch_allowed = false;
  EXPECT_THAT(LoadCheckpointFile(path, options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("a.")));
}

TEST(CheckpointFileTest, GatherFunctionsAreAppliedFirst) {
  const store::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "x.safetensors").string();
  const auto platform = Host(8);
  const Tree tree = Tree::MakeDict({{"a", ShardedIota({8, 4}, On24({"dp", "tp"}), *platform)}});
  const array::GatherFn tens = [](const array::Value&) -> absl::StatusOr<array::HostArray> {
    return HostIota({10});
  };
  SaveCheckpointFileOptions options{.shard_bytes = {}};
  options.gather = tree::Tree<array::GatherFn>::MakeDict({{"a", tens}});
  ASSERT_THAT(SaveCheckpointFile(path, tree, options), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedCheckpointFile loaded, LoadCheckpointFile(path));
  EXPECT_EQ(ValuesOf(HostAt(loaded.tree, {"a"})), Iota(10));
  options.gather = tree::Tree<array::GatherFn>::MakeDict({{"b", tens}});
  options.mismatch_allowed = false;
  EXPECT_THAT(SaveCheckpointFile(path, tree, options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("a: no gather function")));
}

TEST(SaveGatherTest, RanksThatGatherCanUseStoresWithoutParts) {
  const std::shared_ptr<store::KvStore> store = store::MakeMemoryStore({.writes_parts = false});
  const absl::Status status = comm::RunRanks(4, [&](comm::Comm& comm) -> absl::Status {
    const auto platform = PlatformOfRank(4, comm.rank());
    IoContext io({.in_flight = 2});
    const Tree tree =
        Tree::MakeDict({{"a", ShardedIota({8, 12}, On24OverRanks(4, {"dp", "tp"}), *platform)}});
    Save save(tree);
    save.To(store).AsSafetensors();
    const SaverResources resources{.io = &io, .platform = platform.get(), .comm = &comm};
    EXPECT_THAT(save.Run(resources),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("gather the arrays first")));
    return save.Gather(true, {*platform, comm}).Run(resources).status();
  });
  ASSERT_THAT(status, IsOk());
  IoContext io({.in_flight = 2});
  const auto platform = Host(1);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(*store, io));
  EXPECT_EQ(opened.integrity(), Integrity::kManifest);
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                               LoadCheckpoint(opened, {}, {io, *platform}));
  const auto& array = std::get<array::ShardedArray>(loaded.tree.Find("a")->leaf());
  EXPECT_EQ(ValuesOf(array.shards()[0]), Iota(96));
}

}  // namespace
}  // namespace tessera::checkpoint
