#include "tessera/checkpoint/plan_load_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/testing/arbitrary.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::testing::ElementsAre;

Box MakeBox(const Dims& origin, const Dims& shape) { return *Box::Make(origin, shape); }

std::vector<Box> Parts(const Dims& shape, const Dims& chunk, const std::vector<Box>& boxes) {
  std::vector<Box> parts;
  const absl::Status status = ForEachPart(shape, chunk, boxes, [&](const Box& part) {
    parts.push_back(part);
    return absl::OkStatus();
  });
  TESSERA_CHECK(status.ok());
  return parts;
}

TEST(ForEachPartTest, EveryChunkOnceWithTheHullOfWhatIsNeeded) {
  EXPECT_THAT(Parts({8, 4}, {4, 4}, {MakeBox({2, 0}, {4, 2})}),
              ElementsAre(MakeBox({2, 0}, {2, 2}), MakeBox({4, 0}, {2, 2})));
  EXPECT_THAT(Parts({8}, {8}, {MakeBox({0}, {2}), MakeBox({4}, {2})}),
              ElementsAre(MakeBox({0}, {6})));
  EXPECT_THAT(Parts({9}, {3}, {MakeBox({0}, {2}), MakeBox({7}, {2})}),
              ElementsAre(MakeBox({0}, {2}), MakeBox({7}, {2})));
}

TEST(ForEachPartTest, ScalarsHaveOnePartAndEmptyArraysNone) {
  EXPECT_THAT(Parts({}, {}, {Box()}), ElementsAre(Box()));
  EXPECT_THAT(Parts({0, 4}, {1, 4}, {Box::Whole(Dims{0, 4})}), ElementsAre());
  EXPECT_THAT(Parts({4}, {4}, {}), ElementsAre());
}

PartCounts CountedOneByOne(const Dims& shape, const Dims& chunk, const std::vector<Box>& boxes) {
  PartCounts counts;
  for (const Box& box : boxes) counts.wanted += *box.num_elements();
  for (const Box& part : Parts(shape, chunk, boxes)) {
    Dims cell = part.origin();
    for (size_t d = 0; d < cell.size(); ++d) cell[d] /= chunk[d];
    ++counts.parts;
    counts.decoded += *CellBox(cell, chunk, shape).num_elements();
  }
  return counts;
}

// Devices are given to processes at random, so that blocks of one make a grid or do not.
RC_GTEST_PROP(CountPartsTest, TheFormulaCountsWhatIsListed, ()) {
  const mesh::Mesh any = mesh::testing::ArbitraryMesh();
  std::vector<mesh::Device> devices(any.devices().begin(), any.devices().end());
  for (mesh::Device& device : devices) device.process = *rc::gen::inRange(0, 3);
  const mesh::Mesh mesh =
      *mesh::Mesh::Make({any.axes().begin(), any.axes().end()}, std::move(devices));
  const int rank = *rc::gen::inRange(0, 4);
  const mesh::PartitionSpec spec = mesh::testing::ArbitrarySpec(mesh, rank);
  const Dims shape = mesh::testing::ArbitraryShapeFor(mesh, spec, rank);
  Dims chunk;
  for (const int64_t size : shape) chunk.push_back(*rc::gen::inRange<int64_t>(1, size + 3));
  const mesh::Sharding sharding = *mesh::NamedSharding::Make(mesh, spec);
  const auto layout = BlockLayout::Make(sharding, rank);
  RC_ASSERT(layout.ok());
  const auto shards = mesh::PlaceShards(sharding, shape);
  for (const BlockLayout::Process& process : layout->processes()) {
    std::vector<Box> boxes;
    int64_t count = 0;
    for (const mesh::DeviceShard& shard : *shards) {
      if (shard.device.process != process.process) continue;
      ++count;
      if (std::find(boxes.begin(), boxes.end(), shard.box) == boxes.end())
        boxes.push_back(shard.box);
    }
    RC_ASSERT(process.devices == count);
    const auto counts = CountParts(*layout, process, shape, chunk);
    RC_ASSERT(counts.ok());
    RC_ASSERT(*counts == CountedOneByOne(shape, chunk, boxes));
  }
}

// Of two by three blocks process 1 has the last of the first row and the first of the second one.
TEST(CountPartsTest, BlocksThatMakeNoGridAreCountedWithoutLookingAtChunks) {
  std::vector<mesh::Device> devices;
  for (int i = 0; i < 6; ++i) devices.push_back({i, i / 2});
  const mesh::Mesh mesh = *mesh::Mesh::Make({{"x", 2}, {"y", 3}}, std::move(devices));
  TESSERA_ASSERT_OK_AND_ASSIGN(const BlockLayout layout,
                               BlockLayout::Make(*mesh::NamedSharding::Make(mesh, {"x", "y"}), 2));
  const Dims shape{int64_t{1} << 40, int64_t{3} << 17};
  const int64_t block = (int64_t{1} << 39) * (int64_t{1} << 17);
  EXPECT_THAT(CountParts(layout, layout.processes()[1], shape, Dims{1, 1}),
              IsOkAndHolds(PartCounts{2 * block, 2 * block, 2 * block}));
  // Chunks of half an array's rows and columns, each in use by one block.
  EXPECT_THAT(CountParts(layout, layout.processes()[1], shape, Dims{shape[0] / 2, shape[1] / 2}),
              IsOkAndHolds(PartCounts{2, 2 * block, 3 * block}));
}

}  // namespace
}  // namespace tessera::checkpoint
