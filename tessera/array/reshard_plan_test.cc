#include "tessera/array/reshard_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "tessera/array/testing/reshard_cases.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using mesh::Device;
using mesh::DeviceShard;
using mesh::Mesh;
using mesh::NamedSharding;
using mesh::PartitionSpec;
using mesh::Sharding;
using mesh::SingleDeviceSharding;
using ::tessera::testing::HasKind;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeReshardCase;
using testing::ReshardCase;
using ::testing::SizeIs;

// `count` devices from `first` on, `per_process` of them for each process.
Mesh Line(int64_t count, int64_t per_process, int64_t first = 0) {
  std::vector<Device> devices;
  for (int64_t i = first; i < first + count; ++i) {
    devices.push_back({i, static_cast<int>(i / per_process)});
  }
  return *Mesh::Make({{"x", count}}, devices);
}

Sharding On(const Mesh& mesh, PartitionSpec spec) { return *NamedSharding::Make(mesh, spec); }

ShapeDtype F32(Dims shape) { return {std::move(shape), DType::kFloat32}; }

Box MakeBox(Dims origin, Dims shape) { return *Box::Make(origin, shape); }

TEST(PlanReshardTest, RowsToColumnsInOneProcessAreLocalCopies) {
  const Mesh mesh = Line(2, 2);
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReshardPlan plan,
                               PlanReshard(F32({4, 6}), On(mesh, {"x"}), On(mesh, {nullptr, "x"})));
  EXPECT_EQ(plan.Text(),
            "reshard float32[4,6] from 2 to 2 devices, rounds: 0\n"
            "copy device 0 to device 0 [0:2,0:3], 24 bytes\n"
            "copy device 1 to device 0 [2:4,0:3], 24 bytes\n"
            "copy device 0 to device 1 [0:2,3:6], 24 bytes\n"
            "copy device 1 to device 1 [2:4,3:6], 24 bytes\n"
            "process 0: kept 0, copied 96, sent 0, received 0, peak staging 0 bytes\n");
}

TEST(PlanReshardTest, RowsToColumnsBetweenProcessesSendsWhatIsElsewhere) {
  const Mesh mesh = Line(2, 1);
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReshardPlan plan,
                               PlanReshard(F32({4, 6}), On(mesh, {"x"}), On(mesh, {nullptr, "x"})));
  EXPECT_EQ(plan.Text(),
            "reshard float32[4,6] from 2 to 2 devices, rounds: 1\n"
            "copy device 0 to device 0 [0:2,0:3], 24 bytes\n"
            "copy device 1 to device 1 [2:4,3:6], 24 bytes\n"
            "round 0: send device 0 to device 1 [0:2,3:6], 24 bytes\n"
            "round 0: send device 1 to device 0 [2:4,0:3], 24 bytes\n"
            "process 0: kept 0, copied 24, sent 24, received 24, peak staging 48 bytes\n"
            "process 1: kept 0, copied 24, sent 24, received 24, peak staging 48 bytes\n");
}

TEST(PlanReshardTest, AnUnchangedShardingKeepsEveryShard) {
  const Mesh mesh = Line(4, 2);
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReshardPlan plan,
                               PlanReshard(F32({8, 6}), On(mesh, {"x"}), On(mesh, {"x", nullptr})));
  EXPECT_THAT(plan.kept,
              ElementsAre(KeptShard{0, 0}, KeptShard{1, 1}, KeptShard{2, 2}, KeptShard{3, 3}));
  EXPECT_THAT(plan.copies, IsEmpty());
  EXPECT_THAT(plan.transfers, IsEmpty());
  EXPECT_EQ(plan.totals[1], (ProcessTotals{.process = 1, .kept_bytes = 96}));
}

TEST(PlanReshardTest, AnotherMemoryKindIsCopiedOnItsOwnDevice) {
  const Mesh mesh = Line(2, 2);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ReshardPlan plan,
      PlanReshard(F32({4}), On(mesh, {"x"}), *NamedSharding::Make(mesh, {"x"}, "pinned_host")));
  EXPECT_THAT(plan.kept, IsEmpty());
  EXPECT_THAT(plan.copies, ElementsAre(LocalCopy{0, 0, MakeBox({0}, {2}), 8},
                                       LocalCopy{1, 1, MakeBox({2}, {2}), 8}));
}

TEST(PlanReshardTest, ABoxThatManyDevicesOfAProcessNeedCrossesOnce) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ReshardPlan plan,
      PlanReshard(F32({6}), SingleDeviceSharding{{0, 0}}, NamedSharding::Replicated(Line(6, 2))));
  EXPECT_THAT(plan.kept, ElementsAre(KeptShard{0, 0}));
  EXPECT_THAT(plan.copies, ElementsAre(LocalCopy{0, 1, MakeBox({0}, {6}), 24}));
  EXPECT_THAT(plan.transfers, ElementsAre(BoxTransfer{0, 0, {2, 3}, MakeBox({0}, {6}), 24},
                                          BoxTransfer{0, 0, {4, 5}, MakeBox({0}, {6}), 24}));
  EXPECT_EQ(plan.totals[2], (ProcessTotals{2, 0, 24, 0, 24, 24}));
}

TEST(PlanReshardTest, ReplicasShareTheSending) {
  // Four processes hold the array, four others want it.
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ReshardPlan plan,
      PlanReshard(F32({4, 4}), NamedSharding::Replicated(Line(4, 1)), On(Line(4, 1, 4), {"x"})));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(plan.totals[i].sent_bytes, 16) << i;
}

TEST(PlanReshardTest, ReplicasOfOneProcessShareTheReading) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ReshardPlan plan,
      PlanReshard(F32({4}), NamedSharding::Replicated(Line(4, 8)), On(Line(4, 8, 4), {"x"})));
  ASSERT_THAT(plan.copies, SizeIs(4));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.copies[static_cast<size_t>(i)], (LocalCopy{i, i, MakeBox({i}, {1}), 4}));
  }
}

TEST(PlanReshardTest, LargeBoxesAreCutIntoRounds) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReshardPlan plan,
                               PlanReshard(F32({5, 2}), SingleDeviceSharding{{0, 0}},
                                           SingleDeviceSharding{{1, 1}}, {.budget_bytes = 32}));
  EXPECT_THAT(plan.transfers, ElementsAre(BoxTransfer{0, 0, {0}, MakeBox({0, 0}, {2, 2}), 16},
                                          BoxTransfer{1, 0, {0}, MakeBox({2, 0}, {2, 2}), 16},
                                          BoxTransfer{2, 0, {0}, MakeBox({4, 0}, {1, 2}), 8}));
  EXPECT_EQ(plan.totals[0].peak_staging_bytes, 16);
  EXPECT_EQ(plan.totals[1].peak_staging_bytes, 16);
}

TEST(PlanReshardTest, ARowAboveTheBudgetIsCutAlongTheNextDimension) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReshardPlan plan,
                               PlanReshard(F32({2, 3}), SingleDeviceSharding{{0, 0}},
                                           SingleDeviceSharding{{1, 1}}, {.budget_bytes = 16}));
  ASSERT_THAT(plan.transfers, SizeIs(4));
  EXPECT_EQ(plan.transfers[0].box, MakeBox({0, 0}, {1, 2}));
  EXPECT_EQ(plan.transfers[1].box, MakeBox({0, 2}, {1, 1}));
  EXPECT_EQ(plan.transfers[2].box, MakeBox({1, 0}, {1, 2}));
}

TEST(PlanReshardTest, AllToAllFillsEveryRoundOnEveryProcess) {
  // Each of 8 processes sends 7 boxes of 64 bytes; two fit into half the budget.
  const Mesh mesh = Line(8, 1);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ReshardPlan plan,
      PlanReshard(F32({32, 32}), On(mesh, {"x"}), On(mesh, {nullptr, "x"}), {.budget_bytes = 256}));
  EXPECT_EQ(plan.rounds, 4);
  for (const ProcessTotals& totals : plan.totals) EXPECT_EQ(totals.peak_staging_bytes, 256);
}

TEST(PlanReshardTest, AnArrayWithoutElementsMovesNothing) {
  const Mesh mesh = Line(4, 2);
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReshardPlan plan,
                               PlanReshard(F32({0, 8}), On(mesh, {"x"}), On(mesh, {nullptr, "x"})));
  EXPECT_THAT(plan.copies, IsEmpty());
  EXPECT_THAT(plan.transfers, IsEmpty());
  EXPECT_EQ(plan.rounds, 0);
}

TEST(PlanReshardTest, IsPrintedAsJson) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ReshardPlan plan,
      PlanReshard(F32({2}), SingleDeviceSharding{{0, 0}}, NamedSharding::Replicated(Line(3, 2))));
  const Json json = ToJson(plan);
  EXPECT_EQ(json["dtype"], "float32");
  EXPECT_EQ(json["shape"], Json::parse("[2]"));
  EXPECT_EQ(json["kept"], Json::parse(R"([{"source": 0, "target": 0}])"));
  EXPECT_EQ(json["copies"], Json::parse(R"([{"source": 0, "target": 1, "bytes": 8,
                                            "box": {"origin": [0], "shape": [2]}}])"));
  EXPECT_EQ(json["transfers"], Json::parse(R"([{"round": 0, "source": 0, "targets": [2], "bytes": 8,
                             "box": {"origin": [0], "shape": [2]}}])"));
  EXPECT_EQ(json["rounds"], 1);
  EXPECT_EQ(json["sources"], Json::parse(R"([{"device": 0, "process": 0, "replica_id": 0,
                                              "box": {"origin": [0], "shape": [2]}}])"));
  EXPECT_EQ(json["totals"][1],
            Json::parse(R"({"process": 1, "kept_bytes": 0, "copied_bytes": 0, "sent_bytes": 0,
                            "received_bytes": 8, "peak_staging_bytes": 8})"));
}

TEST(PlanReshardTest, RefusesWhatCannotBePlaced) {
  const Mesh mesh = Line(4, 2);
  const auto uneven = PlanReshard(F32({6, 8}), On(mesh, {nullptr, "x"}), On(mesh, {"x"}));
  EXPECT_THAT(uneven, StatusIs(kInvalid, HasSubstr("dimension 0 of size 6 does not split evenly")));
  EXPECT_THAT(uneven, HasKind(ErrorKind::kIndivisible));
  EXPECT_THAT(PlanReshard(F32({4}), On(mesh, {"x"}), On(mesh, {nullptr, "x"})),
              StatusIs(kInvalid, HasSubstr("the spec has 2 entries, but the array has rank 1")));
  EXPECT_THAT(PlanReshard(F32({4}), NamedSharding::Replicated(Mesh()), On(mesh, {"x"})),
              HasKind(ErrorKind::kNoMesh));
}

TEST(PlanReshardTest, RefusesADeviceThatChangesItsProcess) {
  EXPECT_THAT(PlanReshard(F32({4}), SingleDeviceSharding{{3, 0}}, SingleDeviceSharding{{3, 1}}),
              StatusIs(kInvalid,
                       "device 3 belongs to process 0 in the source and to process 1 in "
                       "the target"));
}

TEST(PlanReshardTest, RefusesBudgetsThatAreTooSmall) {
  const SingleDeviceSharding from{{0, 0}}, to{{1, 1}};
  EXPECT_THAT(
      PlanReshard(F32({4}), from, to, {.budget_bytes = 7}),
      StatusIs(kInvalid, "budget_bytes is 7, expected at least 8, two elements of float32"));
  EXPECT_THAT(PlanReshard(F32({1 << 30}), from, to, {.budget_bytes = 8}),
              StatusIs(kInvalid,
                       "with budget_bytes 8 moving float32[1073741824] takes more than "
                       "4194304 transfers"));
}

TEST(PlanReshardTest, RefusesTotalsThatDoNotFit) {
  const auto replicated = NamedSharding::Replicated(Line(4, 4));
  EXPECT_THAT(PlanReshard({{int64_t{1} << 61}, DType::kInt8}, replicated, replicated),
              StatusIs(kInvalid, HasSubstr("63 bits")));
}

// For every element that some target needs: who gives it.
class PlanAudit {
 public:
  explicit PlanAudit(const ReshardPlan& plan)
      : plan_(plan), elements_(NumElements(plan.array.shape).value()) {
    source_of_.assign(plan.targets.size(), std::vector<int64_t>(elements_, -1));
  }

  void Run() {
    for (const KeptShard& kept : plan_.kept) {
      EXPECT_EQ(Target(kept.target).box, Source(kept.source).box);
      EXPECT_EQ(Target(kept.target).device, Source(kept.source).device);
      Paint(kept.source, kept.target, Target(kept.target).box);
    }
    for (const LocalCopy& copy : plan_.copies) {
      EXPECT_EQ(Target(copy.target).device.process, Source(copy.source).device.process);
      EXPECT_EQ(copy.bytes, *copy.box.num_elements() * DTypeBytes(plan_.array.dtype));
      Paint(copy.source, copy.target, copy.box);
    }
    for (const BoxTransfer& transfer : plan_.transfers) AuditTransfer(transfer);
    for (size_t i = 0; i < plan_.targets.size(); ++i) AuditTarget(static_cast<int64_t>(i));
  }

 private:
  const DeviceShard& Source(int64_t i) { return plan_.sources[static_cast<size_t>(i)]; }
  const DeviceShard& Target(int64_t i) { return plan_.targets[static_cast<size_t>(i)]; }

  // Calls `body` with the row-major number of each index in the box.
  template <typename Body>
  void ForEach(const Box& box, Body body) {
    const Dims strides = RowMajorStrides(plan_.array.shape, 1);
    const int64_t count = *box.num_elements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, number = 0;
      for (int d = box.rank() - 1; d >= 0; --d) {
        number += (box.begin(d) + rest % box.shape()[d]) * strides[d];
        rest /= box.shape()[d];
      }
      body(number);
    }
  }

  void Paint(int64_t source, int64_t target, const Box& box) {
    EXPECT_TRUE(Contains(Source(source).box, box));
    EXPECT_TRUE(Contains(Target(target).box, box));
    int64_t twice = 0;
    ForEach(box, [&](int64_t number) {
      int64_t& giver = source_of_[static_cast<size_t>(target)][static_cast<size_t>(number)];
      twice += giver == -1 ? 0 : 1;
      giver = source;
    });
    EXPECT_EQ(twice, 0);
  }

  void AuditTransfer(const BoxTransfer& transfer) {
    const int receiver = Target(transfer.targets.front()).device.process;
    EXPECT_NE(Source(transfer.source).device.process, receiver);
    EXPECT_EQ(transfer.bytes, *transfer.box.num_elements() * DTypeBytes(plan_.array.dtype));
    for (int64_t target : transfer.targets) {
      EXPECT_EQ(Target(target).device.process, receiver);
      Paint(transfer.source, target, transfer.box);
    }
    int64_t crossed_twice = 0;
    ForEach(transfer.box, [&](int64_t number) {
      crossed_twice += crossed_.insert({receiver, number}).second ? 0 : 1;
    });
    EXPECT_EQ(crossed_twice, 0);
    for (const DeviceShard& source : plan_.sources) {
      EXPECT_FALSE(source.device.process == receiver && Contains(source.box, transfer.box))
          << "device " << source.device.id << " of the receiver has the box";
    }
  }

  // Everything came, and what the device had itself came from there.
  void AuditTarget(int64_t target) {
    int64_t own = -1;
    for (size_t i = 0; i < plan_.sources.size(); ++i) {
      if (plan_.sources[i].device == Target(target).device) own = static_cast<int64_t>(i);
    }
    const Box had = own < 0 ? Target(target).box : Intersect(Source(own).box, Target(target).box);
    int64_t missing = 0, not_own = 0;
    ForEach(Target(target).box, [&](int64_t number) {
      missing += source_of_[static_cast<size_t>(target)][static_cast<size_t>(number)] == -1;
    });
    if (own >= 0) {
      ForEach(had, [&](int64_t number) {
        not_own += source_of_[static_cast<size_t>(target)][static_cast<size_t>(number)] != own;
      });
    }
    EXPECT_EQ(missing, 0);
    EXPECT_EQ(not_own, 0);
    if (own >= 0 && Source(own).box == Target(target).box) {
      EXPECT_THAT(plan_.kept, ::testing::Contains(KeptShard{own, target}));
    }
  }

  const ReshardPlan& plan_;
  const int64_t elements_;
  std::vector<std::vector<int64_t>> source_of_;  // by target, then element
  std::set<std::pair<int, int64_t>> crossed_;    // receiving process and element
};

void AuditRounds(const ReshardPlan& plan, int64_t budget_bytes) {
  std::map<std::pair<int64_t, int>, int64_t> sent, received;
  int64_t round = 0;
  for (const BoxTransfer& transfer : plan.transfers) {
    EXPECT_TRUE(transfer.round == round || transfer.round == round + 1);
    round = transfer.round;
    const int from = plan.sources[static_cast<size_t>(transfer.source)].device.process;
    const int to = plan.targets[static_cast<size_t>(transfer.targets.front())].device.process;
    sent[{round, from}] += transfer.bytes;
    received[{round, to}] += transfer.bytes;
  }
  for (const ProcessTotals& totals : plan.totals) {
    int64_t peak = 0, all_sent = 0, all_received = 0;
    for (int64_t i = 0; i < plan.rounds; ++i) {
      const int64_t out = sent[{i, totals.process}], in = received[{i, totals.process}];
      EXPECT_LE(out, budget_bytes / 2);
      EXPECT_LE(in, budget_bytes / 2);
      peak = std::max(peak, out + in);
      all_sent += out;
      all_received += in;
    }
    EXPECT_EQ(totals.peak_staging_bytes, peak);
    EXPECT_EQ(totals.sent_bytes, all_sent);
    EXPECT_EQ(totals.received_bytes, all_received);
  }
}

void AuditTotals(const ReshardPlan& plan) {
  std::map<int, int64_t> need;
  for (const DeviceShard& shard : plan.targets) {
    need[shard.device.process] += *shard.box.num_elements() * DTypeBytes(plan.array.dtype);
  }
  for (const ProcessTotals& totals : plan.totals) {
    EXPECT_EQ(totals.kept_bytes + totals.copied_bytes + totals.received_bytes,
              need[totals.process]);
  }
}

TEST(PlanReshardPropertyTest, EveryByteComesOnceFromTheNearestPlace) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const ReshardCase example = MakeReshardCase(seed, static_cast<int>(seed % 5) + 1);
    SCOPED_TRACE(example.Text());
    TESSERA_ASSERT_OK_AND_ASSIGN(const ReshardPlan plan,
                                 PlanReshard(example.array, example.from, example.to,
                                             {.budget_bytes = example.budget_bytes}));
    PlanAudit(plan).Run();
    AuditRounds(plan, example.budget_bytes);
    AuditTotals(plan);
    if (HasFailure()) return;
  }
}

TEST(PlanReshardPropertyTest, EveryThreadMakesTheSamePlan) {
  std::vector<std::vector<ReshardPlan>> plans(4);
  std::vector<std::jthread> threads;
  for (auto& mine : plans) {
    threads.emplace_back([&mine] {
      for (uint64_t seed = 0; seed < 50; ++seed) {
        const ReshardCase example = MakeReshardCase(seed, 4);
        mine.push_back(*PlanReshard(example.array, example.from, example.to,
                                    {.budget_bytes = example.budget_bytes}));
      }
    });
  }
  threads.clear();
  for (const auto& other : plans) EXPECT_TRUE(other == plans.front());
}

double SecondsToPlan(const ShapeDtype& array, const Sharding& from, const Sharding& to) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(PlanReshard(array, from, to).ok());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Bounds with room for instrumented builds on busy machines; bench_reshard has the numbers.
TEST(PlanReshardSpeedTest, FiveHundredDevicesToAsManyOthersIsQuick) {
  const Mesh mesh = Line(512, 8);
  EXPECT_LT(SecondsToPlan(F32({512, 512}), On(mesh, {"x"}), On(mesh, {nullptr, "x"})), 60);
}

// To look at all pairs of 8192 shards would take far longer.
TEST(PlanReshardSpeedTest, OnlyShardsThatOverlapCost) {
  const Mesh mesh = Line(8192, 8);
  const Mesh later = Line(4096, 8, 4096);
  EXPECT_LT(SecondsToPlan(F32({16384}), On(mesh, {"x"}), On(later, {"x"})), 20);
  EXPECT_LT(SecondsToPlan(F32({16384}), On(later, {"x"}), On(mesh, {"x"})), 20);
}

}  // namespace
}  // namespace tessera::array
