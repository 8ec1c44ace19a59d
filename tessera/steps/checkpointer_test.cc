#include "tessera/steps/checkpointer.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <latch>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/steps/step_mark.h"
#include "tessera/store/file_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/tree/structure.h"

namespace tessera::steps {
namespace {

using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::Ints;
using ::tessera::array::testing::Iota;
using ::tessera::array::testing::On24OverRanks;
using ::tessera::array::testing::PlatformOfRank;
using ::tessera::array::testing::ShardedIota;
using ::tessera::array::testing::ValuesOf;
using ::tessera::testing::IsOk;
using ::tessera::testing::LogCapture;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Tree = array::ValueTree;
using std::chrono::minutes;
using std::chrono::seconds;

StorePtr Memory() { return store::MakeMemoryStore(); }

// Stands still until it is told the time.
class FakeClock {
 public:
  void Advance(seconds by) { now_ += by.count(); }
  WallClock clock() {
    return [this] { return std::chrono::system_clock::time_point(seconds(now_)); };
  }

 private:
  std::atomic<int64_t> now_{0};
};

// A state that tells by its size which one it is.
Tree State(int64_t size) { return Tree::MakeDict({{"w", HostIota({size})}}); }

int64_t SizeOf(const Tree& tree) {
  return array::DescribeLeaf(tree.Find("w")->leaf()).array->shape[0];
}

// What is complete: "10 20t", where t is temporary.
std::string Complete(store::KvStore& store) {
  std::string text;
  const auto catalogue = ReadCatalogue(store, "");
  EXPECT_THAT(catalogue, IsOk());
  for (const StepInfo& step : catalogue->steps) {
    if (!step.committed) continue;
    text += Concat(text.empty() ? "" : " ", step.step.value_or(-1), step.temporary ? "t" : "");
  }
  return text;
}

CheckpointerOptions Every(int64_t steps) { return {.policy = {.intervals = {{steps}}}}; }

std::unique_ptr<Checkpointer> Opened(StorePtr store, const CheckpointerOptions& options,
                                     const CheckpointerResources& resources = {}) {
  auto checkpointer = Checkpointer::Open(std::move(store), options, resources);
  EXPECT_THAT(checkpointer, IsOk());
  return *std::move(checkpointer);
}

class CheckpointerTest : public ::testing::Test {
 protected:
  CheckpointerResources Resources() { return {.manager = {.clock = clock_.clock()}}; }

  // Saves if the policy says so, and waits.
  SaveKind Step(Checkpointer& checkpointer, int64_t step, bool force = false) {
    const auto result = checkpointer.OnStep(step, State(step + 1), force);
    EXPECT_THAT(result, IsOk());
    EXPECT_THAT(checkpointer.WaitUntilFinished(), IsOk());
    return result->decision.kind;
  }

  FakeClock clock_;
  StorePtr store_ = Memory();
};

TEST_F(CheckpointerTest, SavesAtTheStepsOfThePolicyAndAfterSomeTime) {
  CheckpointerOptions options{
      .policy = {.intervals = {{10, 20}, {20}}, .save_interval = minutes(5)}};
  const auto checkpointer = Opened(store_, options, Resources());
  EXPECT_EQ(Step(*checkpointer, 0), SaveKind::kNone);
  EXPECT_EQ(Step(*checkpointer, 9), SaveKind::kNone);
  EXPECT_EQ(Step(*checkpointer, 10), SaveKind::kPermanent);
  EXPECT_EQ(Step(*checkpointer, 10), SaveKind::kNone);
  EXPECT_EQ(Complete(*store_), "10");
  clock_.Advance(minutes(5));
  EXPECT_EQ(Step(*checkpointer, 11), SaveKind::kTemporary);
  EXPECT_EQ(Complete(*store_), "10 11t");
  EXPECT_EQ(Step(*checkpointer, 12), SaveKind::kNone);
  clock_.Advance(minutes(6));
  EXPECT_EQ(Step(*checkpointer, 13), SaveKind::kTemporary);
  EXPECT_EQ(Complete(*store_), "10 13t");
  EXPECT_EQ(Step(*checkpointer, 20), SaveKind::kPermanent);
  EXPECT_EQ(Step(*checkpointer, 30), SaveKind::kNone);
  EXPECT_EQ(Step(*checkpointer, 30, /*force=*/true), SaveKind::kPermanent);
  EXPECT_EQ(Step(*checkpointer, 40), SaveKind::kPermanent);
  EXPECT_EQ(Complete(*store_), "10 20 30 40");
}

TEST_F(CheckpointerTest, MetadataSaysStepTimeInUtcAndKind) {
  const auto checkpointer = Opened(store_, Every(10), Resources());
  clock_.Advance(seconds(3600));
  Step(*checkpointer, 10);
  EXPECT_EQ(store_->Read("run-10/metadata.json")->value->text(),
            R"({"step": 10, "timestamp": "1970-01-01T01:00:00+00:00", "is_temporary": false})");
  EXPECT_EQ(*ReadStepMark(*store_, "run-10"), std::nullopt);
}

TEST_F(CheckpointerTest, LoadsTheLatestOrAGivenStep) {
  const auto checkpointer = Opened(store_, Every(10), Resources());
  EXPECT_THAT(checkpointer->LoadCheckpoint(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("there is no complete checkpoint")));
  Step(*checkpointer, 10);
  Step(*checkpointer, 20);
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedStep latest, checkpointer->LoadCheckpoint());
  EXPECT_EQ(latest.step.step, 20);
  EXPECT_EQ(SizeOf(latest.loaded.tree), 21);
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedStep first, checkpointer->LoadCheckpoint({}, 10));
  EXPECT_EQ(SizeOf(first.loaded.tree), 11);
  EXPECT_THAT(checkpointer->LoadCheckpoint({}, 15),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("step 15 is not there; complete are 10, 20")));
  ASSERT_THAT(WriteStepMark(*store_, "run-30", StepMark::kSaving), IsOk());
  EXPECT_THAT(checkpointer->LoadCheckpoint({}, 30),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("step 30 is not complete")));
}

TEST_F(CheckpointerTest, SeveralTreesAndAPytreeOfOneStep) {
  const auto checkpointer = Opened(store_, Every(10), Resources());
  const Tree model = State(3);
  const Tree tx = Tree::Tuple({HostIota({4}), array::MakeScalar(int64_t{5})});
  TreePart parts[] = {{&model, {}, false}, {&tx, {}, true}};
  parts[0].options.save.plan.prefix = "model";
  parts[1].options.save.plan.prefix = "tx";
  std::string told;
  parts[1].options.callback = [&](std::string_view path) {
    EXPECT_EQ(Complete(*store_), "10");
    told = path;
    return absl::OkStatus();
  };
  TESSERA_ASSERT_OK_AND_ASSIGN(const StepResult result, checkpointer->OnStep(10, parts));
  EXPECT_THAT(result.saves, SizeIs(2));
  ASSERT_THAT(checkpointer->WaitUntilFinished(), IsOk());
  EXPECT_EQ(told, store_->Describe("run-10"));
  TreeLoadOptions load{.prefix = "model"};
  EXPECT_EQ(SizeOf(checkpointer->LoadCheckpoint(load)->loaded.tree), 3);
  PytreeLoadOptions pytree;
  pytree.prefix = "tx";
  EXPECT_TRUE(tree::SameStructure(checkpointer->LoadPytree(pytree)->loaded.tree, tx));
}

TEST_F(CheckpointerTest, AStepOfSeveralTreesIsCompleteWithTheLast) {
  const auto checkpointer = Opened(store_, Every(10), Resources());
  const Tree tree = State(3);
  TreePart parts[] = {{&tree}, {&tree}};
  parts[0].options.save.plan.prefix = "model";
  parts[1].options.save.plan.prefix = "tx";
  const auto nothing_yet = [&](std::string_view) {
    EXPECT_EQ(Complete(*store_), "");
    return absl::OkStatus();
  };
  parts[0].options.callback = nothing_yet;
  for (int i = 0; i < 2; ++i) {  // the second time over one that is complete
    ASSERT_THAT(checkpointer->SaveCheckpoint(10, parts), IsOk());
    ASSERT_THAT(checkpointer->WaitUntilFinished(), IsOk());
    EXPECT_EQ(Complete(*store_), "10");
  }
}

TEST_F(CheckpointerTest, RetentionKeepsTheLastAndMultiples) {
  CheckpointerOptions options = Every(10);
  options.retention = {.keep_last = 2, .keep_every = 40};
  const auto checkpointer = Opened(store_, options, Resources());
  for (int64_t step = 10; step <= 100; step += 10) Step(*checkpointer, step);
  EXPECT_EQ(Complete(*store_), "40 80 90 100");
  EXPECT_THAT(*store_->List("run-30/"), IsEmpty());
}

TEST_F(CheckpointerTest, OnlyRunFoldersAreEverDeleted) {
  const auto put = [&](std::string_view key, std::string_view text) {
    ASSERT_THAT(store_->Write(key, std::as_bytes(std::span(text))), IsOk());
  };
  const std::string_view metadata =
      R"({"step": 1, "timestamp": "2026-01-01T00:00:00", "is_temporary": true})";
  put("metadata.json", metadata);
  put("best/metadata.json", metadata);
  put("run-1/metadata.json", metadata);
  put("notes.txt", "mine");
  CheckpointerOptions options = Every(10);
  options.retention.keep_last = 1;
  const auto checkpointer = Opened(store_, options, Resources());
  Step(*checkpointer, 10);
  EXPECT_THAT(*store_->List("run-1/"), IsEmpty());
  for (const char* key : {"metadata.json", "best/metadata.json", "notes.txt"}) {
    EXPECT_TRUE(store_->Read(key)->value.has_value()) << key;
  }
}

TEST_F(CheckpointerTest, ARunThatStartsAgainFindsWhatTheLastOneLeft) {
  CheckpointerOptions options{.policy = {.intervals = {{10}}, .save_interval = minutes(1)}};
  {
    const auto checkpointer = Opened(store_, options, Resources());
    Step(*checkpointer, 10);
    clock_.Advance(minutes(1));
    Step(*checkpointer, 13);
  }
  // A deletion that was interrupted, and temporary ones that nobody remembers.
  ASSERT_THAT(WriteStepMark(*store_, "run-5", StepMark::kDeleting), IsOk());
  const std::string_view left = "x";
  ASSERT_THAT(store_->Write("run-5/w/0", std::as_bytes(std::span(left))), IsOk());
  const auto checkpointer = Opened(store_, options, Resources());
  ASSERT_THAT(checkpointer->WaitUntilFinished(), IsOk());
  EXPECT_THAT(*store_->List("run-5/"), IsEmpty());
  EXPECT_EQ(Complete(*store_), "10 13t");
  EXPECT_EQ(checkpointer->LoadCheckpoint()->step.step, 13);
  clock_.Advance(minutes(2));
  EXPECT_EQ(Step(*checkpointer, 13), SaveKind::kNone);
  EXPECT_EQ(Step(*checkpointer, 14), SaveKind::kTemporary);
  EXPECT_EQ(Complete(*store_), "10 14t");
}

TEST_F(CheckpointerTest, TemporaryOnesCanBeKept) {
  CheckpointerOptions options = Every(10);
  options.retention.delete_temporary = false;
  const auto checkpointer = Opened(store_, options, Resources());
  const Tree tree = State(2);
  const TreePart part{&tree};
  ASSERT_THAT(checkpointer->SaveCheckpoint(3, {&part, 1}, /*temporary=*/true), IsOk());
  Step(*checkpointer, 10);
  EXPECT_EQ(Complete(*store_), "3t 10");
}

TEST_F(CheckpointerTest, WrongPoliciesAndStepsAreRefused) {
  CheckpointerOptions options{.policy = {.intervals = {{10, 5}, {10, 5}}}};
  EXPECT_EQ(Checkpointer::Open(store_, options).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      Checkpointer::Open(store_, {.retention = {.keep_last = -1}}),
      StatusIs(absl::StatusCode::kInvalidArgument, "keep_last: expected at least 0, found -1"));
  EXPECT_THAT(Checkpointer::Open(StorePtr(), Every(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, "there is no store to save to"));
  const auto checkpointer = Opened(store_, Every(10));
  EXPECT_THAT(checkpointer->OnStep(-1, State(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, "step: expected at least 0, found -1"));
  EXPECT_THAT(checkpointer->OnStep(10, std::span<const TreePart>()),
              StatusIs(absl::StatusCode::kInvalidArgument, "step 10 has no tree to save"));
  EXPECT_THAT(*store_->List(""), IsEmpty());
}

TEST_F(CheckpointerTest, AnErrorOfTheBackgroundIsToldAtTheNextStepAndTheStepCanBeSavedAgain) {
  const auto checkpointer = Opened(store_, Every(10), Resources());
  bool fails = true;
  const Tree tree = State(4);
  TreePart part{&tree};
  part.options.save.commit_callback = [&](const checkpoint::SaveReport&) {
    return fails ? Unavailable("no") : absl::OkStatus();
  };
  TESSERA_ASSERT_OK_AND_ASSIGN(const StepResult result, checkpointer->OnStep(10, {&part, 1}));
  EXPECT_THAT(result.saves[0].Wait(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no")));
  EXPECT_THAT(checkpointer->OnStep(11, {&part, 1}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no")));
  EXPECT_EQ(Complete(*store_), "");
  EXPECT_EQ(checkpointer->OnStep(12, {&part, 1})->decision.kind, SaveKind::kNone);
  fails = false;
  EXPECT_EQ(checkpointer->OnStep(10, {&part, 1})->decision.kind, SaveKind::kPermanent);
  EXPECT_THAT(checkpointer->WaitUntilFinished(), IsOk());
  EXPECT_EQ(Complete(*store_), "10");
}

TEST_F(CheckpointerTest, AFailedStepIsSweptAfterTheNextOne) {
  const auto checkpointer = Opened(store_, Every(10), Resources());
  const Tree tree = State(4);
  TreePart part{&tree};
  part.options.save.commit_callback = [&](const checkpoint::SaveReport&) {
    return Unavailable("no");
  };
  ASSERT_THAT(checkpointer->OnStep(10, {&part, 1}), IsOk());
  EXPECT_THAT(checkpointer->WaitUntilFinished(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no")));
  EXPECT_FALSE(store_->List("run-10/")->empty());
  Step(*checkpointer, 20);
  EXPECT_EQ(Complete(*store_), "20");
  EXPECT_THAT(*store_->List("run-10/"), IsEmpty());
}

TEST_F(CheckpointerTest, ACallbackThatFailsDoesNotCostTheStep) {
  const auto checkpointer = Opened(store_, Every(10), Resources());
  const Tree tree = State(4);
  TreePart part{&tree};
  part.options.callback = [&](std::string_view) { return Unavailable("no"); };
  ASSERT_THAT(checkpointer->OnStep(10, {&part, 1}), IsOk());
  EXPECT_THAT(checkpointer->WaitUntilFinished(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no")));
  Step(*checkpointer, 20);
  EXPECT_EQ(Complete(*store_), "10 20");
}

TEST_F(CheckpointerTest, NothingToSaveIsNoStep) {
  const auto checkpointer = Opened(store_, Every(10), Resources());
  TESSERA_ASSERT_OK_AND_ASSIGN(const StepResult result,
                               checkpointer->OnStep(10, Tree::MakeDict({})));
  EXPECT_THAT(checkpointer->WaitUntilFinished(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("there was nothing to save in step 10")));
  EXPECT_EQ(Complete(*store_), "");
}

// A store whose run steps through a save, a retention and a deletion, and stops at any call.
TEST_F(CheckpointerTest, StoppedAnywhereTheRunHasItsOldStepsOrTheNewOne) {
  CheckpointerOptions options = Every(10);
  options.retention.keep_last = 1;
  const LogCapture quiet;
  bool ended = false;
  int64_t points = 0;
  for (int64_t at = 0; !ended; ++at, ++points) {
    const StorePtr store = Memory();
    {
      const auto before = Opened(store, options, Resources());
      Step(*before, 10);
      ASSERT_EQ(Complete(*store), "10");
    }
    {
      const auto faulty = std::make_shared<store::testing::FaultStore>(
          *store, store::testing::FaultPlan{.at_call = at, .calls = 1 << 20});
      const auto run = Opened(faulty, options, Resources());
      const auto begun = run->OnStep(20, State(21));
      ended = run->WaitUntilFinished().ok() && begun.ok();
    }
    const std::string complete = Complete(*store);
    EXPECT_THAT(complete, ::testing::AnyOf("10", "10 20", "20")) << at;
    const auto after = Opened(store, options, Resources());
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedStep loaded, after->LoadCheckpoint());
    EXPECT_EQ(SizeOf(loaded.loaded.tree), *loaded.step.step + 1) << at;
    EXPECT_EQ(Step(*after, 30), SaveKind::kPermanent);
    EXPECT_EQ(Complete(*store), "30") << at;
  }
  EXPECT_GT(points, 20);
}

TEST_F(CheckpointerTest, WorksInFilesAndFindsTheLatestByPath) {
  const store::testing::TemporaryFolder folder;
  const std::string base = (folder.path() / "runs").string();
  EXPECT_EQ(*FindLatestCheckpoint(base), std::nullopt);
  CheckpointerOptions options = Every(10);
  options.retention.keep_last = 1;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto checkpointer,
                               Checkpointer::Open(base, options, Resources()));
  EXPECT_EQ(*FindLatestCheckpoint(base), std::nullopt);
  Step(*checkpointer, 10);
  Step(*checkpointer, 20);
  EXPECT_FALSE(std::filesystem::exists(base + "/run-10"));
  EXPECT_EQ((*FindLatestCheckpoint(base))->path, base + "/run-20");
  EXPECT_EQ((*FindLatestCheckpoint("file://" + base))->path, "file://" + base + "/run-20");
  EXPECT_EQ(SizeOf(checkpointer->LoadCheckpoint()->loaded.tree), 21);
}

// Ranks with two Comms each.
absl::Status RunRanksWithTwo(int ranks,
                             const std::function<absl::Status(comm::Comm&, comm::Comm&)>& body) {
  std::vector<comm::Comm*> second(static_cast<size_t>(ranks), nullptr);
  std::latch made(ranks), done(1);
  std::thread others([&] {
    EXPECT_THAT(comm::RunRanks(ranks,
                               [&](comm::Comm& comm) {
                                 second[static_cast<size_t>(comm.rank())] = &comm;
                                 made.count_down();
                                 done.wait();
                                 return absl::OkStatus();
                               }),
                IsOk());
  });
  made.wait();
  const absl::Status status = comm::RunRanks(ranks, [&](comm::Comm& comm) {
    return body(comm, *second[static_cast<size_t>(comm.rank())]);
  });
  done.count_down();
  others.join();
  return status;
}

TEST_F(CheckpointerTest, RankZerosClockDecidesForAll) {
  CheckpointerOptions options{.policy = {.intervals = {{100}}, .save_interval = minutes(5)},
                              .retention = {.keep_last = 1}};
  FakeClock late;
  const absl::Status status = RunRanksWithTwo(3, [&](comm::Comm& comm, comm::Comm& decisions) {
    const auto run = [&]() -> absl::Status {
      const auto platform = PlatformOfRank(3, comm.rank());
      const Tree tree =
          Tree::MakeDict({{"w", ShardedIota({8, 12}, On24OverRanks(3, {"dp", "tp"}), *platform)}});
      FakeClock& clock = comm.rank() == 0 ? clock_ : late;
      TESSERA_ASSIGN_OR_RETURN(
          const auto checkpointer,
          Checkpointer::Open(
              store_, options,
              {.manager = {.platform = platform.get(), .comm = &comm, .clock = clock.clock()},
               .decisions = &decisions}));
      for (int64_t step = 1; step <= 200; ++step) {
        if (comm.rank() == 0 && step % 30 == 0) clock_.Advance(minutes(6));
        TESSERA_ASSIGN_OR_RETURN(const StepResult result, checkpointer->OnStep(step, tree));
        const SaveKind expected = step % 100 == 0  ? SaveKind::kPermanent
                                  : step % 30 == 0 ? SaveKind::kTemporary
                                                   : SaveKind::kNone;
        EXPECT_EQ(result.decision.kind, expected) << step;
      }
      TESSERA_RETURN_IF_ERROR(checkpointer->WaitUntilFinished());
      TESSERA_ASSIGN_OR_RETURN(const LoadedStep loaded, checkpointer->LoadCheckpoint());
      EXPECT_EQ(loaded.step.step, 200);
      return absl::OkStatus();
    };
    return run();
  });
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(Complete(*store_), "200");
}

TEST_F(CheckpointerTest, AFailureIsToldToAllRanksAtOneStep) {
  std::atomic<bool> fails = true;
  const absl::Status status = RunRanksWithTwo(3, [&](comm::Comm& comm, comm::Comm& decisions) {
    const auto run = [&]() -> absl::Status {
      TESSERA_ASSIGN_OR_RETURN(
          const auto checkpointer,
          Checkpointer::Open(store_, Every(10),
                             {.manager = {.comm = &comm}, .decisions = &decisions}));
      const Tree tree = State(4);
      TreePart part{&tree};
      part.options.save.commit_callback = [&](const checkpoint::SaveReport&) {
        return fails ? Unavailable("no") : absl::OkStatus();
      };
      TESSERA_ASSIGN_OR_RETURN(const StepResult result, checkpointer->OnStep(10, {&part, 1}));
      result.saves[0].Wait().status().IgnoreError();
      EXPECT_THAT(checkpointer->OnStep(11, {&part, 1}),
                  StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no")));
      fails = false;
      TESSERA_ASSIGN_OR_RETURN(const StepResult again, checkpointer->OnStep(10, {&part, 1}));
      EXPECT_EQ(again.decision.kind, SaveKind::kPermanent);
      return checkpointer->WaitUntilFinished();
    };
    return run();
  });
  EXPECT_THAT(status, IsOk());
  EXPECT_EQ(Complete(*store_), "10");
}

TEST_F(CheckpointerTest, RanksAtDifferentStepsAreTold) {
  const absl::Status status = RunRanksWithTwo(2, [&](comm::Comm& comm, comm::Comm& decisions) {
    const auto checkpointer =
        Opened(store_, Every(10), {.manager = {.comm = &comm}, .decisions = &decisions});
    const auto result = checkpointer->OnStep(comm.rank() + 1, State(1));
    if (comm.rank() == 1) {
      EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument,
                                   "rank 0 is at step 1 and this rank at step 2"));
    }
    return absl::OkStatus();
  });
  EXPECT_THAT(status, IsOk());
}

TEST_F(CheckpointerTest, RanksWithoutASecondCommSaveByStepsOnly) {
  const absl::Status status = comm::RunRanks(3, [&](comm::Comm& comm) -> absl::Status {
    EXPECT_THAT(Checkpointer::Open(store_, {.policy = {.save_interval = minutes(1)}},
                                   {.manager = {.comm = &comm}}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs `decisions`")));
    TESSERA_ASSIGN_OR_RETURN(const auto checkpointer,
                             Checkpointer::Open(store_, Every(10), {.manager = {.comm = &comm}}));
    for (int64_t step = 1; step <= 20; ++step) {
      TESSERA_RETURN_IF_ERROR(checkpointer->OnStep(step, State(step)).status());
    }
    TESSERA_RETURN_IF_ERROR(checkpointer->WaitUntilFinished());
    return checkpointer->LoadCheckpoint({}, 10).status();
  });
  EXPECT_THAT(status, IsOk());
  EXPECT_EQ(Complete(*store_), "10 20");
}

}  // namespace
}  // namespace tessera::steps
