#include "tessera/checkpoint/plan_save.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/array/testing/arrays.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::On24OverRanks;
using ::tessera::array::testing::PlatformOfRank;
using ::tessera::array::testing::ShardedIota;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Tree = array::ValueTree;
using mesh::PartitionSpec;

// As rank 0 of `ranks` sees it; its plan is everybody's.
array::ShardedArray Sharded(const Dims& shape, PartitionSpec spec, int ranks,
                            device::Platform& platform) {
  return ShardedIota(shape, On24OverRanks(ranks, std::move(spec)), platform);
}

array::HostArray HostOf(DType dtype, const Dims& shape) {
  const std::vector<std::byte> zeros(static_cast<size_t>(*NumBytes(dtype, shape)));
  return *array::HostArray::CopyOf({shape, dtype}, zeros);
}

std::vector<std::string> PathsOf(const SavePlan& plan) {
  std::vector<std::string> paths;
  for (const PlannedArray& array : plan.arrays) paths.push_back(array.record.path);
  return paths;
}

TEST(PlanSaveTest, ArraysStandInLeafOrderBelowThePrefix) {
  const Tree tree =
      Tree::MakeDict({{"b", HostIota({4})},
                      {"a", Tree::MakeDict({{"w", HostIota({8, 4})}, {"n", Tree::None()}})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavePlan plan, PlanSave(tree, {.prefix = "model"}, 1));
  EXPECT_THAT(PathsOf(plan), ElementsAre("model/a/w", "model/b"));
  EXPECT_EQ(plan.arrays[0].record,
            (ledger::ArrayRecord{.path = "model/a/w", .shape = {8, 4}, .dtype = "int32"}));
  EXPECT_EQ(plan.nbytes, 144);
}

TEST(PlanSaveTest, DotsAndSlashesOfAPrefixMakeFolders) {
  const Tree tree = Tree::MakeDict({{"w", HostIota({4})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavePlan plan, PlanSave(tree, {.prefix = "a.b/c"}, 1));
  EXPECT_THAT(PathsOf(plan), ElementsAre("a/b/c/w"));
  EXPECT_THAT(PlanSave(tree, {.prefix = "a..b"}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("prefix 'a..b' has nothing")));
  EXPECT_THAT(PlanSave(tree, {.prefix = "/a"}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("prefix '/a' has nothing")));
}

TEST(PlanSaveTest, AKeyThatNoPathTellsIsRecorded) {
  const Tree tree = Tree::MakeDict({{"a.b", HostIota({4})}, {"../x", HostIota({4})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavePlan plan, PlanSave(tree, {.prefix = "m"}, 1));
  EXPECT_THAT(PathsOf(plan), ElementsAre("m/%2E%2E%2Fx", "m/a%2Eb"));
  EXPECT_THAT(*plan.arrays[1].record.key, ElementsAre("m", "a.b"));
}

TEST(PlanSaveTest, LeavesInOnePlaceAreRefused) {
  const Tree list = Tree::List({HostIota({4})});
  const Tree both = *Tree::OrderedDict({{"1", HostIota({4})}, {1, HostIota({2})}});
  EXPECT_THAT(PlanSave(both, {}, 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1")));
  EXPECT_THAT(PlanSave(list, {}, 1), IsOk());
}

TEST(PlanSaveTest, ATreeThatIsOneArrayNeedsAPrefix) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavePlan plan,
                               PlanSave(Tree(HostIota({4})), {.prefix = "m"}, 1));
  EXPECT_THAT(PathsOf(plan), ElementsAre("m"));
  EXPECT_THAT(PlanSave(Tree(HostIota({4})), {}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a prefix")));
}

TEST(PlanSaveTest, NestedDictsNeedNoStructure) {
  const Tree dict = Tree::MakeDict({{"a", Tree::MakeDict({{"w", HostIota({4})}})}});
  EXPECT_EQ(PlanSave(dict, {}, 1)->structure, std::nullopt);
  const Tree empty = Tree::MakeDict({{"a", HostIota({4})}, {"b", Tree::MakeDict({})}});
  EXPECT_NE(PlanSave(empty, {}, 1)->structure, std::nullopt);
  const Tree number = Tree::MakeDict({{3, HostIota({4})}});
  EXPECT_NE(PlanSave(number, {}, 1)->structure, std::nullopt);
}

TEST(PlanSaveTest, TheStructureKeepsPlainValuesAndSaysWhatItLost) {
  const Tree tree = Tree::List({HostIota({4}), array::MakeScalar(int64_t{7}),
                                array::Opaque{.type_name = "Thing"}, HostIota({2})});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavePlan plan, PlanSave(tree, {}, 1));
  using Saved = ledger::SavedTree;
  EXPECT_EQ(*plan.structure, Saved::List({ledger::SavedLeaf(ledger::ArrayLeaf{0}),
                                          ledger::SavedLeaf(tree::Scalar(int64_t{7})),
                                          ledger::SavedLeaf(ledger::OpaqueLeaf{"Thing"}),
                                          ledger::SavedLeaf(ledger::ArrayLeaf{1})}));
  EXPECT_THAT(plan.lost, ElementsAre(LostLeaf{"2", "Thing"}));
  EXPECT_TRUE(plan.keeps_values);
}

TEST(PlanSaveTest, FloatsAreStoredAsAskedAndOthersAreNot) {
  const Tree tree =
      Tree::MakeDict({{"f", HostOf(DType::kFloat32, {8})}, {"i", HostOf(DType::kInt32, {8})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavePlan plan,
                               PlanSave(tree, {.float_dtype = DType::kBfloat16}, 1));
  EXPECT_EQ(plan.arrays[0].metadata.dtype, DType::kBfloat16);
  EXPECT_EQ(plan.arrays[0].source_dtype, DType::kFloat32);
  EXPECT_EQ(plan.arrays[0].record.dtype, "bfloat16");
  EXPECT_EQ(plan.arrays[1].metadata.dtype, DType::kInt32);
  EXPECT_EQ(plan.nbytes, 16 + 32);
}

TEST(PlanSaveTest, AllDTypesThatTheFormatLacksAreNamed) {
  const Tree tree = Tree::MakeDict({{"a", HostOf(DType::kUint4, {8})},
                                    {"b", HostOf(DType::kInt32, {8})},
                                    {"c", HostOf(DType::kFloat6E2m3fn, {8})}});
  EXPECT_THAT(PlanSave(tree, {}, 1),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("a (uint4)"), HasSubstr("c (float6_e2m3fn)"))));
}

TEST(PlanSaveTest, ADeviceOfNoRankIsRefused) {
  const auto platform = PlatformOfRank(4, 0);
  const Tree tree = Tree::MakeDict({{"w", Sharded({8, 8}, {"dp", "tp"}, 4, *platform)}});
  EXPECT_THAT(
      PlanSave(tree, {}, 2),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("w: device 4 belongs to process 2, which is none of the 2 ranks")));
}

TEST(PlanSaveTest, ReplicasShareTheChunksOfAnArray) {
  const auto platform = PlatformOfRank(4, 0);
  const Tree tree = Tree::MakeDict({{"w", Sharded({8, 8}, {}, 4, *platform)}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavePlan plan, PlanSave(tree, {.chunk_bytes = 64}, 4));
  EXPECT_EQ(plan.arrays[0].chunk, (ChunkChoice{{2, 8}, ChunkReason::kDivided, 64}));
  EXPECT_THAT(plan.ranks,
              ElementsAre(RankLoad{64, 1}, RankLoad{64, 1}, RankLoad{64, 1}, RankLoad{64, 1}));
  EXPECT_EQ(plan.Text(),
            "1 arrays, 256 bytes\n"
            "w: int32[8,8], chunks [2,8] (divided, 64 bytes)\n"
            "  [0:2,0:8]: rank 0, device 0\n"
            "  [2:4,0:8]: rank 1, device 2\n"
            "  [4:6,0:8]: rank 2, device 4\n"
            "  [6:8,0:8]: rank 3, device 6\n"
            "rank 0: 1 chunks, 64 bytes\n"
            "rank 1: 1 chunks, 64 bytes\n"
            "rank 2: 1 chunks, 64 bytes\n"
            "rank 3: 1 chunks, 64 bytes\n");
}

TEST(PlanSaveTest, ArraysInHostMemoryAreRankZeros) {
  const Tree tree = Tree::MakeDict({{"w", HostIota({8})}, {"v", HostIota({8})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SavePlan plan, PlanSave(tree, {}, 2));
  EXPECT_THAT(plan.ranks, ElementsAre(RankLoad{64, 2}, RankLoad{0, 0}));
  EXPECT_EQ(ToJson(plan)["arrays"][0]["parts"],
            Json::parse(R"([{"origin": [0], "shape": [8], "rank": 0}])"));
}

TEST(PlanSaveTest, CodecsAreSetByDType) {
  const Tree tree =
      Tree::MakeDict({{"f", HostOf(DType::kFloat32, {8})}, {"i", HostOf(DType::kInt32, {8})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(SavePlan plan, PlanSave(tree, {}, 1));
  EXPECT_TRUE(plan.codecs_open);
  SetCodecs(plan, {{DType::kFloat32, {codec::BloscSpec{}}}});
  EXPECT_EQ(plan.arrays[0].metadata.codecs.compression,
            CodecList{codec::BloscSpec{.element_bytes = 4}});
  EXPECT_EQ(plan.arrays[1].metadata.codecs.compression, JaxCodec());
  EXPECT_FALSE(plan.codecs_open);
}

TEST(PlanSaveTest, CodecsThatTheFormatLacksAreRefused) {
  const Tree tree = Tree::MakeDict({{"w", HostIota({8})}});
  EXPECT_THAT(
      PlanSave(tree, {.codec = CodecList{codec::Crc32cSpec{}, codec::ZstdSpec{}}}, 1),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("w: compressor: zarr v2 has one")));
}

TEST(PlanSaveTest, TheDigestTellsPlansApart) {
  const auto digest = [](const Tree& tree) { return DigestOf(*PlanSave(tree, {}, 1)); };
  const Tree tree = Tree::MakeDict({{"w", HostIota({8})}});
  EXPECT_EQ(digest(tree), digest(Tree::MakeDict({{"w", HostIota({8})}})));
  EXPECT_NE(digest(tree), digest(Tree::MakeDict({{"w", HostIota({4})}})));
  EXPECT_NE(digest(tree), digest(Tree::MakeDict({{"v", HostIota({8})}})));
}

PartitionSpec AnySpec() {
  const std::vector<PartitionSpec> specs = {{},           {"dp"},       {"tp"},
                                            {"dp", "tp"}, {"tp", "dp"}, {mesh::SpecEntry(), "tp"}};
  return specs[*rc::gen::inRange<size_t>(0, specs.size())];
}

// The ranks that hold an element, by the sharding itself.
std::set<int> HoldersOf(const array::ShardedArray& array, const Box& box) {
  std::set<int> ranks;
  const auto shards = *mesh::PlaceShards(array.sharding(), array.shape());
  for (const mesh::DeviceShard& shard : shards) {
    if (Contains(shard.box, box)) ranks.insert(shard.device.process);
  }
  return ranks;
}

RC_GTEST_PROP(PlanSaveTest, EveryChunkIsWrittenWholeOnceByARankThatHoldsIt, ()) {
  const int ranks = *rc::gen::element(1, 2, 4, 8);
  const auto platform = PlatformOfRank(ranks, 0);
  Tree::Items items;
  for (int i = 0; i < 3; ++i) {
    const Dims shape{4 * *rc::gen::inRange<int64_t>(1, 6), 4 * *rc::gen::inRange<int64_t>(1, 6)};
    items.push_back({Concat("a", i), Sharded(shape, AnySpec(), ranks, *platform)});
  }
  const Tree tree = Tree::MakeDict(items);
  const int64_t most = *rc::gen::inRange<int64_t>(4, 600);
  const SavePlan plan = *PlanSave(tree, {.chunk_bytes = most}, ranks);
  for (size_t a = 0; a < plan.arrays.size(); ++a) {
    const PlannedArray& array = plan.arrays[a];
    const auto& source = std::get<array::ShardedArray>(items[a].second.leaf());
    std::map<std::vector<int64_t>, int> written;
    for (const PlannedPart& part : array.parts) {
      RC_ASSERT(HoldersOf(source, part.box).count(part.rank) == 1);
      const auto cells = *CellRange::Of(part.box, array.metadata.chunk_shape);
      for (int64_t i = 0; i < cells.size(); ++i) {
        const Dims cell = cells.at(i);
        RC_ASSERT(
            Contains(part.box, CellBox(cell, array.metadata.chunk_shape, array.metadata.shape)));
        ++written[{cell.begin(), cell.end()}];
      }
    }
    const Dims grid = GridShape(array.metadata.shape, array.metadata.chunk_shape);
    RC_ASSERT(static_cast<int64_t>(written.size()) == *NumElements(grid));
    for (const auto& [cell, times] : written) RC_ASSERT(times == 1);
  }
}

RC_GTEST_PROP(PlanSaveTest, WhereAllHoldAllLoadsDifferByOneChunkAtMost, ()) {
  const int ranks = *rc::gen::element(2, 4, 8);
  const auto platform = PlatformOfRank(ranks, 0);
  Tree::Items items;
  for (int i = 0; i < 5; ++i) {
    items.push_back(
        {Concat("a", i), Sharded({*rc::gen::inRange<int64_t>(1, 40), 4}, {}, ranks, *platform)});
  }
  const SavePlan plan = *PlanSave(Tree::MakeDict(items), {.chunk_bytes = 128}, ranks);
  int64_t largest = 0;
  for (const PlannedArray& array : plan.arrays) largest = std::max(largest, array.chunk.bytes);
  const auto [least, most] =
      std::minmax_element(plan.ranks.begin(), plan.ranks.end(),
                          [](const RankLoad& a, const RankLoad& b) { return a.bytes < b.bytes; });
  RC_ASSERT(most->bytes - least->bytes <= largest);
}

}  // namespace
}  // namespace tessera::checkpoint
