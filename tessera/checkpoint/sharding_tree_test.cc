#include "tessera/checkpoint/sharding_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

using mesh::Mesh;
using mesh::NamedSharding;
using mesh::PartitionSpec;

Mesh M24() { return *Mesh::MakeHost({{"dp", 2}, {"tp", 4}}); }

ledger::TensorstoreIndex Sample() {
  return {"0.1.0",
          {{{"model", {{"model/emb/w", {8, 4}, "float32"}, {"model/b", {4}, "float32"}}}}},
          {}};
}

ShardingTree Expected(const ChosenSharding& leaf) {
  return ShardingTree::MakeDict({{"emb", ShardingTree::MakeDict({{"w", leaf}})}, {"b", leaf}});
}

TEST(CreateShardingTreeTest, ReplicatesByDefault) {
  const ChosenSharding replicated = NamedSharding::Replicated(M24());
  EXPECT_THAT(CreateShardingTreeFromIndex(Sample(), {.mesh = M24(), .prefix = "model"}),
              IsOkAndHolds(Expected(replicated)));
  EXPECT_THAT(CreateShardingTreeFromIndex(Sample()), IsOkAndHolds(Expected(std::nullopt)));
}

TEST(CreateShardingTreeTest, ASpecIsBoundAndCheckedAgainstEveryShape) {
  EXPECT_THAT(CreateShardingTreeFromIndex(Sample(),
                                          {.mesh = M24(), .default_sharding = PartitionSpec{"dp"}}),
              IsOkAndHolds(Expected(*NamedSharding::Make(M24(), {"dp"}))));
  EXPECT_THAT(CreateShardingTreeFromIndex(Sample(), {.default_sharding = PartitionSpec{"dp"}}),
              HasKind(ErrorKind::kNoMesh));
  EXPECT_THAT(CreateShardingTreeFromIndex(
                  Sample(), {.mesh = M24(), .default_sharding = PartitionSpec{"dp", "tp"}}),
              StatusIs(kInvalid, HasSubstr("model/b: NS(")));
  EXPECT_THAT(CreateShardingTreeFromIndex(Sample(),
                                          {.mesh = M24(), .default_sharding = PartitionSpec{"xx"}}),
              StatusIs(kInvalid, HasSubstr("model/emb/w: spec P('xx')")));
}

TEST(CreateShardingTreeTest, AFunctionSeesTheWholeRecord) {
  const auto choose = [](const ledger::ArrayRecord& record) -> absl::StatusOr<ChosenSharding> {
    if (record.shape.size() < 2) return std::nullopt;
    return NamedSharding::Make(M24(), {"dp", "tp"});
  };
  EXPECT_THAT(CreateShardingTreeFromIndex(Sample(), {.default_sharding = choose}),
              IsOkAndHolds(ShardingTree::MakeDict(
                  {{"emb", ShardingTree::MakeDict(
                               {{"w", ChosenSharding(*NamedSharding::Make(M24(), {"dp", "tp"}))}})},
                   {"b", ChosenSharding()}})));
}

TEST(CreateShardingTreeTest, ARootArrayIsABareLeaf) {
  const ledger::TensorstoreIndex index{"", {{{"m", {{"m", {2}, "int8"}}}}}, {}};
  EXPECT_THAT(CreateShardingTreeFromIndex(index), IsOkAndHolds(ShardingTree(ChosenSharding())));
}

TEST(CreateShardingTreeTest, ALaterRecordReplacesAnEarlierOne) {
  const ledger::TensorstoreIndex index{"", {}, {{{"w", {2}, "int8"}, {"w", {4}, "int8"}}}};
  EXPECT_THAT(CreateShardingTreeFromIndex(index),
              IsOkAndHolds(ShardingTree::MakeDict({{"w", ChosenSharding()}})));
}

TEST(CreateShardingTreeTest, AKeyInsideAnotherIsRefused) {
  const ledger::TensorstoreIndex index{"", {}, {{{"a", {2}, "int8"}, {"a/b", {4}, "int8"}}}};
  EXPECT_THAT(CreateShardingTreeFromIndex(index),
              StatusIs(kInvalid, ::testing::AllOf(HasSubstr("a/b"), HasSubstr("'a'"))));
}

}  // namespace
}  // namespace tessera::checkpoint
