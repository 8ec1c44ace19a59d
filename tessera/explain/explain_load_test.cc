#include "tessera/explain/explain_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::explain {
namespace {

using ::tessera::checkpoint::testing::StoredCheckpoint;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

mesh::Mesh MeshOf(std::string_view text, int64_t hosts = 1) {
  return *DealToHosts(*mesh::ParseMesh(text), hosts);
}

class ExplainLoadTest : public ::testing::Test {
 protected:
  ExplainLoadTest() {
    stored_.Add("a/w", {8, 16}, {4, 16}).Add("a/b", {6}, {6}).Add("c", {4}, {4}).Index();
  }
  checkpoint::Checkpoint Open() { return *checkpoint::Checkpoint::Open(stored_.store(), io_); }

  StoredCheckpoint stored_;
  IoContext io_;
};

TEST_F(ExplainLoadTest, AddsUpWhatThePlannerPlans) {
  const ExplainRequest request{.mesh = MeshOf("dp=2,tp=4", 2),
                               .rules = {{"w$", {"dp", "tp"}}, {"b$", {"tp"}}},
                               .device_budget = 100,
                               .memory_budget = 1000};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadExplanation explained, ExplainLoad(Open(), request));
  EXPECT_EQ(explained.hosts, 2);
  EXPECT_EQ(explained.nbytes, 512 + 24 + 16);
  EXPECT_EQ(explained.requests, 2 + 2 + 2);
  EXPECT_EQ(explained.wanted_bytes, 512 + 48 + 32);
  EXPECT_EQ(explained.amplification(), 1.0);
  EXPECT_THAT(explained.rule_uses, ElementsAre(RuleUse{1, 512}, RuleUse{1, 24}));
  EXPECT_EQ(explained.plan.devices[0].bytes, 64 + 24 + 16);
  EXPECT_THAT(explained.over_budget, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(explained.plan.processes[0].peak_bytes, 4 * 104 + 1000);
}

TEST_F(ExplainLoadTest, ArraysThatNoRuleTakesAreReplicatedUnlessStrict) {
  ExplainRequest request{.mesh = MeshOf("dp=2,tp=4"), .rules = {{"w$", {"dp", "tp"}}}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadExplanation explained, ExplainLoad(Open(), request));
  EXPECT_EQ(explained.plan.arrays[1].placement.rule, std::nullopt);
  EXPECT_EQ(explained.plan.arrays[1].device_bytes, 24);
  request.strict = true;
  EXPECT_THAT(ExplainLoad(Open(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("2 arrays cannot be placed"),
                             HasSubstr("a.b: no partition rule matches"))));
}

TEST_F(ExplainLoadTest, NamesEveryRuleThatCannotBeBound) {
  ExplainRequest request{
      .mesh = MeshOf("dp=2,tp=4"),
      .rules = {{"w$", {"fsdp"}}, {"nothing", {"ep"}}, {"b$", {{"tp", "tp"}}}, {".*", {}}}};
  EXPECT_THAT(ExplainLoad(Open(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("rule 0 'w$': "), HasSubstr("fsdp"),
                             HasSubstr("; rule 2 'b$': "), ::testing::Not(HasSubstr("ep'")))));
}

TEST_F(ExplainLoadTest, TellsWhichRuleWasThereFirst) {
  const ExplainRequest request{.mesh = MeshOf("x=2"),
                               .rules = {{"nowhere", {}}, {".*", {}}, {"w$", {"x"}}}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadExplanation explained, ExplainLoad(Open(), request));
  EXPECT_THAT(explained.rule_uses, ElementsAre(RuleUse{}, RuleUse{3, 552}, RuleUse{0, 0, 1}));
}

TEST_F(ExplainLoadTest, DevicesAreDealtToHostsInOrder) {
  const mesh::Mesh mesh = MeshOf("dp=2,tp=4", 4);
  EXPECT_EQ(mesh.devices()[1], (mesh::Device{1, 0}));
  EXPECT_EQ(mesh.devices()[2], (mesh::Device{2, 1}));
  EXPECT_EQ(mesh.devices()[7], (mesh::Device{7, 3}));
  EXPECT_THAT(DealToHosts(mesh, 3),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the 8 devices of Mesh('dp': 2, 'tp': 4) cannot be dealt evenly to 3 hosts; "
                       "the number of hosts must divide that of devices"));
}

std::vector<std::string> WarningsOf(const LoadExplanation& explained) {
  std::vector<std::string> texts;
  for (const Warning& each : explained.warnings) {
    texts.push_back(Concat(each.kind, " ", each.key, " ", each.arrays, ": ", each.detail));
  }
  return texts;
}

TEST_F(ExplainLoadTest, WarnsOfWhatIsCorrectedUnmatchedAndTooMuch) {
  const ExplainRequest request{.mesh = MeshOf("dp=2,tp=4"),
                               .rules = {{"w$", {"dp", "tp"}}, {"b$", {"tp", "dp"}}},
                               .device_budget = 100};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadExplanation explained, ExplainLoad(Open(), request));
  EXPECT_THAT(
      WarningsOf(explained),
      ElementsAre(
          "over_budget  0: 8 of 8 devices get more than the budget of 100 B: up to 104 B, 4 B too "
          "much; the largest on a device: 'a.w' 64 B, 'a.b' 24 B, 'c' 16 B",
          "unmatched c 1: 'c': no rule takes it, so that every device holds it whole (16 B each); "
          "a load refuses this: add a rule, such as [\".*\", []] at the end",
          "corrected a.b 1: 'a.b': rule 1 'b$' asks for P('tp', 'dp'), but there is no dimension 1 "
          "to split over dp=2; dimension 0 of size 6 is no multiple of tp=4",
          "replicated a.b 1: 'a.b': whole on every device by rule 1 'b$': 24 B of the 104 B that "
          "each holds"));
}

TEST_F(ExplainLoadTest, WarnsOfShardsThatCutThroughChunks) {
  const ExplainRequest request{
      .mesh = MeshOf("dp=2,tp=4", 2),
      .rules = {{"w$", {nullptr, {"dp", "tp"}}}, {".*", {}}, {"b$", {}}, {"x", {}}}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadExplanation explained, ExplainLoad(Open(), request));
  EXPECT_THAT(
      WarningsOf(explained),
      ElementsAre("amplification a.w 1: 'a.w': a wanted byte is decoded 2.00 times, as shards of "
                  "[8,2] cut through chunks of [4,16]: a process reads up to 2 of 2 chunks, 512 B "
                  "for nothing; 'tessera rechunk SRC DST --mesh dp=2,tp=4 --rules FILE' writes "
                  "chunks that fit",
                  "replicated a.b 2: 'a.b', 'c': whole on every device by rule 1 '.*': 40 B of the "
                  "104 B that each holds",
                  "shadowed_rule  0: rule 2 'b$' decides nothing: rule 1 '.*' stands before it and "
                  "takes what it would match",
                  "unused_rule  0: rule 3 'x' matches no key"));
}

TEST_F(ExplainLoadTest, RulesMayBeIdleWhereOnlySomeArraysAreLookedAt) {
  const ExplainRequest request{
      .mesh = MeshOf("x=2"), .rules = {{"w$", {"x"}}, {"b$", {"x"}}}, .match = "w$"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadExplanation explained, ExplainLoad(Open(), request));
  EXPECT_THAT(WarningsOf(explained), ElementsAre());
  EXPECT_EQ(explained.plan.arrays.size(), 1);
}

TEST(ExplainLoadManyTest, ArraysWithOneTroubleShareAWarning) {
  StoredCheckpoint stored;
  for (int i = 0; i < 5; ++i) stored.Add(Concat("layers/", i, "/w"), {6, 4}, {6, 4});
  stored.Add("z", {6}, {6}).Index();
  IoContext io;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto opened, checkpoint::Checkpoint::Open(stored.store(), io));
  const ExplainRequest request{.mesh = MeshOf("x=4"), .rules = {{".*", {"x"}}}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadExplanation explained, ExplainLoad(opened, request));
  ASSERT_EQ(explained.warnings.size(), 2);
  EXPECT_EQ(explained.warnings[0],
            (Warning{"corrected", "layers.0.w",
                     "'layers.0.w', 'layers.1.w', 'layers.2.w' and 3 others: rule 0 '.*' asks for "
                     "P('x'), but dimension 0 of size 6 is no multiple of x=4",
                     6}));
}

}  // namespace
}  // namespace tessera::explain
