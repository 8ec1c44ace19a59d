#include "tessera/checkpoint/snapshot.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/testing/far_platform.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::Ints;
using ::tessera::array::testing::Iota;
using ::tessera::array::testing::On24;
using ::tessera::array::testing::ShardedIota;
using ::tessera::array::testing::ValuesOf;
using ::tessera::array::testing::ViewOf;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Tree = array::ValueTree;

std::shared_ptr<device::SpareMemory> Spare() { return device::SpareMemory::Make(int64_t{1} << 30); }

Ints ValuesOfBox(const Ints& whole, const Dims& shape, const Box& box) {
  return ValuesOf(SubView(ViewOf(whole, shape), box));
}

void ExpectIota(const SavePlan& plan, const Snapshot& snapshot) {
  for (const HeldPart& part : snapshot.parts()) {
    const PlannedArray& array = plan.arrays[part.array];
    const Dims& shape = array.metadata.shape;
    EXPECT_EQ(ValuesOf(part.elements),
              ValuesOfBox(Iota(*NumElements(shape)), shape, array.parts[part.part].box));
  }
}

TEST(SnapshotTest, HoldsThePartsOfTheRankInPlanOrder) {
  const auto platform = Host(8);
  const Tree tree = Tree::MakeDict({{"a", ShardedIota({8, 12}, On24({"dp", "tp"}), *platform)},
                                    {"b", HostIota({5})},
                                    {"c", ShardedIota({6}, On24({}), *platform)}});
  const SavePlan plan = *PlanSave(tree, {}, 1);
  const auto memory = Spare();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, Snapshot::Take(plan, tree, *memory, {}));
  ASSERT_EQ(snapshot.parts().size(), 10);
  EXPECT_EQ(snapshot.parts()[7].array, 0);
  EXPECT_EQ(snapshot.parts()[8].array, 1);
  EXPECT_EQ(snapshot.parts()[9].array, 2);
  ExpectIota(plan, snapshot);
}

TEST(SnapshotTest, LargeAndSmallPartsAreCopiedAlike) {
  const auto platform = Host(8);
  Tree::Items items;
  for (int i = 0; i < 200; ++i) items.push_back({Concat("s", i), HostIota({i + 1})});
  items.push_back({"large", ShardedIota({2048, 2048}, On24({"dp"}), *platform)});
  items.push_back(
      {"columns", ShardedIota({1024, 1024}, On24({mesh::SpecEntry(), "tp"}), *platform)});
  const Tree tree = Tree::MakeDict(items);
  const SavePlan plan = *PlanSave(tree, {.chunk_bytes = 1 << 20}, 1);
  const auto memory = Spare();
  for (int round = 0; round < 2; ++round) {  // the second with memory of the first
    TESSERA_ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, Snapshot::Take(plan, tree, *memory, {}));
    ExpectIota(plan, snapshot);
    EXPECT_EQ(memory->kept_bytes(), 0);
  }
  EXPECT_GT(memory->kept_bytes(), 2048 * 2048 * 4);
}

TEST(SnapshotTest, ACopyDoesNotChangeWithItsSource) {
  auto values = std::make_shared<Ints>(Iota(6));
  const Tree tree = Tree::MakeDict(
      {{"w", *array::HostArray::Borrow(ViewOf(*values, {6}), DType::kInt32, values)}});
  const SavePlan plan = *PlanSave(tree, {}, 1);
  const auto memory = Spare();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Snapshot copied, Snapshot::Take(plan, tree, *memory, {}));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Snapshot shared,
                               Snapshot::Take(plan, tree, *memory, {.mode = SnapshotMode::kShare}));
  (*values)[0] = 77;
  EXPECT_THAT(ValuesOf(copied.parts()[0].elements), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(ValuesOf(shared.parts()[0].elements), ElementsAre(77, 1, 2, 3, 4, 5));
}

TEST(SnapshotTest, SharingKeepsTheArraysAlive) {
  SavePlan plan;
  std::optional<Snapshot> snapshot;
  {
    const auto platform = Host(8);
    const Tree tree = Tree::MakeDict({{"a", ShardedIota({8, 12}, On24({"dp"}), *platform)}});
    plan = *PlanSave(tree, {}, 1);
    snapshot = *Snapshot::Take(plan, tree, *Spare(), {.mode = SnapshotMode::kShare});
  }
  ExpectIota(plan, *snapshot);
}

TEST(SnapshotTest, FloatsAreConvertedOnTheWay) {
  const std::vector<float> floats{1, 2.5, -3};
  const array::HostArray array =
      *array::HostArray::CopyOf({{3}, DType::kFloat32}, std::as_bytes(std::span(floats)));
  const Tree tree = Tree::MakeDict({{"w", array}});
  const SavePlan plan = *PlanSave(tree, {.float_dtype = DType::kFloat64}, 1);
  const auto memory = Spare();
  for (const SnapshotMode mode : {SnapshotMode::kCopy, SnapshotMode::kShare}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Snapshot snapshot,
                                 Snapshot::Take(plan, tree, *memory, {.mode = mode}));
    double stored[3];
    ASSERT_EQ(snapshot.parts()[0].elements.element_bytes, 8);
    std::memcpy(stored, snapshot.parts()[0].elements.data, sizeof(stored));
    EXPECT_THAT(stored, ElementsAre(1, 2.5, -3));
  }
}

TEST(SnapshotTest, MemoryThatTheHostCannotSeeComesThroughTheQueues) {
  device::testing::FarPlatform far(0, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tree tree = Tree::MakeDict({{"a", ShardedIota({8, 12}, On24({"dp", "tp"}), far)},
                                    {"b", ShardedIota({16}, On24({"tp"}), far)}});
  const SavePlan plan = *PlanSave(tree, {}, 1);
  const auto memory = Spare();
  for (const SnapshotMode mode : {SnapshotMode::kCopy, SnapshotMode::kShare}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const Snapshot snapshot,
        Snapshot::Take(plan, tree, *memory, {.mode = mode, .platform = &far}));
    ExpectIota(plan, snapshot);
  }
  EXPECT_THAT(Snapshot::Take(plan, tree, *memory, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a: device 0, whose memory the host cannot look at")));
}

}  // namespace
}  // namespace tessera::checkpoint
