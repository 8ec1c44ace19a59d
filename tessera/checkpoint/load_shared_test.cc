#include "tessera/checkpoint/load_shared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tessera/checkpoint/load_shared_rounds.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/comm/threads.h"
#include "tessera/core/mutex.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/forwarding_store.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Iota;
using ::tessera::array::testing::ValuesOf;
using ::tessera::checkpoint::testing::StoredCheckpoint;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kSharing = 3;

// Counts how often each key is read.
class KeyCounter final : public store::ForwardingStore {
 public:
  explicit KeyCounter(store::KvStore& base) : ForwardingStore(base) {}

  absl::StatusOr<store::ReadResult> Read(std::string_view key, const store::ByteRange& range,
                                         std::stop_token stop) override {
    Count(key);
    return ForwardingStore::Read(key, range, std::move(stop));
  }
  absl::StatusOr<store::ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                            std::span<std::byte> target,
                                            std::stop_token stop) override {
    Count(key);
    return ForwardingStore::ReadInto(key, offset, target, std::move(stop));
  }
  absl::StatusOr<store::ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                           std::stop_token stop) override {
    Count(key);
    return ForwardingStore::ReadAll(key, target, std::move(stop));
  }

  // How often the chunks were read, most and in all.
  std::pair<int, int> Chunks() {
    MutexLock lock(mutex_);
    int most = 0;
    int all = 0;
    for (const auto& [key, count] : counts_) {
      most = std::max(most, count);
      all += count;
    }
    return {most, all};
  }

 private:
  void Count(std::string_view key) {
    if (key.ends_with(".zarray") || key.ends_with(".json")) return;
    MutexLock lock(mutex_);
    ++counts_[std::string(key)];
  }

  Mutex mutex_;
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
};

// Six devices, two of each rank, in this order along both axes.
mesh::Mesh SharedMesh() {
  std::vector<mesh::Device> devices;
  for (int64_t i = 0; i < 6; ++i) devices.push_back({i, static_cast<int>(i % kSharing)});
  return *mesh::Mesh::Make({{"x", 2}, {"y", 3}}, devices);
}
std::unique_ptr<device::Platform> PlatformOf(int rank) {
  return *device::MakeHostPlatform({.process = rank, .ids = {rank, rank + kSharing}});
}

LoadRequest SharedRequest() {
  return {.mesh = SharedMesh(),
          .rules = {{{"rows", {"x"}}, {"cols", {nullptr, "y"}}, {"both", {"x", "y"}}, {".*", {}}}}};
}

class SharedLoadTest : public ::testing::Test {
 protected:
  SharedLoadTest() {
    stored_.Add("rows", {12, 6}, {3, 6})
        .Add("cols", {6, 9}, {2, 9})
        .Add("both", {4, 6}, {4, 6})
        .Add("all", {5}, {2})
        .Add("none", {0, 3}, {1, 3})
        .Sealed();
  }
  absl::Status RunAll(const LoadRequest& request, bool share, int64_t budget,
                      int64_t chunk_size = 0) {
    return comm::RunRanks(kSharing, [&](comm::Comm& comm) -> absl::Status {
      IoContext io({.in_flight = 2, .budget_bytes = budget});
      const auto platform = PlatformOf(comm.rank());
      TESSERA_ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(counter_, io));
      const LoadOptions options{.chunk_size = chunk_size, .share_reads = share};
      TESSERA_ASSIGN_OR_RETURN(const LoadResult loaded,
                               LoadCheckpoint(opened, request, {io, *platform, &comm}, options));
      EXPECT_LE(io.budget().peak(), budget);
      Check(loaded);
      return absl::OkStatus();
    });
  }
  static void Check(const LoadResult& loaded) {
    int leaves = 0;
    for (const array::ValueTree& leaf : loaded.tree.children()) {
      const auto& array = std::get<array::ShardedArray>(leaf.leaf());
      const array::HostArray whole = array::testing::HostIota(array.shape());
      for (const array::Shard& shard : array.shards()) {
        EXPECT_EQ(ValuesOf(shard), ValuesOf(SubView(whole.view(), shard.box)));
        ++leaves;
      }
    }
    EXPECT_GE(leaves, 5);
  }

  StoredCheckpoint stored_;
  KeyCounter counter_{stored_.store()};
};

TEST_F(SharedLoadTest, EveryChunkIsReadOnceByAllTogether) {
  ASSERT_THAT(RunAll(SharedRequest(), true, 64 << 20), IsOk());
  EXPECT_EQ(counter_.Chunks(), (std::pair<int, int>{1, 4 + 3 + 1 + 3}));
}

TEST_F(SharedLoadTest, EachProcessAloneReadsWhatItNeeds) {
  ASSERT_THAT(RunAll(SharedRequest(), false, 64 << 20), IsOk());
  EXPECT_EQ(counter_.Chunks().first, kSharing);
}

TEST_F(SharedLoadTest, BatchesAndAMissingMeshMakeNoDifference) {
  ASSERT_THAT(RunAll(SharedRequest(), true, 64 << 20, 2), IsOk());
  ASSERT_THAT(RunAll({}, true, 64 << 20), IsOk());
  EXPECT_EQ(counter_.Chunks(), (std::pair<int, int>{2, 22}));
}

TEST_F(SharedLoadTest, AnErrorOfOneIsEveryones) {
  ASSERT_THAT(stored_.store().Delete("rows/1.0"), IsOk());
  EXPECT_THAT(RunAll(SharedRequest(), true, 64 << 20),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("rows/1.0")));
  LoadRequest strange = SharedRequest();
  strange.mesh = *mesh::Mesh::Make({{"x", 2}, {"y", 1}}, {{0, 0}, {9, 9}});
  strange.rules = {{{".*", {}}}};
  EXPECT_THAT(RunAll(strange, true, 64 << 20),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("process 9"), HasSubstr("3 ranks"))));
}

TEST_F(SharedLoadTest, OtherPlansAreNoticed) {
  EXPECT_THAT(comm::RunRanks(kSharing,
                             [&](comm::Comm& comm) -> absl::Status {
                               IoContext io({.in_flight = 2});
                               const auto platform = PlatformOf(comm.rank());
                               TESSERA_ASSIGN_OR_RETURN(const Checkpoint opened,
                                                        Checkpoint::Open(counter_, io));
                               LoadRequest request = SharedRequest();
                               if (comm.rank() == 1) request.names = {"rows"};
                               return LoadCheckpoint(opened, request, {io, *platform, &comm},
                                                     {.share_reads = true})
                                   .status();
                             }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("load other arrays")));
}

class RoundsTest : public SharedLoadTest {
 protected:
  std::vector<SharedRound> Rounds(const SharedLimits& limits) {
    IoContext io({.in_flight = 2});
    const auto opened = Checkpoint::Open(stored_.store(), io);
    const auto plan = PlanLoad(*opened, SharedRequest());
    std::vector<SharedRound> rounds;
    const absl::Status status = ForEachRound(
        *plan, 0, plan->arrays.size(),
        [&](size_t i) -> const Dims& { return opened->arrays()[i].chunk_shape(); }, limits,
        [&](const SharedRound& round) {
          rounds.push_back(round);
          return absl::OkStatus();
        });
    EXPECT_THAT(status, IsOk());
    return rounds;
  }
};

TEST_F(RoundsTest, KeepWithinTheirLimitsAndFinishEveryArrayOnce) {
  for (const int64_t bytes : {1, 100, 300, 1000, 1 << 20}) {
    std::vector<size_t> finished;
    for (const SharedRound& round : Rounds({kSharing, bytes, 4})) {
      EXPECT_LE(round.items.size(), 4);
      std::vector<int64_t> held(kSharing, 0);
      for (const SharedItem& item : round.items) {
        if (!item.reader.has_value()) continue;
        held[*item.reader] += item.bytes;
      }
      for (const int64_t each : held) EXPECT_LE(each, bytes);
      finished.insert(finished.end(), round.finished.begin(), round.finished.end());
    }
    EXPECT_THAT(finished, ::testing::ElementsAre(0, 1, 2, 3, 4));
  }
}

TEST_F(RoundsTest, ReadersTakeTurns) {
  const std::vector<SharedRound> rounds = Rounds({kSharing});
  ASSERT_EQ(rounds.size(), 1);
  std::map<int, int> read;
  for (const SharedItem& item : rounds[0].items) ++read[item.reader.value_or(-1)];
  EXPECT_EQ(read.size(), kSharing);
  EXPECT_EQ(read.count(-1), 0);
}

}  // namespace
}  // namespace tessera::checkpoint
