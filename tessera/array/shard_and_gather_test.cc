#include "tessera/array/shard_and_gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/comm/alone.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using mesh::PartitionSpec;
using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Host;
using testing::HostIota;
using testing::Iota;
using testing::Mesh24;
using testing::On24;
using testing::PlatformOfRank;
using testing::ShardedIota;
using testing::SpecOf;
using testing::ValuesOf;
using Specs = tree::Tree<PartitionSpec>;
using Functions = tree::Tree<GatherFn>;

const Value kThree = Opaque{nullptr, mesh::LeafKind::kNumber, "int"};

class ShardAndGatherTest : public ::testing::Test {
 protected:
  const std::unique_ptr<device::Platform> platform_ = Host(8);
  const std::unique_ptr<comm::Comm> comm_ = comm::MakeAlone();
  const Mover mover_ = {*platform_, *comm_};
  const Specs specs_ = Specs::MakeDict(
      {{"w", PartitionSpec{"dp", "tp"}}, {"b", PartitionSpec{}}, {"n", Specs::None()}});
};

TEST_F(ShardAndGatherTest, CollectAfterPlaceGivesTheArrayBack) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto fns,
                               MakeShardAndGatherFns(specs_, mover_, {.mesh = Mesh24()}));
  EXPECT_TRUE(fns.shard.Find("n")->is_none());
  EXPECT_TRUE(fns.gather.Find("n")->is_none());
  const ShardedArray one = ShardedIota({8, 16}, mesh::SingleDeviceSharding{{3, 0}}, *platform_);
  for (const Value& value : {Value(HostIota({8, 16})), Value(one)}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const ShardedArray placed, fns.shard.Find("w")->leaf()(value));
    EXPECT_EQ(SpecOf(placed), (PartitionSpec{"dp", "tp"}));
    TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray host, fns.gather.Find("w")->leaf()(placed));
    EXPECT_EQ(ValuesOf(host), Iota(128));
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(const ShardedArray whole, fns.shard.Find("b")->leaf()(one));
  EXPECT_EQ(whole.shards().size(), 8u);
  TESSERA_ASSERT_OK_AND_ASSIGN(const HostArray host, fns.gather.Find("b")->leaf()(HostIota({2})));
  EXPECT_EQ(ValuesOf(host), Iota(2));
}

TEST_F(ShardAndGatherTest, RefusesOrCorrectsWhatDoesNotDivide) {
  const Value odd = HostIota({7, 16});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto exact,
                               MakeShardAndGatherFns(specs_, mover_, {.mesh = Mesh24()}));
  EXPECT_THAT(exact.shard.Find("w")->leaf()(odd), HasKind(ErrorKind::kIndivisible));
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto corrected,
      MakeShardAndGatherFns(specs_, mover_, {.mesh = Mesh24(), .auto_correct = true}));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ShardedArray placed, corrected.shard.Find("w")->leaf()(odd));
  EXPECT_EQ(SpecOf(placed), (PartitionSpec{nullptr, "tp"}));
  EXPECT_THAT(
      corrected.shard.Find("w")->leaf()(kThree),
      StatusIs(absl::StatusCode::kInvalidArgument, "expected an array to place, found int"));
  EXPECT_THAT(
      exact.gather.Find("w")->leaf()(kThree),
      StatusIs(absl::StatusCode::kInvalidArgument, "expected an array to gather, found int"));
}

TEST_F(ShardAndGatherTest, FindsWrongSpecsWhenItIsMade) {
  const auto make = [&](const PartitionSpec& spec) {
    return MakeShardAndGatherFns(Specs::MakeDict({{"w", spec}}), mover_, {.mesh = Mesh24()});
  };
  EXPECT_THAT(make({"xx"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("w: spec P('xx'): the mesh has no axis 'xx'")));
  EXPECT_THAT(make({"dp", "dp"}), HasKind(ErrorKind::kDuplicateAxis));
  EXPECT_THAT(MakeShardAndGatherFns(specs_, mover_), HasKind(ErrorKind::kNoMesh));
}

TEST(ShardAndGatherOverRanksTest, CollectsOnEveryRank) {
  EXPECT_THAT(comm::RunRanks(4,
                             [](comm::Comm& comm) -> absl::Status {
                               const auto platform = PlatformOfRank(4, comm.rank());
                               const Mover mover = {*platform, comm};
                               TESSERA_ASSIGN_OR_RETURN(
                                   const auto fns,
                                   MakeShardAndGatherFns(Specs(PartitionSpec{"dp", "tp"}), mover,
                                                         {.mesh = testing::Mesh24OverRanks(4)}));
                               TESSERA_ASSIGN_OR_RETURN(const ShardedArray placed,
                                                        fns.shard.leaf()(HostIota({8, 16})));
                               EXPECT_EQ(placed.shards().size(), 2u);
                               TESSERA_ASSIGN_OR_RETURN(const HostArray host,
                                                        fns.gather.leaf()(placed));
                               EXPECT_EQ(ValuesOf(host), Iota(128));
                               return absl::OkStatus();
                             }),
              IsOk());
}

class ApplyGatherFunctionsTest : public ShardAndGatherTest {
 protected:
  // Marks what it was called for by its shape.
  static GatherFn Giving(int64_t size) {
    return [size](const Value&) -> absl::StatusOr<HostArray> { return HostIota({size}); };
  }
  static std::vector<int64_t> Sizes(const FlatState& state) {
    std::vector<int64_t> sizes;
    for (const auto& [name, value] : state) {
      const auto* host = std::get_if<HostArray>(&value);
      sizes.push_back(host == nullptr ? -1 : host->shape()[0]);
    }
    return sizes;
  }

  const FlatState state_ = {{"a.w", ShardedIota({8}, On24({"dp"}), *platform_)}, {"b", kThree}};
};

TEST_F(ApplyGatherFunctionsTest, FindsFunctionsByDottedNames) {
  const Functions nested =
      Functions::MakeDict({{"a", Functions::MakeDict({{"w", Giving(11)}})}, {"b", Giving(12)}});
  const Functions dotted = Functions::MakeDict({{"a.w", Giving(11)}, {"b", Giving(12)}});
  for (const Functions& functions : {nested, dotted}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto gathered,
                                 ApplyGatherFunctions(state_, functions, mover_));
    EXPECT_THAT(Sizes(gathered.state), ElementsAre(11, 12));
    EXPECT_EQ(gathered.state[0].first, "a.w");
    EXPECT_EQ(gathered.mismatches, 0);
  }
}

TEST_F(ApplyGatherFunctionsTest, CountsOrRefusesWhatHasNoFunction) {
  const Functions one = Functions::MakeDict({{"a.w", Giving(11)}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto gathered, ApplyGatherFunctions(state_, one, mover_));
  EXPECT_THAT(Sizes(gathered.state), ElementsAre(11, -1));
  EXPECT_EQ(gathered.mismatches, 1);
  EXPECT_THAT(
      ApplyGatherFunctions(state_, one, mover_, {.mismatch_allowed = false}),
      StatusIs(absl::StatusCode::kNotFound, "b: no gather function; there are functions for a.w"));
}

TEST_F(ApplyGatherFunctionsTest, AnErrorOfAFunctionIsNoMismatch) {
  const Functions failing =
      Functions::MakeDict({{"a.w", GatherFn([](const Value&) -> absl::StatusOr<HostArray> {
                              return DataLoss("a lost page");
                            })}});
  EXPECT_THAT(ApplyGatherFunctions(state_, failing, mover_),
              StatusIs(absl::StatusCode::kDataLoss, "a.w: a lost page"));
}

TEST_F(ApplyGatherFunctionsTest, TrueGathersAllAndFalseNothing) {
  std::vector<std::string> seen;
  const auto note = [&](const GatherProgress& progress) {
    seen.push_back(
        Concat(progress.done, "/", progress.total, " ", progress.name, " ", progress.bytes));
  };
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto gathered,
                               ApplyGatherFunctions(state_, true, mover_, {.progress = note}));
  EXPECT_THAT(Sizes(gathered.state), ElementsAre(8, -1));
  EXPECT_THAT(seen, ElementsAre("1/2 a.w 32", "2/2 b 32"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto same, ApplyGatherFunctions(state_, false, mover_));
  EXPECT_THAT(Sizes(same.state), ElementsAre(-1, -1));
}

}  // namespace
}  // namespace tessera::array
