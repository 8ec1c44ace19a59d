#include "tessera/checkpoint/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "tessera/array/to_host.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"
#include "tessera/device/testing/far_platform.h"
#include "tessera/store/wrappers.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::Ints;
using ::tessera::array::testing::Iota;
using ::tessera::array::testing::Mesh24;
using ::tessera::array::testing::ValuesOf;
using ::tessera::checkpoint::testing::StoredCheckpoint;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadTest : public ::testing::Test {
 protected:
  LoadTest() : stored_("model") {
    stored_.Add("a/w", {8, 16}, {4, 16}).Add("b", {4}, {2}).Add("s", {}, {});
  }
  absl::StatusOr<LoadResult> Run(const LoadRequest& request = {}, const LoadOptions& options = {}) {
    TESSERA_ASSIGN_OR_RETURN(
        const Checkpoint opened,
        Checkpoint::Open(stored_.store(), io_, {.prefix = "model", .verify = options.read.verify}));
    return LoadCheckpoint(opened, request, {io_, *platform_}, options);
  }
  Ints Values(const array::ValueTree& leaf) {
    const auto& array = std::get<array::ShardedArray>(leaf.leaf());
    return ValuesOf(*array::ToHost(array, *platform_));
  }

  StoredCheckpoint stored_;
  IoContext io_;
  std::unique_ptr<device::Platform> platform_ = Host(8);
};

const std::vector<mesh::PartitionRule> kRules{{"a/w$", {"dp", "tp"}}, {".*", {}}};

// The distinct memories that the shards of `b`, which is whole on all eight devices, lie in.
size_t MemoriesOfB(const LoadResult& loaded) {
  const auto& array = std::get<array::ShardedArray>(loaded.tree.Find("b")->leaf());
  std::set<const std::byte*> memories;
  for (const array::Shard& shard : array.shards()) memories.insert(shard.buffer.data());
  return memories.size();
}

TEST_F(LoadTest, ReplicasHaveMemoryOfTheirOwnOrShareIt) {
  const LoadRequest request{.mesh = Mesh24(), .rules = kRules};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult copied, Run(request));
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult shared,
                               Run(request, {.replicas = Replicas::kShare}));
  EXPECT_EQ(MemoriesOfB(copied), 8);
  EXPECT_EQ(MemoriesOfB(shared), 1);
  EXPECT_EQ(Values(*shared.tree.Find("b")), Values(*copied.tree.Find("b")));
  const auto& array = std::get<array::ShardedArray>(shared.tree.Find("b")->leaf());
  EXPECT_EQ(array.shards()[7].buffer.placement().device_id, 7);
}

// So many that their memory is cut from blocks.
TEST_F(LoadTest, ManySmallArraysHaveTheirOwnBytes) {
  for (int i = 0; i < 200; ++i) stored_.Add(Concat("many/", i), {i + 1}, {i + 1});
  {
    TESSERA_ASSERT_OK_AND_ASSIGN(LoadResult loaded, Run({.mesh = Mesh24(), .rules = kRules}));
    const array::ValueTree& many = *loaded.tree.Find("many");
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(Values(*many.Find(Concat(i))), Iota(i + 1)) << i;
    }
    EXPECT_EQ(MemoriesOfB(loaded), 8);
    EXPECT_LT(platform_->Find(7)->in_use(), 203 * 1024);
  }
  for (const auto& device : platform_->devices()) EXPECT_EQ(device->in_use(), 0);
}

// There is room for the arrays, but none for what blocks would take beyond them.
TEST_F(LoadTest, ManySmallArraysFitWhereTheirBytesDo) {
  int64_t bytes = 128 * 4 + 4 * 4 + 4;
  for (int i = 0; i < 200; ++i) {
    stored_.Add(Concat("many/", i), {i + 1}, {i + 1});
    bytes += (i + 1) * 4;
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(platform_,
                               device::MakeHostPlatform({.count = 1, .limit_bytes = bytes}));
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded, Run());
  EXPECT_EQ(platform_->Find(0)->in_use(), bytes);
  EXPECT_EQ(Values(*loaded.tree.Find("many")->Find("199")), Iota(200));
}

TEST_F(LoadTest, MemoryThatTheHostCannotSeeIsNotShared) {
  platform_ = std::make_unique<device::testing::FarPlatform>(
      0, std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded, Run({.mesh = Mesh24(), .rules = kRules},
                                                            {.replicas = Replicas::kShare}));
  EXPECT_EQ(MemoriesOfB(loaded), 8);
}

TEST_F(LoadTest, GivesTheTreeOnTheMesh) {
  stored_.Sealed();
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                               Run({.mesh = Mesh24(), .rules = kRules}, {.report_arrays = true}));
  const auto& w = std::get<array::ShardedArray>(loaded.tree.Find("a")->Find("w")->leaf());
  EXPECT_EQ(w.shards().size(), 8);
  EXPECT_EQ(w.shards()[5].box.Text(), "[4:8,4:8]");
  EXPECT_EQ(Values(*loaded.tree.Find("a")->Find("w")), Iota(128));
  EXPECT_EQ(Values(*loaded.tree.Find("b")), Iota(4));
  EXPECT_EQ(Values(*loaded.tree.Find("s")), Iota(1));
  EXPECT_EQ(loaded.report.arrays, 3);
  EXPECT_EQ(loaded.report.counts.chunks, 5);
  EXPECT_EQ(loaded.report.result_bytes, 512 + 8 * 16 + 8 * 4);
  ASSERT_EQ(loaded.report.each.size(), 3);
  EXPECT_EQ(loaded.report.each[1].name, "b");
  EXPECT_EQ(loaded.report.each[1].counts.chunks, 2);
}

TEST_F(LoadTest, WithoutAMeshArraysAreWholeOnTheFirstDevice) {
  stored_.Index();
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded, Run());
  const auto& w = std::get<array::ShardedArray>(loaded.tree.Find("a")->Find("w")->leaf());
  ASSERT_EQ(w.shards().size(), 1);
  EXPECT_EQ(w.shards()[0].device.id, 0);
  EXPECT_EQ(ValuesOf(w.shards()[0]), Iota(128));
}

TEST_F(LoadTest, FarDevicesGetTheirShardsByCopies) {
  stored_.Sealed();
  for (const auto cast : {std::optional<DType>(), std::optional(DType::kFloat64)}) {
    StoredCheckpoint floats;
    std::vector<float> values(6 * 8);
    std::iota(values.begin(), values.end(), 0.0F);
    floats.AddBytes("f", {{6, 8}, DType::kFloat32}, {4, 3}, std::as_bytes(std::span(values)))
        .Index();
    device::testing::FarPlatform far(0, {0, 1, 2, 3, 4, 5, 6, 7});
    TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(floats.store(), io_));
    const LoadRequest request{.mesh = Mesh24(), .rules = {{{".*", {"dp", "tp"}}}}, .cast = cast};
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                                 LoadCheckpoint(opened, request, {io_, far}));
    const auto& array = std::get<array::ShardedArray>(loaded.tree.Find("f")->leaf());
    EXPECT_EQ(array.dtype(), cast.value_or(DType::kFloat32));
    TESSERA_ASSERT_OK_AND_ASSIGN(const array::HostArray host,
                                 array::ToHost(array, far, {.float_dtype = DType::kFloat32}));
    EXPECT_EQ(std::memcmp(host.view().data, values.data(), values.size() * 4), 0);
  }
}

TEST_F(LoadTest, CastsFloatsOnly) {
  std::vector<float> values{0.5F, 1.5F, -2.0F, 3.0F};
  stored_.AddBytes("f", {{4}, DType::kFloat32}, {2}, std::as_bytes(std::span(values))).Sealed();
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                               Run({.mesh = *mesh::Mesh::MakeHost({{"x", 2}}),
                                    .rules = {{{"f", {"x"}}, {".*", {}}}},
                                    .cast = DType::kBfloat16}));
  const auto& f = std::get<array::ShardedArray>(loaded.tree.Find("f")->leaf());
  EXPECT_EQ(f.dtype(), DType::kBfloat16);
  const auto* bits = reinterpret_cast<const uint16_t*>(f.shards()[1].buffer.data());
  EXPECT_EQ(bits[0], 0xC000);
  EXPECT_EQ(bits[1], 0x4040);
  EXPECT_EQ(std::get<array::ShardedArray>(loaded.tree.Find("b")->leaf()).dtype(), DType::kInt32);
}

TEST_F(LoadTest, DamageIsNamedUnlessNobodyLooks) {
  stored_.Sealed();
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto before, stored_.store().Read("model/b/1"));
  ASSERT_THAT(stored_.store().Write("model/b/1", stored_.store().Read("model/b/0")->value->span()),
              IsOk());
  EXPECT_THAT(Run(), StatusIs(kDataLoss, AllOf(HasSubstr("b: "), HasSubstr("model/b/1"))));
  EXPECT_THAT(Run({}, {.read = {.verify = false}}), IsOk());
  ASSERT_THAT(stored_.store().Delete("model/b/1"), IsOk());
  EXPECT_THAT(Run(), StatusIs(kDataLoss, HasSubstr("model/b/1")));
  EXPECT_THAT(Run({}, {.read = {.verify = false}}),
              StatusIs(kDataLoss, AllOf(HasSubstr("model/b/1"), HasSubstr("chunk missing"))));
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                               Run({}, {.read = {.verify = false, .absent = AbsentChunks::kFill}}));
  EXPECT_EQ(loaded.report.counts.absent_chunks, 1);
  EXPECT_THAT(Values(*loaded.tree.Find("b")), ElementsAre(0, 1, 0, 0));
}

TEST_F(LoadTest, AnAbsentChunkOfV3IsCounted) {
  zarr::Metadata metadata = zarr::JaxMetadata({{4}, DType::kInt32}, Dims{2});
  metadata.format = zarr::Format::kV3;
  metadata.chunk_keys = {zarr::ChunkKeys::Style::kPrefix, '/'};
  metadata.fill_value = std::vector<std::byte>(4, std::byte{0});
  const auto store = store::MakeMemoryStore();
  ASSERT_THAT(zarr::Array::Create(*store, "w", metadata), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(*store, io_));
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                               LoadCheckpoint(opened, {}, {io_, *platform_}));
  EXPECT_EQ(loaded.report.counts.absent_chunks, 2);
  EXPECT_THAT(Values(*loaded.tree.Find("w")), ElementsAre(0, 0, 0, 0));
}

TEST_F(LoadTest, CallsBackInOrderAndKeepsWhatItGets) {
  stored_.Index();
  for (const int64_t chunk_size : {0, 1, 2}) {
    std::vector<std::string> names;
    LoadOptions options{.chunk_size = chunk_size};
    options.callback = [&](array::ShardedArray array,
                           std::string_view name) -> absl::StatusOr<array::Value> {
      names.emplace_back(name);
      if (name == "b") return array::Value(array::MakeScalar(std::string("gone")));
      return array::Value(std::move(array));
    };
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded, Run({}, options));
    EXPECT_THAT(names, ElementsAre("a.w", "b", "s"));
    EXPECT_EQ(std::get<array::Opaque>(loaded.tree.Find("b")->leaf()).scalar,
              tree::Scalar(std::string("gone")));
    EXPECT_EQ(Values(*loaded.tree.Find("a")->Find("w")), Iota(128));
  }
}

TEST_F(LoadTest, ACallbacksErrorIsPassedOnWithTheName) {
  stored_.Index();
  LoadOptions options;
  options.callback = [](array::ShardedArray array,
                        std::string_view name) -> absl::StatusOr<array::Value> {
    if (name == "b") return absl::UnavailableError("no room");
    return array::Value(std::move(array));
  };
  EXPECT_THAT(Run({}, options),
              StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("callback of b: no room"))));
}

TEST_F(LoadTest, AReplacedCheckpointIsSaidToBe) {
  stored_.Index();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened,
                               Checkpoint::Open(stored_.store(), io_, {.prefix = "model"}));
  ASSERT_THAT(stored_.store().Delete("model/b/1"), IsOk());
  EXPECT_THAT(LoadCheckpoint(opened, {}, {io_, *platform_}),
              StatusIs(kDataLoss, HasSubstr("chunk missing")));
  stored_.Add("new", {1}, {1}).Index();
  EXPECT_THAT(LoadCheckpoint(opened, {}, {io_, *platform_}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("replaced while it was read")));
}

TEST_F(LoadTest, TheSavedStructureComesBack) {
  using ledger::SavedLeaf;
  using ledger::SavedTree;
  stored_.Structure(SavedTree::List(
      {SavedTree(SavedLeaf(ledger::ArrayLeaf{0})),
       SavedTree::Tuple({SavedTree(SavedLeaf(ledger::ArrayLeaf{1})),
                         SavedTree(SavedLeaf(tree::Scalar(int64_t{7}))), SavedTree::None(),
                         SavedTree(SavedLeaf(ledger::OpaqueLeaf{"Thing"}))}),
       SavedTree(SavedLeaf(ledger::ArrayLeaf{2}))}));
  stored_.Sealed();
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded, Run());
  ASSERT_EQ(loaded.tree.kind(), tree::NodeKind::kList);
  const auto& tuple = loaded.tree.children()[1];
  ASSERT_EQ(tuple.kind(), tree::NodeKind::kTuple);
  EXPECT_EQ(Values(tuple.children()[0]), Iota(4));
  EXPECT_EQ(std::get<array::Opaque>(tuple.children()[1].leaf()).scalar, tree::Scalar(int64_t{7}));
  EXPECT_TRUE(tuple.children()[2].is_none());
  EXPECT_EQ(std::get<array::Opaque>(tuple.children()[3].leaf()).type_name, "Thing");
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult part, Run({.names = {"b"}}));
  EXPECT_EQ(part.tree.kind(), tree::NodeKind::kDict);
  EXPECT_EQ(Values(*part.tree.Find("b")), Iota(4));
}

TEST_F(LoadTest, ATargetGivesStructureAndSharding) {
  stored_.Index();
  const auto sharding = *mesh::NamedSharding::Make(Mesh24(), {"dp"});
  const auto target = TargetTree::MakeDict(
      {{"a", TargetTree::MakeDict(
                 {{"w", TargetLeaf{ShapeDtype{{8, 16}, DType::kInt32}, sharding, {}}}})},
       {"n", TargetLeaf{{}, {}, array::MakeScalar(int64_t{3})}}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded, Run({.target = target}));
  EXPECT_EQ(loaded.report.arrays, 1);
  const auto& w = std::get<array::ShardedArray>(loaded.tree.Find("a")->Find("w")->leaf());
  EXPECT_EQ(w.sharding(), mesh::Sharding(sharding));
  EXPECT_EQ(std::get<array::Opaque>(loaded.tree.Find("n")->leaf()).scalar,
            tree::Scalar(int64_t{3}));
}

TEST_F(LoadTest, ARootArrayIsBare) {
  StoredCheckpoint root;
  const zarr::Metadata metadata = zarr::JaxMetadata({{4}, DType::kInt32}, Dims{4});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto array, zarr::Array::Create(root.store(), "", metadata));
  const Ints values = Iota(4);
  ASSERT_THAT(array.Write(Box::Whole(Dims{4}), array::testing::ViewOf(values, {4}), io_), IsOk());
  testing::WriteText(
      root.store(), ledger::kIndexName,
      R"({"format":"tensorstore","prefixes":{},"arrays":[{"path":".","shape":[4],"dtype":"int32"}]})");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(root.store(), io_));
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadResult loaded,
                               LoadCheckpoint(opened, {}, {io_, *platform_}));
  ASSERT_TRUE(loaded.tree.is_leaf());
  EXPECT_EQ(Values(loaded.tree), values);
}

TEST_F(LoadTest, KeysInsideOneAnotherAreToldBeforeAnythingIsRead) {
  StoredCheckpoint odd;
  odd.Add("x", {4}, {4}).Add("y", {4}, {4});
  testing::WriteText(
      odd.store(), ledger::kIndexName,
      R"({"format":"tensorstore","arrays":[{"path":"x","shape":[4],"dtype":"int32","key":["k"]},)"
      R"({"path":"y","shape":[4],"dtype":"int32","key":["k","l"]}]})");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(odd.store(), io_));
  EXPECT_THAT(LoadCheckpoint(opened, {}, {io_, *platform_}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("k/l")));
}

TEST_F(LoadTest, ADeviceThatIsTooSmallIsNamed) {
  stored_.Index();
  platform_ = Host(8, 100);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kResourceExhausted,
                              AllOf(HasSubstr("a.w: "), HasSubstr("device 0"))));
}

TEST_F(LoadTest, StopsWhenAsked) {
  stored_.Index();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened,
                               Checkpoint::Open(stored_.store(), io_, {.prefix = "model"}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(LoadCheckpoint(opened, {}, {io_, *platform_}, {}, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("loading the checkpoint")));
}

}  // namespace
}  // namespace tessera::checkpoint
