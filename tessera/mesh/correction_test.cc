#include "tessera/mesh/correction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/mesh_scope.h"
#include "tessera/mesh/settings.h"
#include "tessera/mesh/testing/arbitrary.h"
#include "tessera/mesh/testing/meshes.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::LogCapture;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::M18;
using testing::M24;

PartitionSpec Corrected(const Dims& shape, const PartitionSpec& spec, const Mesh& mesh = M24()) {
  return GetCorrectedNamedSharding(shape, spec, {.mesh = mesh})->sharding.spec();
}

TEST(GetCorrectedNamedShardingTest, TheVectorsOfTheReference) {
  EXPECT_EQ(Corrected({8, 16}, {"dp"}), PartitionSpec({"dp", nullptr}));
  EXPECT_EQ(Corrected({6, 16}, {"tp", "dp"}), PartitionSpec({nullptr, "dp"}));
  EXPECT_EQ(Corrected({12, 16}, {{"dp", "tp"}}), PartitionSpec());
  EXPECT_EQ(Corrected({8, 16}, {{"dp", "xx"}, "tp"}), PartitionSpec({nullptr, "tp"}));
  EXPECT_EQ(Corrected({8}, {"dp", "tp"}), PartitionSpec({"dp"}));
  EXPECT_EQ(Corrected({}, {"dp"}), PartitionSpec());
  EXPECT_EQ(Corrected({0, 16}, {"dp", "tp"}), PartitionSpec({"dp", "tp"}));
  EXPECT_EQ(Corrected({7, 8}, {"dp", "dp"}), PartitionSpec({nullptr, "dp"}));
  EXPECT_EQ(Corrected({7, 8}, {"dp", "tp"}, M18()), PartitionSpec({"dp", "tp"}));
  EXPECT_EQ(Corrected({8, 16}, {nullptr}), PartitionSpec());
  EXPECT_EQ(Corrected({8, 16}, {SpecEntry::Unconstrained(), "tp"}), PartitionSpec({nullptr, "tp"}));
}

TEST(GetCorrectedNamedShardingTest, AnAxisThatSurvivesTwiceIsRefused) {
  EXPECT_THAT(GetCorrectedNamedSharding(Dims{8, 8}, {"dp", "dp"}, {.mesh = M24()}),
              HasKind(ErrorKind::kDuplicateAxis));
}

TEST(GetCorrectedNamedShardingTest, WithoutAMeshItFailsOrWarns) {
  EXPECT_THAT(GetCorrectedNamedSharding(Dims{8}, {"dp"}), HasKind(ErrorKind::kNoMesh));
  EXPECT_THAT(GetCorrectedNamedSharding(Dims{8}, {"dp"}, {.mesh = Mesh()}),
              HasKind(ErrorKind::kNoMesh));
  LogCapture log;
  const auto lenient = GetCorrectedNamedSharding(Dims{8}, {"dp"}, {.raise_mesh_error = false});
  ASSERT_THAT(lenient, IsOk());
  EXPECT_EQ(lenient->sharding, NamedSharding::Replicated(Mesh()));
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_THAT(log.lines()[0].second, HasSubstr("no mesh; P('dp') becomes P()"));
}

TEST(GetCorrectedNamedShardingTest, UsesTheMeshInScope) {
  const MeshScope scope(M24());
  EXPECT_EQ(GetCorrectedNamedSharding(Dims{8}, {"tp"})->sharding,
            *NamedSharding::Make(M24(), {"tp"}));
}

TEST(GetCorrectedNamedShardingTest, RefusesAShapeThatIsNone) {
  EXPECT_THAT(GetCorrectedNamedSharding(Dims{-1}, {"dp"}, {.mesh = M24()}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("negative size")));
}

TEST(CorrectSpecTest, RecordsEveryChange) {
  const CorrectedSpec result =
      CorrectSpec(M24(), Dims{6, 16, 4}, {"tp", {"dp", "xx"}, SpecEntry::Unconstrained(), "dp"});
  EXPECT_EQ(result.spec, PartitionSpec());
  ASSERT_EQ(result.corrections.size(), 4u);
  EXPECT_EQ(result.corrections[0].Text(), "dimension 0: 'tp' -> None (does not divide)");
  EXPECT_EQ(result.corrections[1].Text(), "dimension 1: ('dp', 'xx') -> None (unknown axis)");
  EXPECT_EQ(result.corrections[2].Text(), "dimension 2: UNCONSTRAINED -> None (unconstrained)");
  EXPECT_EQ(result.corrections[3].Text(), "dimension 3: 'dp' -> None (past the rank)");
}

TEST(CorrectSpecTest, PaddingAndCuttingUnsplitEntriesIsNoCorrection) {
  EXPECT_THAT(CorrectSpec(M24(), Dims{8}, {"dp", nullptr}).corrections, IsEmpty());
  EXPECT_THAT(CorrectSpec(M24(), Dims{8, 8}, {"dp"}).corrections, IsEmpty());
}

TEST(CorrectSpecTest, KeepPartialKeepsTheLongestLeadingRunThatFits) {
  const CorrectionOptions partial{.keep_partial = true};
  EXPECT_EQ(CorrectSpec(M24(), Dims{2, 16}, {{"dp", "tp"}}, partial).spec,
            PartitionSpec({"dp", nullptr}));
  EXPECT_EQ(CorrectSpec(M24(), Dims{8}, {{"dp", "tp", "xx"}}, partial).spec,
            PartitionSpec({{"dp", "tp"}}));
  EXPECT_EQ(CorrectSpec(M24(), Dims{3}, {{"dp", "tp"}}, partial).spec, PartitionSpec());
  EXPECT_EQ(CorrectSpec(M24(), Dims{3}, {"dp"}, partial).spec, PartitionSpec());
}

TEST(ResolveShardingConstraintTest, TheVectorsOfTheReference) {
  const MeshScope scope(M24());
  const auto spec = [](const Dims& shape, PartitionSpec constraint) {
    return (*ResolveShardingConstraint(shape, constraint))->sharding.spec();
  };
  EXPECT_EQ(spec({8, 16}, {"dp"}), PartitionSpec({"dp", nullptr}));
  EXPECT_EQ(spec({6}, {"tp"}), PartitionSpec());
  EXPECT_EQ(spec({8}, {"dp", "tp", "xx"}), PartitionSpec({"dp"}));
  EXPECT_EQ(spec({8, 16}, {}), PartitionSpec());
}

TEST(ResolveShardingConstraintTest, LeavesArraysAloneWithoutAMeshOrByOption) {
  EXPECT_EQ(*ResolveShardingConstraint(Dims{6}, PartitionSpec{"tp"}), std::nullopt);
  EXPECT_EQ(*ResolveShardingConstraint(
                Dims{6}, PartitionSpec(),
                {.mesh = M24(), .empty_spec = ConstraintOptions::EmptySpec::kLeave}),
            std::nullopt);
}

TEST(ResolveShardingConstraintTest, ANamedShardingBringsItsMesh) {
  const MeshScope scope(M24());
  const NamedSharding constraint = *NamedSharding::Make(M18(), {"tp"});
  EXPECT_EQ((*ResolveShardingConstraint(Dims{8, 2}, constraint))->sharding,
            *NamedSharding::Make(M18(), {"tp", nullptr}));
}

// Run again by ctest with the variable set.
TEST(SettingsInUseTest, CorrectionsAreLoggedWhenTheVariableSaysSo) {
  LogCapture log;
  ASSERT_THAT(GetCorrectedNamedSharding(Dims{6}, {"tp"}, {.mesh = M24()}), IsOk());
  if (!LogShardingMove()) {
    EXPECT_THAT(log.lines(), IsEmpty());
    return;
  }
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(log.lines()[0].second,
            "spec P('tp') does not fit shape [6]: dimension 0: 'tp' -> None (does not divide)");
}

RC_GTEST_PROP(CorrectionProperty, IsIdempotentAndItsResultFits, ()) {
  const Mesh mesh = testing::ArbitraryMesh();
  // Specs for a larger mesh, so that some axes are unknown here.
  const Mesh asked = testing::ArbitraryMesh();
  const PartitionSpec spec = testing::ArbitrarySpec(asked, 4);
  Dims shape(*rc::gen::inRange<size_t>(0, 4));
  for (int64_t& size : shape) size = *rc::gen::inRange<int64_t>(0, 25);
  const auto once = GetCorrectedNamedSharding(shape, spec, {.mesh = mesh});
  RC_ASSERT(once.ok());
  const auto twice = GetCorrectedNamedSharding(shape, once->sharding.spec(), {.mesh = mesh});
  RC_ASSERT(twice.ok());
  RC_ASSERT(twice->sharding == once->sharding);
  RC_ASSERT(twice->corrections.empty());
  RC_ASSERT(ShardShape(once->sharding, shape).ok());
}

}  // namespace
}  // namespace tessera::mesh
