#include "tessera/explain/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/explain/explain_load.h"

namespace tessera::explain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The picture of an array of int32.
std::string Drawn(const Dims& shape, const Dims& chunks, std::string_view mesh,
                  const mesh::PartitionSpec& spec, const DrawOptions& options = {}) {
  checkpoint::testing::StoredCheckpoint stored;
  const zarr::Metadata metadata = zarr::JaxMetadata({shape, DType::kInt32}, chunks);
  TESSERA_CHECK(zarr::Array::Create(stored.store(), "a", metadata).ok());
  IoContext io;
  const auto opened = checkpoint::Checkpoint::Open(stored.store(), io);
  if (!opened.ok()) return opened.status().ToString();
  const auto explained =
      ExplainLoad(*opened, {.mesh = *mesh::ParseMesh(mesh), .rules = {{".*", spec}}});
  if (!explained.ok()) return explained.status().ToString();
  const auto text = DrawArray(opened->arrays()[0], explained->plan.arrays[0], options);
  return text.ok() ? *text : text.status().ToString();
}

TEST(DrawArrayTest, ShowsShardsOverChunks) {
  EXPECT_EQ(Drawn({8, 16}, {4, 16}, "dp=2,tp=2", {"dp", "tp"}),
            R"(int32[8,16] by P('dp', 'tp'): shards of [4,8], chunks of [4,16]
dimension 0 down, 1 across; in a cell the first device that holds it, and how many more do

  0     8     16
0 ┏━━━━━┳━━━━━┓
  ┃  0  ┇  1  ┃
4 ┣━━━━━╋━━━━━┫
  ┃  2  ┇  3  ┃
8 ┗━━━━━┻━━━━━┛
━┃ shard border on a chunk border
┅┇ shard border that cuts chunks
┄┊ chunk border inside a shard

device 0: [0:4,0:8] from 1 of 2 chunks [0:1,0:1], amplification 2.00
device 1: [0:4,8:16] from 1 of 2 chunks [0:1,0:1], amplification 2.00
device 2: [4:8,0:8] from 1 of 2 chunks [1:2,0:1], amplification 2.00
device 3: [4:8,8:16] from 1 of 2 chunks [1:2,0:1], amplification 2.00
A process decodes a chunk once for all of its devices: amplification 1.00 in all.
)");
}

TEST(DrawArrayTest, ReplicasAreCountedAndAsciiWillDo) {
  EXPECT_EQ(Drawn({6, 4}, {2, 4}, "x=2,y=3", {"x"}, {.unicode = false}),
            R"(int32[6,4] by P('x'): shards of [3,4], chunks of [2,4]
dimension 0 down, 1 across; in a cell the first device that holds it, and how many more do

  0      4
0 +======+
  | 0 +2 |
2 +......+
  | 0 +2 |
3 +~~~~~~+
  | 3 +2 |
4 +......+
  | 3 +2 |
6 +======+
=| shard border on a chunk border
~! shard border that cuts chunks
.: chunk border inside a shard

devices 0, 1, 2: [0:3,0:4] from 2 of 3 chunks [0:2,0:1], amplification 1.33
devices 3, 4, 5: [3:6,0:4] from 2 of 3 chunks [1:3,0:1], amplification 1.33
A process decodes a chunk once for all of its devices: amplification 1.00 in all.
)");
}

TEST(DrawArrayTest, LinesOfOneDimensionAndOfNone) {
  EXPECT_THAT(Drawn({8}, {2}, "x=2", {"x"}), HasSubstr(R"(dimension 0 across; in a cell)"));
  EXPECT_THAT(Drawn({8}, {2}, "x=2", {"x"}), HasSubstr(R"(
0     2     4     6     8
┏━━━━━┯━━━━━┳━━━━━┯━━━━━┓
┃  0  ┊  0  ┃  1  ┊  1  ┃
┗━━━━━┷━━━━━┻━━━━━┷━━━━━┛
)"));
  EXPECT_THAT(
      Drawn({}, {}, "x=2", {}),
      HasSubstr(R"(one element; in a cell the first device that holds it, and how many more do

┏━━━━━━┓
┃ 0 +1 ┃
┗━━━━━━┛
)"));
  EXPECT_THAT(Drawn({0, 4}, {1, 4}, "x=2", {}), HasSubstr("it has no elements: nothing is read\n"));
}

TEST(DrawArrayTest, CrossingsTellWhichLineIsStrong) {
  EXPECT_THAT(Drawn({4, 4}, {1, 1}, "x=2,y=2", {"x", "y"}), HasSubstr(R"(
  0     1     2     3     4
0 ┏━━━━━┯━━━━━┳━━━━━┯━━━━━┓
  ┃  0  ┊  0  ┃  1  ┊  1  ┃
1 ┠┄┄┄┄┄┼┄┄┄┄┄╂┄┄┄┄┄┼┄┄┄┄┄┨
  ┃  0  ┊  0  ┃  1  ┊  1  ┃
2 ┣━━━━━┿━━━━━╋━━━━━┿━━━━━┫
)"));
}

TEST(DrawArrayTest, OfManyDimensionsTheSplitOnesAreDrawn) {
  EXPECT_THAT(Drawn({2, 4, 3, 8}, {2, 4, 3, 8}, "x=2,y=4", {nullptr, "x", nullptr, "y"}),
              HasSubstr("dimension 1 down, 3 across, at the first block of the others;"));
  EXPECT_THAT(Drawn({4, 3, 8}, {4, 3, 8}, "x=2", {"x"}),
              HasSubstr("dimension 0 down, 2 across, at the first block of the others;"));
}

TEST(DrawArrayTest, LargeGridsAreCutInTheMiddle) {
  EXPECT_THAT(Drawn({512, 1024}, {512, 1024}, "x=512", {nullptr, "x"}, {.columns = 40}),
              HasSubstr(R"(
    0      2      4      1022   1024
  0 ┏━━━━━━┳━━━━━━┳━━━━━━┳━━━━━━┓
    ┃  0   ┇  1   ┇ ...  ┇ 511  ┃
512 ┗━━━━━━┻━━━━━━┻━━━━━━┻━━━━━━┛
)"));
  const std::string huge =
      Drawn({int64_t{1} << 40, int64_t{1} << 19}, {1, 1}, "x=2", {nullptr, "x"});
  EXPECT_THAT(huge, HasSubstr("┃   0    ┊   0    ┊"));
  EXPECT_THAT(huge, HasSubstr("..."));
}

TEST(DrawArrayTest, ColoursAreThoseOfDevices) {
  EXPECT_THAT(Drawn({8}, {8}, "x=2", {"x"}, {.colour = true}),
              HasSubstr("┃\x1b[30;41m  0  \x1b[0m┇\x1b[30;42m  1  \x1b[0m┃"));
  EXPECT_THAT(Drawn({8}, {8}, "x=2", {"x"}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace tessera::explain
