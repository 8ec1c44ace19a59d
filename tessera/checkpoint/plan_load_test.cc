#include "tessera/checkpoint/plan_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Mesh24;
using ::tessera::array::testing::Mesh24OverRanks;
using ::tessera::checkpoint::testing::StoredCheckpoint;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using mesh::PartitionRule;

class PlanLoadTest : public ::testing::Test {
 protected:
  PlanLoadTest() : stored_("model") {
    stored_.Add("a/w", {8, 16}, {4, 16}).Add("b", {4}, {4}).Sealed();
  }
  Checkpoint Open() { return *Checkpoint::Open(stored_.store(), io_, {.prefix = "model"}); }
  std::vector<std::string> Names(const LoadRequest& request) {
    const auto plan = PlanLoad(Open(), request);
    if (!plan.ok()) return {plan.status().ToString()};
    std::vector<std::string> names;
    for (const ArrayPlan& array : plan->arrays) names.push_back(array.name);
    return names;
  }

  StoredCheckpoint stored_;
  IoContext io_;
};

const std::vector<PartitionRule> kPlanRules{{"a/w$", {"dp", "tp"}}, {".*", {}}};

TEST_F(PlanLoadTest, TellsWhatEveryProcessReads) {
  const LoadRequest request{.mesh = Mesh24OverRanks(2), .rules = kPlanRules};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadPlan plan,
                               PlanLoad(Open(), request, {.budget_bytes = 1000}));
  ASSERT_EQ(plan.arrays.size(), 2);
  const ArrayPlan& w = plan.arrays[0];
  EXPECT_EQ(w.shard_shape, (Dims{4, 4}));
  EXPECT_EQ(w.device_bytes, 64);
  EXPECT_EQ(w.placement.rule, 0);
  EXPECT_EQ(w.chunks, 2);
  EXPECT_EQ(w.least_parts, 1);
  EXPECT_EQ(w.most_parts, 1);
  EXPECT_EQ(w.requests, 2);
  EXPECT_EQ(w.decoded_bytes, 512);
  EXPECT_EQ(w.wanted_bytes, 512);
  const ArrayPlan& b = plan.arrays[1];
  EXPECT_EQ(b.requests, 2);
  EXPECT_EQ(b.device_bytes, 16);
  ASSERT_EQ(plan.processes.size(), 2);
  EXPECT_EQ(plan.processes[0].result_bytes, 4 * (64 + 16));
  EXPECT_EQ(plan.processes[0].decoded_bytes, 256 + 16);
  EXPECT_EQ(plan.processes[0].peak_bytes, 320 + 1000);
  EXPECT_EQ(plan.processes[1].requests, 2);
  EXPECT_EQ(plan.devices.size(), 8);
  EXPECT_EQ(plan.devices[7], (DevicePlan{{7, 1}, 80}));
  EXPECT_EQ(plan.balance(), 1.0);
  EXPECT_THAT(PlanLoad(Open(), request, {.budget_bytes = 1000}), IsOkAndHolds(plan));
}

TEST_F(PlanLoadTest, BalanceIsTheMeanToTheMost) {
  EXPECT_EQ((LoadPlan{.devices = {{{0}, 10}, {{1}, 30}}}.balance()), 20.0 / 30);
  EXPECT_EQ((LoadPlan{.devices = {{{0}, 0}, {{1}, 0}}}.balance()), 1.0);
  EXPECT_EQ(LoadPlan().balance(), 1.0);
}

TEST_F(PlanLoadTest, ColumnsOfRowChunksAreAmplified) {
  const LoadRequest request{.mesh = Mesh24OverRanks(2),
                            .rules = {{{"a/w$", {nullptr, {"dp", "tp"}}}, {".*", {}}}}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadPlan plan, PlanLoad(Open(), request));
  EXPECT_EQ(plan.arrays[0].requests, 4);
  EXPECT_EQ(plan.arrays[0].amplification(), 2.0);
  EXPECT_THAT(plan.Text(), AllOf(HasSubstr("a.w int32[8,16] by rule 0: P(None, ('dp', 'tp')), "
                                           "shards [8,2] of 64 bytes; 2 to 2 of 2 chunks"),
                                 HasSubstr("amplification 2.00"), HasSubstr("process 1: "),
                                 HasSubstr("balance 1.00")));
  const Json json = ToJson(plan);
  EXPECT_EQ(json["arrays"][0]["rule"], 0);
  EXPECT_EQ(json["arrays"][0]["amplification"], 2.0);
  EXPECT_EQ(json["devices"].size(), 8);
}

TEST_F(PlanLoadTest, SelectsByPatternAndByName) {
  EXPECT_THAT(Names({}), ElementsAre("a.w", "b"));
  EXPECT_THAT(Names({.select = "^a\\."}), ElementsAre("a.w"));
  EXPECT_THAT(Names({.names = {"b"}}), ElementsAre("b"));
  EXPECT_THAT(PlanLoad(Open(), {.names = {"b", "c"}}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("no array 'c'"), HasSubstr("'a.w', 'b'"))));
  EXPECT_THAT(PlanLoad(Open(), {.select = "("}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("(")));
}

TEST_F(PlanLoadTest, ATargetMustFit) {
  const auto target = [](Dims shape, DType dtype) {
    return TargetTree::MakeDict(
        {{"a", TargetTree::MakeDict({{"w", TargetLeaf{ShapeDtype{std::move(shape), dtype}}}})}});
  };
  EXPECT_THAT(Names({.target = target({8, 16}, DType::kInt32)}), ElementsAre("a.w"));
  EXPECT_THAT(PlanLoad(Open(), {.target = target({8, 8}, DType::kInt32)}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'a.w' is stored as int32[8,16], not int32[8,8]")));
  EXPECT_THAT(PlanLoad(Open(), {.target = target({8, 16}, DType::kFloat32)}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not float32[8,16]")));
  EXPECT_THAT(Names({.target = target({8, 16}, DType::kFloat32), .cast_to_target = true}),
              ElementsAre("a.w"));
  const auto other = TargetTree::MakeDict({{"x", TargetLeaf{ShapeDtype{{2}, DType::kInt32}}},
                                           {"y", TargetLeaf{ShapeDtype{{2}, DType::kInt32}}}});
  EXPECT_THAT(
      PlanLoad(Open(), {.target = other}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'x' is missing, 'y' is missing")));
}

// Shapes as a hostile file has them: sums are told, not overflowed.
TEST_F(PlanLoadTest, HugeShapesAreCountedWithoutOverflow) {
  StoredCheckpoint huge;
  const Dims shape{int64_t{1} << 40, int64_t{1} << 19};
  for (const char* path : {"a", "b", "c", "d", "e"}) {
    const zarr::Metadata metadata = zarr::JaxMetadata({shape, DType::kFloat32}, Dims{1, 1});
    ASSERT_TRUE(zarr::Array::Create(huge.store(), path, metadata).ok());
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(huge.store(), io_));
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadPlan plan,
                               PlanLoad(opened, {.mesh = *mesh::Mesh::MakeHost({{"x", 8}})}));
  EXPECT_EQ(plan.devices[0].bytes, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(plan.arrays[0].chunks, int64_t{1} << 59);
}

}  // namespace
}  // namespace tessera::checkpoint
