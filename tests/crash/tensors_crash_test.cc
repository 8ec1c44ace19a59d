// A save as safetensors that is stopped at every call it makes to the store: our readers find the
// old set or the new one, and the next save leaves nothing of the one before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/commit/view.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/volatile_store.h"
#include "tests/crash/places.h"
#include "tests/crash/states.h"

namespace tessera::crash {
namespace {

using Tree = array::ValueTree;
using checkpoint::SafetensorsFormat;
using checkpoint::testing::WriteText;
using store::KvStore;
using store::testing::Fault;
using store::testing::FaultStore;
using store::testing::VolatileStore;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
// More calls than any save here makes.
constexpr int64_t kMostCalls = 400;
// Sanitizers look at the code, which every few calls show as well.
constexpr int64_t kStep = TESSERA_CALL_STEP;

struct SetSave {
  Tree tree;
  SafetensorsFormat format;
  std::string version;  // what its side file says
};

struct Scenario {
  std::string name;
  std::vector<SetSave> before;
  SetSave save;
  bool foreign = false;
};

Tree Model(int32_t first) {
  return Tree::MakeDict({{"w", Numbers({4, 4}, first)},
                         {"layers", Tree::List({Numbers({3}, first + 20), Numbers({9}, first)})},
                         {"empty", Numbers({0, 2}, 0)}});
}

Tree OtherModel() {
  return Tree::MakeDict({{"w", Numbers({3, 2}, 500)}, {"extra", Numbers({}, 700)}});
}

SafetensorsFormat Shards(int64_t bytes) { return {.shard_bytes = bytes}; }

std::vector<Scenario> Scenarios() {
  const SafetensorsFormat single;
  return {
      {"NewFile", {}, {Model(100), single, "1"}},
      {"NewShards", {}, {Model(100), Shards(40), "1"}},
      {"SameFile", {{Model(100), single, "1"}}, {Model(300), single, "2"}},
      {"SameShards", {{Model(100), Shards(40), "1"}}, {Model(300), Shards(40), "2"}},
      {"FewerShards", {{Model(100), Shards(40), "1"}}, {OtherModel(), Shards(40), "2"}},
      {"FileForShards", {{Model(100), Shards(40), "1"}}, {OtherModel(), single, "2"}},
      {"ShardsForFile", {{OtherModel(), single, "1"}}, {Model(100), Shards(40), "2"}},
      {"Foreign", {{Model(100), Shards(40), "1"}}, {OtherModel(), Shards(20), "2"}, true},
      {"FurtherStem", {{Model(100), {.stem = "other"}, "1"}}, {OtherModel(), Shards(20), "2"}},
  };
}

bool IsSet(const std::string& key) {
  return key.find(".safetensors") != std::string::npos && key.find("-of-") == std::string::npos;
}

absl::StatusOr<Leaves> LoadSet(KvStore& store, IoContext& io, const std::string& name) {
  TESSERA_ASSIGN_OR_RETURN(const auto platform, device::MakeHostPlatform({.count = 1}));
  TESSERA_ASSIGN_OR_RETURN(const auto opened,
                           checkpoint::Checkpoint::Open(store, io, {.file = name}));
  TESSERA_ASSIGN_OR_RETURN(const auto loaded,
                           checkpoint::LoadCheckpoint(opened, {}, {io, *platform}));
  return LeavesOf(loaded.tree);
}

// What a reader gets: the arrays of each set, and the texts of other files.  A shard that no index
// names would be among them.
absl::StatusOr<State> LoadSets(KvStore& store, IoContext& io) {
  TESSERA_ASSIGN_OR_RETURN(const commit::View view, commit::OpenView(store));
  TESSERA_ASSIGN_OR_RETURN(const auto entries, view.store->List(""));
  State state;
  for (const auto& [key, size] : entries) {
    if (key.find('/') != std::string::npos) continue;
    if (IsSet(key)) {
      TESSERA_ASSIGN_OR_RETURN(state[key], LoadSet(store, io, key));
      continue;
    }
    TESSERA_ASSIGN_OR_RETURN(const auto read, view.store->Read(key));
    state["files"][key] = read.value.has_value() ? std::string(read.value->text()) : "<missing>";
  }
  return state;
}

// What verify finds wrong with the sets, a line each.
std::string ProblemsOfSets(KvStore& store, IoContext& io, const State& state) {
  std::string problems;
  for (const auto& [name, leaves] : state) {
    if (!IsSet(name)) continue;
    const auto report = checkpoint::VerifyCheckpoint(store, io, {.file = name});
    if (!report.ok()) return report.status().ToString();
    for (const checkpoint::VerifyProblem& problem : report->problems) {
      problems += Concat(problem.key, " ", problem.file, ": ", problem.problem, "\n");
    }
  }
  return problems;
}

class TensorsCrashTest : public ::testing::TestWithParam<std::tuple<size_t, size_t>> {
 protected:
  struct States {
    State old_one;
    State new_one;
    std::multiset<std::string> keys;     // once it is saved and all is over
    std::multiset<std::string> folders;  // on disk
  };

  absl::Status Run(KvStore& store, const SetSave& save) {
    checkpoint::SaveOptions options{.plan = {.format = save.format}};
    options.side_files = {{save.format.stem + "_config.json", Bytes::CopyOf(save.version)}};
    checkpoint::Saver saver({.io = &io_});
    // The store outlives the saver.
    const std::shared_ptr<KvStore> lent(std::shared_ptr<void>(), &store);
    TESSERA_ASSIGN_OR_RETURN(const auto future, saver.Start(lent, save.tree, options));
    const absl::Status status = future.Wait().status();
    const absl::Status told = saver.WaitUntilFinished();
    return status.ok() ? told : status;
  }

  void Prepare(KvStore& store) {
    for (const SetSave& save : scenario_.before) ASSERT_THAT(Run(store, save), IsOk());
    if (!scenario_.foreign) return;
    // As another program would have left it: nobody vouches for it.
    ASSERT_THAT(store.DeletePrefix(commit::kOwnFolder), IsOk());
    WriteText(store, "model-notes.txt", "nobody may touch this");
  }

  States MakeStates() {
    const Place place = form_.make();
    Prepare(*place.store);
    States states;
    states.old_one = *LoadSets(*place.store, io_);
    EXPECT_THAT(Run(*place.store, scenario_.save), IsOk());
    states.new_one = *LoadSets(*place.store, io_);
    EXPECT_NE(states.old_one, states.new_one);
    states.keys = KeysOf(*place.store);
    states.folders = FoldersOf(place);
    return states;
  }

  // What is there must be what the save's result says.
  void ExpectWholeState(KvStore& store, const States& states, const absl::Status& result) {
    const std::string message(result.message());
    const bool made = result.ok() || message.find("the commit is made") != std::string::npos;
    const bool unknown = message.find("it is not known whether") != std::string::npos;
    const auto now = LoadSets(store, io_);
    ASSERT_THAT(now, IsOk()) << result;
    EXPECT_EQ(ProblemsOfSets(store, io_, *now), "") << result;
    if (unknown && *now == states.new_one) return;
    EXPECT_EQ(*now, made ? states.new_one : states.old_one) << result;
  }

  // The next save succeeds and leaves nothing of the one before.
  void ExpectGoesOn(const Place& place, const States& states) {
    EXPECT_THAT(Run(*place.store, scenario_.save), IsOk());
    EXPECT_THAT(LoadSets(*place.store, io_), IsOkAndHolds(states.new_one));
    EXPECT_EQ(ProblemsOfSets(*place.store, io_, states.new_one), "");
    EXPECT_EQ(KeysOf(*place.store), states.keys);
    EXPECT_EQ(FoldersOf(place), states.folders);
  }

  // Files are slow: there a process dies at every call, and the rest is tried at some.
  int64_t Step() const { return form_.name == "File" ? 4 * kStep : kStep; }

  const Form form_ = Forms()[std::get<0>(GetParam())];
  const Scenario scenario_ = Scenarios()[std::get<1>(GetParam())];
  IoContext io_{{.in_flight = 2}};
};

std::string CaseName(const ::testing::TestParamInfo<TensorsCrashTest::ParamType>& info) {
  return Forms()[std::get<0>(info.param)].name + Scenarios()[std::get<1>(info.param)].name;
}

INSTANTIATE_TEST_SUITE_P(All, TensorsCrashTest,
                         ::testing::Combine(::testing::Range(size_t{0}, Forms().size()),
                                            ::testing::Range(size_t{0}, Scenarios().size())),
                         CaseName);

TEST_P(TensorsCrashTest, AProcessThatDiesLeavesTheOldSetOrTheNewOne) {
  const States states = MakeStates();
  for (int64_t n = 0;; n += kStep) {
    ASSERT_LT(n, kMostCalls);
    SCOPED_TRACE(Concat("call ", n));
    const Place place = form_.make();
    Prepare(*place.store);
    FaultStore dying(*place.store, {.fault = Fault::kFail, .at_call = n, .calls = kForever});
    const absl::Status result = Run(dying, scenario_.save);
    ExpectWholeState(*place.store, states, result);
    ExpectGoesOn(place, states);
    if (HasFailure() || dying.calls() <= n) break;
  }
}

TEST_P(TensorsCrashTest, AWriteThatIsTornLeavesTheOldSetOrTheNewOne) {
  const States states = MakeStates();
  for (int64_t n = 0;; n += Step()) {
    ASSERT_LT(n, kMostCalls);
    SCOPED_TRACE(Concat("call ", n));
    const Place place = form_.make();
    Prepare(*place.store);
    FaultStore tearing(*place.store, {.fault = Fault::kTear, .at_call = n, .calls = 1});
    FaultStore dying(tearing, {.fault = Fault::kFail, .at_call = n + 1, .calls = kForever});
    const absl::Status result = Run(dying, scenario_.save);
    ExpectWholeState(*place.store, states, result);
    ExpectGoesOn(place, states);
    if (HasFailure() || dying.calls() <= n) break;
  }
}

TEST_P(TensorsCrashTest, APowerCutLeavesTheOldSetOrTheNewOne) {
  // A choice among moves and deletes may leave a file inside a file, which no file system does.
  const uint64_t seeds = form_.name == "File" ? 1 : 3;
  const States states = MakeStates();
  bool last = false;
  for (int64_t n = 0; !last && !HasFailure(); n += Step()) {
    ASSERT_LT(n, kMostCalls);
    // Seed 0 drops every write that was not flushed.
    for (uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
      SCOPED_TRACE(Concat("call ", n, ", seed ", seed));
      const Place place = form_.make();
      Prepare(*place.store);
      // Object stores do not tear.
      VolatileStore losing(*place.store, {.torn = place.store->moves()});
      FaultStore dying(losing, {.fault = Fault::kFail, .at_call = n, .calls = kForever});
      const absl::Status result = Run(dying, scenario_.save);
      ASSERT_THAT(losing.Crash(seed), IsOk());
      ExpectWholeState(*place.store, states, result);
      ExpectGoesOn(place, states);
      last = dying.calls() <= n;
    }
  }
}

}  // namespace
}  // namespace tessera::crash
