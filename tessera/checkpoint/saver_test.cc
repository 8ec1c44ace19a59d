#include "tessera/checkpoint/saver.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/checkpoint/save_job.h"
#include "tessera/comm/threads.h"
#include "tessera/commit/view.h"
#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/testing/far_platform.h"
#include "tessera/ledger/manifest.h"
#include "tessera/store/file_store.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::Ints;
using ::tessera::array::testing::Iota;
using ::tessera::array::testing::On24;
using ::tessera::array::testing::On24OverRanks;
using ::tessera::array::testing::PlatformOfRank;
using ::tessera::array::testing::ShardedIota;
using ::tessera::array::testing::ViewOf;
using ::tessera::testing::IsOk;
using ::tessera::testing::LogCapture;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using StorePtr = std::shared_ptr<store::KvStore>;
using Tree = array::ValueTree;

StorePtr Memory() { return store::MakeMemoryStore(); }

SaveOptions WithPrefix(std::string prefix) { return {.plan = {.prefix = std::move(prefix)}}; }

// An array as a reader sees it.
Ints CommittedInts(store::KvStore& store, const std::string& path) {
  const commit::View view = commit::OpenView(store).value();
  const zarr::Array array = zarr::Array::Open(*view.store, path).value();
  Ints values(static_cast<size_t>(*NumElements(array.metadata().shape)), -1);
  const auto target =
      RowMajorView(reinterpret_cast<std::byte*>(values.data()), array.metadata().shape, 4);
  IoContext io;
  const auto report = array.Read(Box::Whole(array.metadata().shape), target, io);
  EXPECT_THAT(report, IsOk());
  EXPECT_THAT(report->absent, IsEmpty());
  return values;
}

ledger::TensorstoreIndex IndexOf(store::KvStore& store) {
  return ledger::DecodeIndexFile(commit::OpenView(store)->index_text->text()).value();
}

// The manifest of a prefix, which must tell the truth of what is stored.
ledger::Manifest CheckedManifest(store::KvStore& store, const std::string& prefix) {
  const ledger::TensorstoreIndex index = IndexOf(store);
  std::string key;
  for (const auto& [name, note] : index.notes) {
    if (name == prefix) key = note.manifest;
  }
  const Bytes text = store.Read(key)->value.value();
  const ledger::Manifest manifest = ledger::DecodeManifest(text.text()).value();
  EXPECT_EQ(manifest.prefix, prefix);
  EXPECT_EQ(manifest.index_digest, ledger::IndexDigest(index, prefix));
  for (const ledger::ArrayManifest& array : manifest.arrays) {
    const Bytes document = *store.Read(Concat(array.path, "/", array.metadata_name))->value;
    EXPECT_EQ(document.text(), array.metadata);
    EXPECT_EQ(store.List(array.path + "/")->size(), array.chunks.size() + 1);
    for (const ledger::StoredRecord& chunk : array.chunks) {
      const Bytes stored = *store.Read(Concat(array.path, "/", chunk.name))->value;
      EXPECT_EQ(chunk.size, stored.size());
      EXPECT_EQ(chunk.hash, HashOf(stored.span()));
    }
  }
  return manifest;
}

// Holds writes of data back until it is opened.
class GateStore final : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }

  absl::StatusOr<store::ValueInfo> WritePieces(std::string_view key, Producer producer,
                                               const std::optional<store::Generation>& generation,
                                               std::stop_token stop) override {
    {
      MutexLock lock(mutex_);
      while (!open_) changed_.Wait(mutex_);
    }
    return base().WritePieces(key, producer, generation, std::move(stop));
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
};

struct Gate {
  StorePtr memory = Memory();
  std::shared_ptr<GateStore> store = std::make_shared<GateStore>(*memory);
};

TEST(SaverTest, WhatIsSavedCanBeReadInMemoryAndInFiles) {
  const store::testing::TemporaryFolder folder;
  const StorePtr files =
      *store::OpenFileStore(folder.path().string(), {.durability = store::Durability::kKernel});
  const auto platform = Host(8);
  const Tree tree =
      Tree::MakeDict({{"a", ShardedIota({8, 12}, On24({"dp", "tp"}), *platform)},
                      {"b", Tree::List({HostIota({31}), array::MakeScalar(int64_t{7})})}});
  for (const StorePtr& store : {Memory(), files}) {
    Saver saver({.platform = platform.get()});
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const auto future,
        saver.Start(store, tree, {.plan = {.prefix = "model", .chunk_bytes = 40}}));
    TESSERA_ASSERT_OK_AND_ASSIGN(const SaveReport report, future.Wait());
    EXPECT_EQ(report.prefix, "model");
    EXPECT_EQ(report.arrays, 2);
    EXPECT_EQ(report.nbytes, (96 + 31) * 4);
    EXPECT_EQ(report.rank_bytes, report.nbytes);
    EXPECT_GE(report.total_seconds, report.blocked_seconds);
    EXPECT_EQ(CommittedInts(*store, "model/a"), Iota(96));
    EXPECT_EQ(CommittedInts(*store, "model/b/0"), Iota(31));
    const ledger::Manifest manifest = CheckedManifest(*store, "model");
    EXPECT_EQ(manifest.id, report.id);
    ASSERT_THAT(manifest.arrays, SizeIs(2));
    EXPECT_EQ(manifest.arrays[0].chunks.size() + manifest.arrays[1].chunks.size(), report.chunks);
    EXPECT_THAT(saver.WaitUntilFinished(), IsOk());
    EXPECT_FALSE(saver.busy());
  }
}

TEST(SaverTest, AnotherPrefixIsKept) {
  const StorePtr store = Memory();
  Saver saver;
  ASSERT_THAT(saver.Start(store, Tree::MakeDict({{"w", HostIota({4})}}), WithPrefix("model")),
              IsOk());
  ASSERT_THAT(saver.Start(store, Tree::MakeDict({{"m", HostIota({5})}}), WithPrefix("tx")), IsOk());
  ASSERT_THAT(saver.Start(store, Tree::MakeDict({{"z", HostIota({2})}})), IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(CommittedInts(*store, "model/w"), Iota(4));
  EXPECT_EQ(CommittedInts(*store, "tx/m"), Iota(5));
  EXPECT_EQ(CommittedInts(*store, "z"), Iota(2));
  const ledger::TensorstoreIndex index = IndexOf(*store);
  ASSERT_THAT(*index.prefixes, SizeIs(2));
  EXPECT_THAT(*index.arrays, ElementsAre(ledger::ArrayRecord{"z", {2}, "int32"}));
  for (const char* prefix : {"model", "tx", ""}) CheckedManifest(*store, prefix);
}

TEST(SaverTest, SeveralTreesAreTakenAtOnceAndCommittedInOrder) {
  const Gate gate;
  std::vector<std::string> committed;
  const auto note = [&](const SaveReport& report) {
    committed.push_back(report.prefix);
    return absl::OkStatus();
  };
  const Tree model = Tree::MakeDict({{"w", HostIota({4})}});
  const Tree tx = Tree::MakeDict({{"m", HostIota({5})}});
  SavePart parts[] = {{&model, WithPrefix("model")}, {&tx, WithPrefix("tx")}};
  for (SavePart& part : parts) part.options.commit_callback = note;
  Saver saver;
  // Nothing could be written yet, so the first did not have to end before the second was taken.
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto futures, saver.StartAll(StorePtr(gate.store), parts));
  ASSERT_THAT(futures, SizeIs(2));
  EXPECT_TRUE(saver.busy());
  gate.store->Open();
  EXPECT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_THAT(committed, ElementsAre("model", "tx"));
  EXPECT_EQ(CommittedInts(*gate.memory, "model/w"), Iota(4));
  EXPECT_EQ(CommittedInts(*gate.memory, "tx/m"), Iota(5));
  EXPECT_THAT(saver.StartAll(StorePtr(gate.store), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "there is no tree to save"));
}

TEST(SaverTest, AfterOneThatFailsNoOtherTreeIsWritten) {
  const StorePtr store = Memory();
  const Tree tree = Tree::MakeDict({{"w", HostIota({4})}});
  SavePart parts[] = {{&tree, WithPrefix("model")}, {&tree, WithPrefix("tx")}};
  parts[0].options.commit_callback = [](const SaveReport&) { return Unavailable("no"); };
  Saver saver;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto futures, saver.StartAll(store, parts));
  for (const auto& future : futures) {
    EXPECT_THAT(future.Wait(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("failed: no")));
  }
  EXPECT_THAT(saver.WaitUntilFinished(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("failed: no")));
  EXPECT_THAT(*store->List("tx/"), IsEmpty());
  EXPECT_THAT(*store->List(".tessera/saves/"), IsEmpty());
}

TEST(SaverTest, ASecondSaveReplacesTheFirstAsAWhole) {
  const StorePtr store = Memory();
  Saver saver;
  const Tree before = Tree::MakeDict({{"gone", HostIota({4})}, {"w", HostIota({64})}});
  const Tree after = Tree::MakeDict({{"w", HostIota({5})}});
  SaveOptions options = WithPrefix("model");
  options.plan.chunk_bytes = 64;
  ASSERT_THAT(saver.Start(store, before, options), IsOk());
  ASSERT_THAT(saver.Start(store, after, options), IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(CommittedInts(*store, "model/w"), Iota(5));
  CheckedManifest(*store, "model");
  EXPECT_THAT(*store->List("model/gone/"), IsEmpty());
}

TEST(SaverTest, TheCallerMayChangeItsMemoryOnceStartHasReturned) {
  Gate gate;
  auto values = std::make_shared<Ints>(Iota(1000));
  const Tree tree = Tree::MakeDict(
      {{"w", *array::HostArray::Borrow(ViewOf(*values, {1000}), DType::kInt32, values)}});
  Saver saver;
  ASSERT_THAT(saver.Start(gate.store, tree), IsOk());
  std::fill(values->begin(), values->end(), -5);
  gate.store->Open();
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(CommittedInts(*gate.memory, "w"), Iota(1000));
}

TEST(SaverTest, SharedBuffersAreWrittenAsTheyAre) {
  const StorePtr store = Memory();
  Saver saver;
  {
    const Tree tree = Tree::MakeDict({{"w", HostIota({1000})}});
    ASSERT_THAT(saver.Start(store, tree, {.snapshot = SnapshotMode::kShare}), IsOk());
  }
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(CommittedInts(*store, "w"), Iota(1000));
}

TEST(SaverTest, ASecondSaveWaitsForTheFirst) {
  Gate gate;
  Saver saver;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto first,
                               saver.Start(gate.store, Tree::MakeDict({{"w", HostIota({4})}})));
  EXPECT_TRUE(saver.busy());
  EXPECT_FALSE(first.ready());
  std::thread opener([&] { gate.store->Open(); });
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto second,
                               saver.Start(gate.store, Tree::MakeDict({{"w", HostIota({5})}})));
  EXPECT_TRUE(first.ready());
  EXPECT_THAT(second.Wait(), IsOk());
  opener.join();
  EXPECT_EQ(CommittedInts(*gate.memory, "w"), Iota(5));
}

TEST(SaverTest, ASecondSaveIsRefusedWhereAskedFor) {
  Gate gate;
  Saver saver;
  const Tree tree = Tree::MakeDict({{"w", HostIota({4})}});
  const SaveOptions refuse{.if_busy = IfBusy::kRefuse};
  ASSERT_THAT(saver.Start(gate.store, tree, refuse), IsOk());
  EXPECT_THAT(saver.Start(gate.store, tree, refuse),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another save is under")));
  gate.store->Open();
  EXPECT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_THAT(saver.Start(gate.store, tree, refuse), IsOk());
}

TEST(SaverTest, AnErrorIsInTheFutureAndInTheNextCall) {
  const StorePtr memory = Memory();
  Saver saver;
  ASSERT_THAT(saver.Start(memory, Tree::MakeDict({{"w", HostIota({4})}})), IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  // The first write of data fails: those before it begin the transaction.
  class DataFails final : public store::ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    absl::StatusOr<store::ValueInfo> WritePieces(std::string_view key, Producer,
                                                 const std::optional<store::Generation>&,
                                                 std::stop_token) override {
      return Unavailable(key, ": no");
    }
  };
  const auto failing = std::make_shared<DataFails>(*memory);
  const Tree tree = Tree::MakeDict({{"w", HostIota({9})}});
  const auto says_no = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("w/0: no"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto future, saver.Start(failing, tree));
  EXPECT_THAT(future.Wait(), says_no);
  EXPECT_THAT(saver.Start(memory, tree), says_no);
  EXPECT_EQ(CommittedInts(*memory, "w"), Iota(4));
  ASSERT_THAT(saver.Start(failing, tree), IsOk());
  EXPECT_THAT(saver.WaitUntilFinished(), says_no);
  EXPECT_THAT(saver.WaitUntilFinished(), IsOk());
  ASSERT_THAT(saver.Start(memory, tree), IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(CommittedInts(*memory, "w"), Iota(9));
}

TEST(SaverTest, AFaultAtAnyCallLeavesTheOldOrTheNewState) {
  const Tree before = Tree::MakeDict({{"w", HostIota({40})}});
  const Tree after = Tree::MakeDict({{"w", HostIota({50})}, {"v", HostIota({3})}});
  SaveOptions options = WithPrefix("model");
  options.plan.chunk_bytes = 64;
  bool whole = false;
  for (int64_t n = 0; !whole; ++n) {
    const StorePtr memory = Memory();
    ASSERT_THAT(Saver().Start(memory, before, options), IsOk());
    const auto faulty = std::make_shared<store::testing::FaultStore>(
        *memory, store::testing::FaultPlan{.at_call = n});
    absl::Status status;
    {
      Saver saver;
      const auto future = saver.Start(faulty, after, options);
      status = future.ok() ? saver.WaitUntilFinished() : future.status();
    }
    whole = faulty->calls() <= n;
    if (status.ok()) {
      EXPECT_EQ(CommittedInts(*memory, "model/w"), Iota(50)) << "fault at call " << n;
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("fault"))) << n;
      const size_t size = CommittedInts(*memory, "model/w").size();
      EXPECT_TRUE(size == 40 || size == 50) << size << " after a fault at call " << n;
    }
    EXPECT_TRUE(!whole || status.ok());
  }
}

TEST(SaverTest, AStopRequestEndsTheSave) {
  const StorePtr store = Memory();
  Tree::Items items;
  for (int i = 0; i < 50; ++i) items.push_back({Concat("w", i), HostIota({8})});
  std::stop_source stop;
  Saver saver;
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto future, saver.Start(store, Tree::MakeDict(items),
                                     {.progress = [&](const SaveProgress&) { stop.request_stop(); },
                                      .stop = stop.get_token()}));
  EXPECT_THAT(future.Wait(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
  EXPECT_THAT(saver.WaitUntilFinished(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
  EXPECT_EQ(commit::OpenView(*store)->index_text, std::nullopt);
}

TEST(SaverTest, TheCallbackRunsAfterTheCommitAndItsErrorIsTheSaves) {
  const StorePtr store = Memory();
  Saver saver;
  Ints seen;
  SaveOptions options;
  options.commit_callback = [&](const SaveReport& report) {
    EXPECT_FALSE(report.id.empty());
    seen = CommittedInts(*store, "w");
    return absl::OkStatus();
  };
  const Tree tree = Tree::MakeDict({{"w", HostIota({4})}});
  ASSERT_THAT(saver.Start(store, tree, options), IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(seen, Iota(4));
  options.commit_callback = [](const SaveReport&) { return InvalidArgument("not today"); };
  ASSERT_THAT(saver.Start(store, tree, options), IsOk());
  EXPECT_THAT(saver.WaitUntilFinished(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is committed, but its commit_callback failed: not today")));
}

TEST(SaverTest, NothingIsWrittenOfATreeWithoutArrays) {
  const StorePtr store = Memory();
  Saver saver;
  bool called = false;
  SaveOptions options = WithPrefix("model");
  options.commit_callback = [&](const SaveReport&) {
    called = true;
    return absl::OkStatus();
  };
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto future, saver.Start(store, Tree::MakeDict({}), options));
  EXPECT_EQ(future.Wait()->id, "");
  EXPECT_TRUE(called);
  EXPECT_THAT(*store->List(""), IsEmpty());
}

TEST(SaverTest, PlainValuesUnderAPrefixAreKept) {
  const StorePtr store = Memory();
  Saver saver;
  ASSERT_THAT(
      saver.Start(store, Tree::MakeDict({{"lr", array::MakeScalar(0.5)}}), WithPrefix("hyper")),
      IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  const ledger::TensorstoreIndex index = IndexOf(*store);
  ASSERT_THAT(*index.prefixes, SizeIs(1));
  EXPECT_THAT(index.prefixes->front().second, IsEmpty());
  EXPECT_EQ(*index.notes.front().second.structure,
            ledger::SavedTree::MakeDict({{"lr", ledger::SavedLeaf(tree::Scalar(0.5))}}));
}

TEST(SaverTest, LeavesThatCannotBeKeptAreSaid) {
  const StorePtr store = Memory();
  Saver saver;
  const LogCapture log;
  const Tree tree =
      Tree::MakeDict({{"f", array::Opaque{.type_name = "function"}}, {"w", HostIota({4})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto future, saver.Start(store, tree));
  EXPECT_THAT(future.Wait()->lost, ElementsAre(LostLeaf{"f", "function"}));
  ASSERT_THAT(log.lines(), SizeIs(1));
  EXPECT_EQ(log.lines()[0].second, "a checkpoint cannot keep 1 leaf: f (function)");
}

TEST(SaverTest, WithoutAnIndexArraysArePutInPlaceOnly) {
  const StorePtr store = Memory();
  Saver saver;
  ASSERT_THAT(saver.Start(store, Tree::MakeDict({{"w", HostIota({4})}}), {.write_index = false}),
              IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(CommittedInts(*store, "w"), Iota(4));
  EXPECT_EQ(commit::OpenView(*store)->index_text, std::nullopt);
}

TEST(SaverTest, FilesAppearWithTheArraysAndAreGuarded) {
  const StorePtr store = Memory();
  Saver saver;
  SaveOptions options = WithPrefix("model");
  options.side_files = {{"model_structure.json", Bytes::CopyOf("{}")}};
  options.shared_files = {{"checkpoint_metadata.json", Bytes::CopyOf("[]")}};
  ASSERT_THAT(saver.Start(store, Tree::MakeDict({{"w", HostIota({4})}}), options), IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(store->Read("model_structure.json")->value->text(), "{}");
  EXPECT_EQ(store->Read("checkpoint_metadata.json")->value->text(), "[]");
  EXPECT_THAT(CheckedManifest(*store, "model").files,
              ElementsAre(ledger::StoredRecord{"model_structure.json", 2, HashOf("{}")}));
  EXPECT_THAT(IndexOf(*store).files,
              ElementsAre(ledger::StoredRecord{"checkpoint_metadata.json", 2, HashOf("[]")}));
  // Without a file of its own a save leaves none that tells of another tree.
  ASSERT_THAT(saver.Start(store, Tree::MakeDict({{"b", HostIota({4})}}), WithPrefix("model")),
              IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_FALSE(store->Read("model_structure.json")->value.has_value());
}

TEST(SaverTest, DevicesThatTheHostCannotSeeAreSaved) {
  device::testing::FarPlatform far(0, {0, 1, 2, 3, 4, 5, 6, 7});
  const StorePtr store = Memory();
  Saver saver({.platform = &far});
  ASSERT_THAT(saver.Start(store, Tree::MakeDict({{"w", ShardedIota({8, 12}, On24({"dp"}), far)}})),
              IsOk());
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_EQ(CommittedInts(*store, "w"), Iota(96));
}

TEST(SaverTest, AStoreThatCouldNotBeOpenedIsTheError) {
  Saver saver;
  EXPECT_THAT(saver.Start(NotFound("no such disk"), Tree::MakeDict({})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such disk")));
  EXPECT_THAT(saver.Start(StorePtr(), Tree::MakeDict({})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no store")));
}

TEST(DefaultSaveTimeoutTest, ComesFromTheEnvironment) {
  unsetenv("GLOBAL_CHECKPOINT_TIMEOUT");
  EXPECT_EQ(*DefaultSaveTimeout(), std::chrono::seconds(400));
  setenv("GLOBAL_CHECKPOINT_TIMEOUT", " 1_0 ", 1);
  EXPECT_EQ(*DefaultSaveTimeout(), std::chrono::seconds(10));
  setenv("GLOBAL_CHECKPOINT_TIMEOUT", "soon", 1);
  EXPECT_THAT(DefaultSaveTimeout(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("GLOBAL_CHECKPOINT_TIMEOUT")));
  setenv("GLOBAL_CHECKPOINT_TIMEOUT", "0", 1);
  EXPECT_THAT(DefaultSaveTimeout(), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("GLOBAL_CHECKPOINT_TIMEOUT is 0")));
  unsetenv("GLOBAL_CHECKPOINT_TIMEOUT");
}

Tree TreeOfRank(int ranks, device::Platform& platform) {
  return Tree::MakeDict({{"a", ShardedIota({8, 12}, On24OverRanks(ranks, {"dp", "tp"}), platform)},
                         {"b", ShardedIota({64, 4}, On24OverRanks(ranks, {}), platform)},
                         {"h", HostIota({9})}});
}

TEST(SaverRanksTest, FourRanksSaveOneCheckpoint) {
  const StorePtr store = Memory();
  std::atomic<int> callbacks{0};
  std::atomic<int64_t> rank_bytes{0};
  const absl::Status status = comm::RunRanks(4, [&](comm::Comm& comm) -> absl::Status {
    const auto platform = PlatformOfRank(4, comm.rank());
    IoContext io({.in_flight = 2});
    Saver saver({.io = &io, .platform = platform.get(), .comm = &comm});
    SaveOptions options = WithPrefix("model");
    options.plan.chunk_bytes = 64;
    options.plan.codec = AutoCodec{.least_bytes = 1};
    options.commit_callback = [&](const SaveReport&) {
      ++callbacks;
      return absl::OkStatus();
    };
    const Tree tree = TreeOfRank(4, *platform);
    for (int round = 0; round < 3; ++round) {
      TESSERA_ASSIGN_OR_RETURN(const auto future, saver.Start(store, tree, options));
      TESSERA_RETURN_IF_ERROR(saver.WaitUntilFinished());
      EXPECT_EQ(future.Wait()->chunks, 8 + 16 + 1);
      if (round == 0) rank_bytes += future.Wait()->rank_bytes;
    }
    return absl::OkStatus();
  });
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(callbacks, 3);
  EXPECT_EQ(rank_bytes, (96 + 256 + 9) * 4);
  EXPECT_EQ(CommittedInts(*store, "model/a"), Iota(96));
  EXPECT_EQ(CommittedInts(*store, "model/b"), Iota(256));
  EXPECT_EQ(CommittedInts(*store, "model/h"), Iota(9));
  CheckedManifest(*store, "model");
}

TEST(SaverRanksTest, OneRanksFailureIsEverybodysAndTheOldStateStays) {
  const StorePtr store = Memory();
  ASSERT_THAT(Saver().Start(store, Tree::MakeDict({{"a", HostIota({3})}})), IsOk());
  std::atomic<int> failed{0};
  const absl::Status status = comm::RunRanks(4, [&](comm::Comm& comm) -> absl::Status {
    const auto platform = PlatformOfRank(4, comm.rank());
    IoContext io({.in_flight = 2});
    Saver saver({.io = &io, .platform = platform.get(), .comm = &comm});
    StorePtr mine = store;
    if (comm.rank() == 2) {
      mine = std::make_shared<store::testing::FaultStore>(*store,
                                                          store::testing::FaultPlan{.at_call = 0});
    }
    TESSERA_RETURN_IF_ERROR(saver.Start(mine, TreeOfRank(4, *platform)));
    const absl::Status result = saver.WaitUntilFinished();
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 2")));
    failed += result.ok() ? 0 : 1;
    // The ranks can go on.
    TESSERA_RETURN_IF_ERROR(saver.Start(store, TreeOfRank(4, *platform), WithPrefix("more")));
    return saver.WaitUntilFinished();
  });
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(failed, 4);
  EXPECT_EQ(CommittedInts(*store, "a"), Iota(3));
  EXPECT_EQ(CommittedInts(*store, "more/a"), Iota(96));
}

TEST(SaverRanksTest, ARankThatGoesAwayEndsTheSaveOfTheOthers) {
  const StorePtr store = Memory();
  std::atomic<int> failed{0};
  const absl::Status status = comm::RunRanks(4, [&](comm::Comm& comm) -> absl::Status {
    if (comm.rank() == 3) return absl::OkStatus();
    const auto platform = PlatformOfRank(4, comm.rank());
    IoContext io({.in_flight = 2});
    Saver saver({.io = &io, .platform = platform.get(), .comm = &comm});
    SaveOptions options;
    options.timeout = std::chrono::seconds(20);
    failed += saver.Start(store, TreeOfRank(4, *platform), options).ok() ? 0 : 1;
    return absl::OkStatus();
  });
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(commit::OpenView(*store)->index_text, std::nullopt);
}

TEST(SaverRanksTest, RanksWithOtherTreesAreRefused) {
  const StorePtr store = Memory();
  const absl::Status status = comm::RunRanks(2, [&](comm::Comm& comm) -> absl::Status {
    IoContext io({.in_flight = 2});
    Saver saver({.io = &io, .comm = &comm});
    const Tree tree = Tree::MakeDict({{"w", HostIota({comm.rank() + 1})}});
    EXPECT_THAT(saver.Start(store, tree),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("rank 1 would save other arrays than rank 0")));
    EXPECT_THAT(saver.Start(store, tree, {.if_busy = IfBusy::kRefuse}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 ranks cannot agree")));
    return absl::OkStatus();
  });
  ASSERT_THAT(status, IsOk());
  EXPECT_THAT(*store->List(""), IsEmpty());
}

}  // namespace
}  // namespace tessera::checkpoint
