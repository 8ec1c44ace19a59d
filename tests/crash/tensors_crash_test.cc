// A save as safetensors that is stopped at every call it makes to the store: our readers find the
// old set or the new one, and the next save leaves nothing of the one before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
#include "tests/crash/crash_test.h"

namespace tessera::crash {
namespace {

using Tree = array::ValueTree;
using checkpoint::SafetensorsFormat;
using checkpoint::testing::WriteText;
using store::KvStore;
using ::tessera::testing::IsOk;

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

class TensorsCrashTest : public CrashTest,
                         public ::testing::WithParamInterface<std::tuple<size_t, size_t>> {
 protected:
  TensorsCrashTest() : CrashTest(Forms()[std::get<0>(GetParam())]) {}

  absl::Status Run(KvStore& store, const SetSave& save) {
    checkpoint::SaveOptions options{.plan = {.format = save.format}};
    options.side_files = {{save.format.stem + "_config.json", Bytes::CopyOf(save.version)}};
    return RunSaver(store, save.tree, options);
  }

  void Prepare(KvStore& store) override {
    for (const SetSave& save : scenario_.before) ASSERT_THAT(Run(store, save), IsOk());
    if (!scenario_.foreign) return;
    // As another program would have left it: nobody vouches for it.
    ASSERT_THAT(store.DeletePrefix(commit::kOwnFolder), IsOk());
    WriteText(store, "model-notes.txt", "nobody may touch this");
  }
  absl::Status Save(KvStore& store) override { return Run(store, scenario_.save); }
  absl::StatusOr<State> Load(KvStore& store) override { return LoadSets(store, io_); }
  std::string Problems(KvStore& store, const State& state) override {
    return ProblemsOfSets(store, io_, state);
  }

  // Files are slow: there a process dies at every call, and the rest is tried at some.
  int64_t Step() const { return form_.name == "File" ? 4 * kStep : kStep; }

  const Scenario scenario_ = Scenarios()[std::get<1>(GetParam())];
};

std::string CaseName(const ::testing::TestParamInfo<TensorsCrashTest::ParamType>& info) {
  return Forms()[std::get<0>(info.param)].name + Scenarios()[std::get<1>(info.param)].name;
}

INSTANTIATE_TEST_SUITE_P(All, TensorsCrashTest,
                         ::testing::Combine(::testing::Range(size_t{0}, Forms().size()),
                                            ::testing::Range(size_t{0}, Scenarios().size())),
                         CaseName);

TEST_P(TensorsCrashTest, AProcessThatDiesLeavesTheOldSetOrTheNewOne) { DieAtCalls(kStep); }

TEST_P(TensorsCrashTest, AWriteThatIsTornLeavesTheOldSetOrTheNewOne) { TearAtCalls(Step()); }

TEST_P(TensorsCrashTest, APowerCutLeavesTheOldSetOrTheNewOne) { CutPowerAtCalls(Step()); }

}  // namespace
}  // namespace tessera::crash
