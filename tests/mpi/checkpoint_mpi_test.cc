// Checkpoints of several processes, run by mpirun with four ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/comm/testing/mpi_main.h"
#include "tessera/core/mutex.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tests/mpi/checkpoint_tree.h"

namespace tessera::mpi {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;

// Keeps the keys of chunks that are read, a line for each time.
class ChunkReads final : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  absl::StatusOr<store::ReadResult> Read(std::string_view key, const store::ByteRange& range,
                                         std::stop_token stop) override {
    Note(key);
    return base().Read(key, range, std::move(stop));
  }
  absl::StatusOr<store::ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                            std::span<std::byte> target,
                                            std::stop_token stop) override {
    Note(key);
    return base().ReadInto(key, offset, target, std::move(stop));
  }
  absl::StatusOr<store::ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                           std::stop_token stop) override {
    Note(key);
    return base().ReadAll(key, target, std::move(stop));
  }

  std::string TakeLines() {
    MutexLock lock(mutex_);
    return std::exchange(lines_, "");
  }

 private:
  void Note(std::string_view key) {
    if (key.ends_with(".zarray") || key.ends_with(".json")) return;
    MutexLock lock(mutex_);
    lines_ += Concat(key, "\n");
  }

  Mutex mutex_;
  std::string lines_ ABSL_GUARDED_BY(mutex_);
};

class CheckpointMpiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TESSERA_ASSERT_OK_AND_ASSIGN(comm_, comm::OpenMpi(comm::testing::TestSession()));
    ASSERT_EQ(comm_->size(), 4);
    std::string mine;
    if (comm_->rank() == 0) mine = folder_.emplace().path().string();
    TESSERA_ASSERT_OK_AND_ASSIGN(const Bytes path, comm_->Broadcast(Bytes::CopyOf(mine), 0));
    path_ = path.text();
    platform_ = PlatformOf(comm_->rank());
  }
  // Nobody may still use the folder when rank 0 deletes it.
  void TearDown() override { EXPECT_THAT(comm_->Barrier(), IsOk()); }

  absl::StatusOr<checkpoint::SaveReport> SaveOn22(int generation) {
    TESSERA_ASSIGN_OR_RETURN(const auto tree, TreeOn(MeshOver(2, 2), *platform_, generation));
    return checkpoint::Save(tree).To(path_).Prefix("model").Run(
        {.io = &io_, .platform = platform_.get(), .comm = comm_.get()});
  }

  absl::StatusOr<Hashes> LoadOn(int64_t x, int64_t y, bool share_reads) {
    TESSERA_ASSIGN_OR_RETURN(const auto store, checkpoint::OpenForSave(path_));
    ChunkReads reads(*store);
    TESSERA_ASSIGN_OR_RETURN(const auto opened,
                             checkpoint::Checkpoint::Open(reads, io_, {.prefix = "model"}));
    const checkpoint::LoadRequest request{
        .mesh = MeshOver(x, y), .rules = {{{".*", {"x", "y"}}}}, .auto_correct = true};
    TESSERA_ASSIGN_OR_RETURN(const auto loaded,
                             checkpoint::LoadCheckpoint(opened, request, {io_, *platform_, &*comm_},
                                                        {.share_reads = share_reads}));
    TESSERA_RETURN_IF_ERROR(CountReads(reads.TakeLines()));
    return HashesOf(loaded.tree, *platform_, *comm_);
  }

  // The whole tree, as safetensors, then loaded by each rank and held against what was saved.
  void ExpectTensorsComeBack(int generation, const checkpoint::SafetensorsFormat& format) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto tree, TreeOn(MeshOver(2, 2), *platform_, generation));
    TESSERA_ASSERT_OK_AND_ASSIGN(const Hashes expected, HashesOf(tree, *platform_, *comm_));
    ASSERT_THAT(checkpoint::Save(tree).To(path_).AsSafetensors(format).Run(
                    {.io = &io_, .platform = platform_.get(), .comm = comm_.get()}),
                IsOk());
    for (const auto& [x, y] : {std::pair(4, 1), std::pair(1, 4), std::pair(2, 2)}) {
      checkpoint::LoadSettings settings;
      settings.request = {
          .mesh = MeshOver(x, y), .rules = {{{".*", {"x", "y"}}}}, .auto_correct = true};
      settings.options.share_reads = x == 4;
      settings.lent = {&io_, platform_.get(), comm_.get()};
      TESSERA_ASSERT_OK_AND_ASSIGN(const auto loaded, checkpoint::LoadFrom(path_, settings));
      EXPECT_THAT(HashesOf(loaded.tree, *platform_, *comm_), IsOkAndHolds(expected));
    }
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, checkpoint::OpenForSave(path_));
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto verified, checkpoint::VerifyCheckpoint(*store, io_));
    EXPECT_THAT(verified.problems, ::testing::IsEmpty());
    EXPECT_EQ(verified.arrays, 4);
    EXPECT_EQ(verified.unsealed_arrays, 0);
    // All have looked before the next save replaces it.
    ASSERT_THAT(comm_->Barrier(), IsOk());
  }

  absl::Status CountReads(const std::string& mine) {
    TESSERA_ASSIGN_OR_RETURN(const auto lists, comm_->AllGather(Bytes::CopyOf(mine)));
    reads_.clear();
    for (const Bytes& list : lists) {
      std::istringstream lines{std::string(list.text())};
      for (std::string line; std::getline(lines, line);) ++reads_[line];
    }
    return absl::OkStatus();
  }

  IoContext io_{{.in_flight = 2}};
  std::unique_ptr<comm::Comm> comm_;
  std::optional<store::testing::TemporaryFolder> folder_;  // of rank 0
  std::string path_;
  std::unique_ptr<device::Platform> platform_;
  std::map<std::string, int> reads_;  // of all ranks in the last load
};

TEST_F(CheckpointMpiTest, WhatIsSavedOnASquareLoadsOnRowsAndColumns) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto tree, TreeOn(MeshOver(2, 2), *platform_, 1));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Hashes expected, HashesOf(tree, *platform_, *comm_));
  ASSERT_EQ(expected.size(), 4u);
  TESSERA_ASSERT_OK_AND_ASSIGN(const checkpoint::SaveReport report, SaveOn22(1));
  for (const bool share_reads : {false, true}) {
    for (const auto& [x, y] : {std::pair(4, 1), std::pair(1, 4), std::pair(2, 2)}) {
      SCOPED_TRACE(Concat(x, "x", y, share_reads ? ", shared" : ""));
      ASSERT_THAT(LoadOn(x, y, share_reads), IsOkAndHolds(expected));
      EXPECT_EQ(static_cast<int64_t>(reads_.size()), report.chunks);
      if (!share_reads) continue;
      for (const auto& [key, times] : reads_) EXPECT_EQ(times, 1) << key;
    }
  }
}

TEST_F(CheckpointMpiTest, ASaveOverAnotherReplacesItOnAllRanks) {
  ASSERT_THAT(SaveOn22(1), IsOk());
  ASSERT_THAT(SaveOn22(2), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto tree, TreeOn(MeshOver(2, 2), *platform_, 2));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Hashes expected, HashesOf(tree, *platform_, *comm_));
  EXPECT_THAT(LoadOn(1, 4, true), IsOkAndHolds(expected));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, checkpoint::OpenForSave(path_));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto verified, checkpoint::VerifyCheckpoint(*store, io_));
  EXPECT_TRUE(verified.ok());
  EXPECT_EQ(verified.unsealed_arrays, 0);
}

TEST_F(CheckpointMpiTest, EveryRankWritesItsShare) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const checkpoint::SaveReport report, SaveOn22(1));
  EXPECT_GT(report.rank_bytes, 0);
  TESSERA_ASSERT_OK_AND_ASSIGN(const int64_t all,
                               comm_->AllReduce(report.rank_bytes, comm::ReduceOp::kSum));
  EXPECT_EQ(all, report.nbytes);
}

TEST_F(CheckpointMpiTest, RanksWriteTheirPartsOfOneSafetensorsFile) {
  ExpectTensorsComeBack(1, {});
  ExpectTensorsComeBack(2, {});
}

TEST_F(CheckpointMpiTest, RanksWriteTheirPartsOfShards) {
  ExpectTensorsComeBack(1, {.shard_bytes = 1000});
  ExpectTensorsComeBack(2, {.shard_bytes = 4000});
  ExpectTensorsComeBack(3, {});
  ExpectTensorsComeBack(4, {.shard_bytes = 1000});
}

}  // namespace
}  // namespace tessera::mpi
