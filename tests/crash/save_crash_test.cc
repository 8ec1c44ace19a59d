// A save of a tree that is stopped at every call it makes to the store: what loads is exactly the
// old tree or the new one, and the next save leaves nothing of the one before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tests/crash/crash_test.h"

namespace tessera::crash {
namespace {

using Tree = array::ValueTree;
using store::KvStore;
using ::tessera::testing::IsOk;

// Sanitizers look at the code, which every few calls show as well.
constexpr int64_t kStep = TESSERA_CALL_STEP;

struct TreeSave {
  std::string prefix;
  Tree tree;
  std::string version;  // what its side files say
};

Tree Model() {
  return Tree::MakeDict({{"w", Numbers({4, 4}, 100)},
                         {"layers", Tree::List({Numbers({3}, 200), Numbers({2, 2}, 300)})},
                         {"step", array::MakeScalar(int64_t{1})}});
}

// Other shapes and chunks; an array less, another more, and one where a folder was.
Tree OtherModel() {
  return Tree::MakeDict({{"w", Numbers({3, 2}, 500)},
                         {"layers", Numbers({5}, 600)},
                         {"extra", Tree::Tuple({Numbers({}, 700)})},
                         {"step", array::MakeScalar(int64_t{2})},
                         {"name", array::MakeScalar(std::string("second"))}});
}

Tree Optimizer() { return Tree::MakeDict({{"m", Numbers({6}, 800)}}); }

// A state to begin with and a save on top of it.
struct Scenario {
  std::string name;
  bool foreign = false;
  std::vector<TreeSave> before;
  TreeSave save;
};

std::vector<Scenario> Scenarios() {
  return {
      {"NewCheckpoint", false, {}, {"model", Model(), "1"}},
      {"WithoutPrefix", false, {}, {"", Model(), "1"}},
      {"FurtherPrefix", false, {{"model", Model(), "1"}}, {"tx", Optimizer(), "2"}},
      {"Overwrite",
       false,
       {{"model", Model(), "1"}, {"tx", Optimizer(), "1"}},
       {"model", OtherModel(), "2"}},
      {"OverwriteBack", false, {{"model", OtherModel(), "1"}}, {"model", Model(), "2"}},
      {"Foreign", true, {}, {"model", OtherModel(), "2"}},
  };
}

constexpr std::string_view kForeignIndex = R"({
  "format": "tensorstore",
  "version": "2.0",
  "prefixes": {
    "model": [
      {"path": "model/w", "shape": [4, 3], "dtype": "int32"},
      {"path": "model/gone/deep", "shape": [2], "dtype": "int32"}
    ],
    "other": [{"path": "other/x", "shape": [5], "dtype": "int32"}]
  }
})";

// A checkpoint as eformer leaves it, and a file that nobody may touch.
void PutForeign(KvStore& store) {
  checkpoint::testing::StoredCheckpoint made;
  made.Add("model/w", {4, 3}, {2, 3}).Add("model/gone/deep", {2}, {2}).Add("other/x", {5}, {5});
  const auto entries = made.store().List("").value();
  for (const store::ListEntry& entry : entries) {
    const Bytes value = *made.store().Read(entry.key)->value;
    TESSERA_CHECK(store.Write(entry.key, value.span()).ok());
  }
  checkpoint::testing::WriteText(store, "tensorstore_index.json", kForeignIndex);
  checkpoint::testing::WriteText(store, "model/README", "mine");
}

class SaveCrashTest : public CrashTest,
                      public ::testing::WithParamInterface<std::tuple<size_t, size_t>> {
 protected:
  SaveCrashTest() : CrashTest(Forms()[std::get<0>(GetParam())]) {}

  absl::Status Run(KvStore& store, const TreeSave& save) {
    checkpoint::SaveOptions options{
        .plan = {.prefix = save.prefix, .chunk_bytes = 16, .codec = checkpoint::CodecList{}}};
    options.side_files = {{Concat(save.prefix, "_structure.json"), Bytes::CopyOf(save.version)}};
    options.shared_files = {{"checkpoint_metadata.json", Bytes::CopyOf(save.version)}};
    return RunSaver(store, save.tree, options);
  }

  void Prepare(KvStore& store) override {
    if (scenario_.foreign) PutForeign(store);
    for (const TreeSave& save : scenario_.before) ASSERT_THAT(Run(store, save), IsOk());
  }
  absl::Status Save(KvStore& store) override { return Run(store, scenario_.save); }
  absl::StatusOr<State> Load(KvStore& store) override { return LoadState(store, io_); }
  std::string Problems(KvStore& store, const State&) override { return ProblemsOf(store, io_); }

  const Scenario scenario_ = Scenarios()[std::get<1>(GetParam())];
};

std::string CaseName(const ::testing::TestParamInfo<SaveCrashTest::ParamType>& info) {
  return Forms()[std::get<0>(info.param)].name + Scenarios()[std::get<1>(info.param)].name;
}

INSTANTIATE_TEST_SUITE_P(All, SaveCrashTest,
                         ::testing::Combine(::testing::Range(size_t{0}, Forms().size()),
                                            ::testing::Range(size_t{0}, Scenarios().size())),
                         CaseName);

TEST_P(SaveCrashTest, WhatIsSavedIsWhatLoads) {
  const Place place = form_.make();
  Prepare(*place.store);
  ASSERT_THAT(Save(*place.store), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(State state, Load(*place.store));
  EXPECT_EQ(state[scenario_.save.prefix], *LeavesOf(scenario_.save.tree));
}

TEST_P(SaveCrashTest, AProcessThatDiesLeavesTheOldTreeOrTheNewOne) { DieAtCalls(kStep); }

TEST_P(SaveCrashTest, AWriteThatIsTornLeavesTheOldTreeOrTheNewOne) { TearAtCalls(kStep); }

TEST_P(SaveCrashTest, APowerCutLeavesTheOldTreeOrTheNewOne) { CutPowerAtCalls(kStep); }

}  // namespace
}  // namespace tessera::crash
