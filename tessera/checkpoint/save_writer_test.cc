#include "tessera/checkpoint/save_writer.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/checkpoint/save_codec.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/wrappers.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::Ints;
using ::tessera::array::testing::Iota;
using ::tessera::array::testing::On24;
using ::tessera::array::testing::On24OverRanks;
using ::tessera::array::testing::PlatformOfRank;
using ::tessera::array::testing::ShardedIota;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Tree = array::ValueTree;

Ints ReadInts(store::KvStore& store, const std::string& path) {
  IoContext io;
  const zarr::Array array = zarr::Array::Open(store, path).value();
  Ints values(static_cast<size_t>(*NumElements(array.metadata().shape)), -1);
  const auto target =
      RowMajorView(reinterpret_cast<std::byte*>(values.data()), array.metadata().shape, 4);
  const auto report = array.Read(Box::Whole(array.metadata().shape), target, io);
  EXPECT_THAT(report, IsOk());
  EXPECT_THAT(report->absent, IsEmpty());
  return values;
}

struct Rig {
  std::shared_ptr<device::SpareMemory> memory = device::SpareMemory::Make(0);
  IoContext io;
  std::unique_ptr<store::KvStore> store = store::MakeMemoryStore();

  absl::StatusOr<std::vector<StoredChunk>> Write(
      const SavePlan& plan, const Tree& tree, const SaveTarget& target,
      const std::function<void(const SaveProgress&)>& progress = nullptr,
      std::stop_token stop = {}) {
    TESSERA_ASSIGN_OR_RETURN(const Snapshot snapshot,
                             Snapshot::Take(plan, tree, *memory, {.rank = target.rank}));
    return WriteParts(plan, snapshot, target, io, progress, std::move(stop));
  }
};

TEST(WritePartsTest, WhatWasWrittenIsReadBack) {
  const auto platform = Host(8);
  const Tree tree = Tree::MakeDict({{"a", ShardedIota({8, 12}, On24({"dp", "tp"}), *platform)},
                                    {"b", HostIota({31})},
                                    {"c", HostIota({})},
                                    {"d", HostIota({0, 4})}});
  for (const CodecList& codecs : {CodecList{}, JaxCodec(), CodecList{codec::BloscSpec{}}}) {
    Rig rig;
    const SavePlan plan = *PlanSave(tree, {.chunk_bytes = 40, .codec = codecs}, 1);
    EXPECT_EQ(plan.arrays[1].chunk.reason, ChunkReason::kUneven);
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto chunks, rig.Write(plan, tree, {*rig.store, "at/"}));
    EXPECT_EQ(ReadInts(*rig.store, "at/a"), Iota(96));
    EXPECT_EQ(ReadInts(*rig.store, "at/b"), Iota(31));
    EXPECT_EQ(ReadInts(*rig.store, "at/c"), Iota(1));
    EXPECT_EQ(ReadInts(*rig.store, "at/d"), Iota(0));
    EXPECT_EQ(rig.store->List("")->size(), 4 + chunks.size());
  }
}

TEST(WritePartsTest, EveryChunkIsToldWithItsSizeAndHash) {
  Rig rig;
  const Tree tree = Tree::MakeDict({{"a", HostIota({6, 4})}, {"b", HostIota({3})}});
  const SavePlan plan = *PlanSave(tree, {.chunk_bytes = 32, .codec = JaxCodec()}, 1);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto chunks, rig.Write(plan, tree, {*rig.store}));
  const std::vector<std::string> keys = {"a/0.0", "a/1.0", "a/2.0", "b/0"};
  ASSERT_EQ(chunks.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const Bytes stored = *rig.store->Read(keys[i])->value;
    EXPECT_EQ(chunks[i], (StoredChunk{i < 3 ? 0 : 1,
                                      i < 3 ? static_cast<int64_t>(i) : 0,
                                      {stored.size(), HashOf(stored.span())}}));
  }
}

TEST(WritePartsTest, RanksTogetherWriteEverythingOnce) {
  Rig rig;
  store::StoreCounts counts;
  const auto counting = store::MakeCountingStore(*rig.store, counts);
  int64_t chunks = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const auto platform = PlatformOfRank(4, rank);
    const Tree tree =
        Tree::MakeDict({{"a", ShardedIota({8, 12}, On24OverRanks(4, {"dp", "tp"}), *platform)},
                        {"b", ShardedIota({64, 4}, On24OverRanks(4, {}), *platform)}});
    const SavePlan plan = *PlanSave(tree, {.chunk_bytes = 64, .codec = JaxCodec()}, 4);
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto stored, rig.Write(plan, tree, {*counting, "", rank}));
    chunks += static_cast<int64_t>(stored.size());
  }
  EXPECT_EQ(chunks, 8 + 16);
  EXPECT_EQ(counts.writes, chunks + 2);
  EXPECT_EQ(ReadInts(*rig.store, "a"), Iota(96));
  EXPECT_EQ(ReadInts(*rig.store, "b"), Iota(256));
}

TEST(WritePartsTest, ProgressOnlyGrowsAndEndsWithEverything) {
  Rig rig;
  Tree::Items items;
  for (int i = 0; i < 50; ++i) items.push_back({Concat("w", i), HostIota({8, 16})});
  const Tree tree = Tree::MakeDict(items);
  const SavePlan plan = *PlanSave(tree, {.chunk_bytes = 128, .codec = JaxCodec()}, 1);
  std::vector<SaveProgress> told;
  ASSERT_THAT(rig.Write(plan, tree, {*rig.store},
                        [&](const SaveProgress& progress) { told.push_back(progress); }),
              IsOk());
  ASSERT_FALSE(told.empty());
  for (size_t i = 1; i < told.size(); ++i) {
    EXPECT_LT(told[i - 1].bytes_done, told[i].bytes_done);
    EXPECT_LT(told[i - 1].chunks_done, told[i].chunks_done);
  }
  EXPECT_EQ(told.back(), (SaveProgress{50 * 512, 50 * 512, 200, 200}));
}

TEST(WritePartsTest, TheFirstErrorOfTheStoreEndsIt) {
  Rig rig;
  Tree::Items items;
  for (int i = 0; i < 50; ++i) items.push_back({Concat("w", i), HostIota({8})});
  const Tree tree = Tree::MakeDict(items);
  const SavePlan plan = *PlanSave(tree, {.codec = JaxCodec()}, 1);
  store::testing::FaultStore faulty(*rig.store, {.at_call = 7, .calls = 1000});
  EXPECT_THAT(rig.Write(plan, tree, {faulty}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a fault was injected")));
  EXPECT_LT(faulty.calls(), 100);
}

TEST(WritePartsTest, AStopRequestEndsIt) {
  Rig rig;
  Tree::Items items;
  for (int i = 0; i < 50; ++i) items.push_back({Concat("w", i), HostIota({8})});
  const Tree tree = Tree::MakeDict(items);
  const SavePlan plan = *PlanSave(tree, {.codec = JaxCodec()}, 1);
  std::stop_source stop;
  const auto progress = [&](const SaveProgress&) { stop.request_stop(); };
  EXPECT_THAT(rig.Write(plan, tree, {*rig.store}, progress, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
}

TEST(WritePartsTest, ABudgetThatIsTooSmallIsSaid) {
  Rig rig;
  IoContext io({.budget_bytes = 100});
  const Tree tree = Tree::MakeDict({{"w", HostIota({1000})}});
  const SavePlan plan = *PlanSave(tree, {.codec = JaxCodec()}, 1);
  const Snapshot snapshot = *Snapshot::Take(plan, tree, *rig.memory, {});
  EXPECT_THAT(
      WriteParts(plan, snapshot, {*rig.store}, io),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("memory for one chunk at a time")));
}

TEST(StoredChunksTest, ComeBackFromBytes) {
  const std::vector<StoredChunk> chunks = {{1, 2, {3, {4, 5}}}, {6, 7, {8, {9, 10}}}};
  const Bytes encoded = EncodeStoredChunks(chunks);
  EXPECT_EQ(*DecodeStoredChunks(encoded.span()), chunks);
  EXPECT_THAT(DecodeStoredChunks(encoded.span().first(50)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("50 bytes")));
}

TEST(ChooseCodecsTest, ComeBackFromText) {
  const std::vector<DTypeCodec> choices = {
      {DType::kFloat32, {}},
      {DType::kBfloat16, JaxCodec()},
      {DType::kInt8, {codec::BloscSpec{.compressor = "zstd"}}}};
  EXPECT_EQ(*DecodeCodecs(EncodeCodecs(choices)), choices);
  EXPECT_THAT(DecodeCodecs("12 {}"), StatusIs(absl::StatusCode::kInternal, HasSubstr("ends")));
  EXPECT_THAT(DecodeCodecs("2 {}"), StatusIs(absl::StatusCode::kInternal, HasSubstr("codecs")));
}

TEST(ChooseCodecsTest, SmallDTypesAreLeftToJaxsCodec) {
  Rig rig;
  const Tree tree = Tree::MakeDict({{"w", HostIota({1000})}});
  const SavePlan plan = *PlanSave(tree, {}, 1);
  const Snapshot snapshot = *Snapshot::Take(plan, tree, *rig.memory, {});
  EXPECT_THAT(*ChooseCodecs(plan, snapshot, {}, 2), IsEmpty());
}

TEST(ChooseCodecsTest, ZerosOnSlowStorageAreCompressed) {
  Rig rig;
  const std::vector<std::byte> zeros(4 << 20);
  const array::HostArray array = *array::HostArray::CopyOf({{1024, 1024}, DType::kFloat32}, zeros);
  const Tree tree = Tree::MakeDict({{"w", array}});
  const SavePlan plan = *PlanSave(tree, {}, 1);
  const AutoCodec slow{.storage = {1e6, 1e6}, .least_bytes = 1};
  for (const SnapshotMode mode : {SnapshotMode::kCopy, SnapshotMode::kShare}) {
    const Snapshot snapshot = *Snapshot::Take(plan, tree, *rig.memory, {.mode = mode});
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto choices, ChooseCodecs(plan, snapshot, slow, 2));
    ASSERT_THAT(choices, SizeIs(1));
    EXPECT_EQ(choices[0].dtype, DType::kFloat32);
    EXPECT_THAT(choices[0].codecs, SizeIs(1));
  }
}

}  // namespace
}  // namespace tessera::checkpoint
