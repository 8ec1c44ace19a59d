// A save of a tree that is stopped at every call it makes to the store: what loads is exactly the
// old tree or the new one, and the next save leaves nothing of the one before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/volatile_store.h"
#include "tests/crash/places.h"
#include "tests/crash/states.h"

namespace tessera::crash {
namespace {

using Tree = array::ValueTree;
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

class SaveCrashTest : public ::testing::TestWithParam<std::tuple<size_t, size_t>> {
 protected:
  struct States {
    State old_one;
    State new_one;
    std::multiset<std::string> keys;     // once it is saved and all is over
    std::multiset<std::string> folders;  // on disk
  };

  absl::Status Run(KvStore& store, const TreeSave& save) {
    checkpoint::SaveOptions options{
        .plan = {.prefix = save.prefix, .chunk_bytes = 16, .codec = checkpoint::CodecList{}}};
    options.side_files = {{Concat(save.prefix, "_structure.json"), Bytes::CopyOf(save.version)}};
    options.shared_files = {{"checkpoint_metadata.json", Bytes::CopyOf(save.version)}};
    checkpoint::Saver saver({.io = &io_});
    // The store outlives the saver.
    const std::shared_ptr<KvStore> lent(std::shared_ptr<void>(), &store);
    TESSERA_ASSIGN_OR_RETURN(const auto future, saver.Start(lent, save.tree, options));
    const absl::Status status = future.Wait().status();
    const absl::Status told = saver.WaitUntilFinished();
    return status.ok() ? told : status;
  }

  void Prepare(KvStore& store) {
    if (scenario_.foreign) PutForeign(store);
    for (const TreeSave& save : scenario_.before) ASSERT_THAT(Run(store, save), IsOk());
  }

  States MakeStates() {
    const Place place = form_.make();
    Prepare(*place.store);
    States states;
    states.old_one = *LoadState(*place.store, io_);
    EXPECT_THAT(Run(*place.store, scenario_.save), IsOk());
    states.new_one = *LoadState(*place.store, io_);
    EXPECT_NE(states.old_one, states.new_one);
    EXPECT_EQ(states.new_one[scenario_.save.prefix], *LeavesOf(scenario_.save.tree));
    states.keys = KeysOf(*place.store);
    states.folders = FoldersOf(place);
    return states;
  }

  // What is there must be what the save's result says.
  void ExpectWholeState(KvStore& store, const States& states, const absl::Status& result) {
    const std::string message(result.message());
    const bool made = result.ok() || message.find("the commit is made") != std::string::npos;
    const bool unknown = message.find("it is not known whether") != std::string::npos;
    const auto now = LoadState(store, io_);
    ASSERT_THAT(now, IsOk()) << result;
    EXPECT_EQ(ProblemsOf(store, io_), "") << result;
    if (unknown && *now == states.new_one) return;
    EXPECT_EQ(*now, made ? states.new_one : states.old_one) << result;
  }

  // The next save succeeds and leaves nothing of the one before.
  void ExpectGoesOn(const Place& place, const States& states) {
    EXPECT_THAT(Run(*place.store, scenario_.save), IsOk());
    EXPECT_THAT(LoadState(*place.store, io_), IsOkAndHolds(states.new_one));
    EXPECT_EQ(ProblemsOf(*place.store, io_), "");
    EXPECT_EQ(KeysOf(*place.store), states.keys);
    EXPECT_EQ(FoldersOf(place), states.folders);
  }

  const Form form_ = Forms()[std::get<0>(GetParam())];
  const Scenario scenario_ = Scenarios()[std::get<1>(GetParam())];
  IoContext io_{{.in_flight = 2}};
};

std::string CaseName(const ::testing::TestParamInfo<SaveCrashTest::ParamType>& info) {
  return Forms()[std::get<0>(info.param)].name + Scenarios()[std::get<1>(info.param)].name;
}

INSTANTIATE_TEST_SUITE_P(All, SaveCrashTest,
                         ::testing::Combine(::testing::Range(size_t{0}, Forms().size()),
                                            ::testing::Range(size_t{0}, Scenarios().size())),
                         CaseName);

TEST_P(SaveCrashTest, AProcessThatDiesLeavesTheOldTreeOrTheNewOne) {
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

TEST_P(SaveCrashTest, AWriteThatIsTornLeavesTheOldTreeOrTheNewOne) {
  const States states = MakeStates();
  for (int64_t n = 0;; n += kStep) {
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

TEST_P(SaveCrashTest, APowerCutLeavesTheOldTreeOrTheNewOne) {
  // A choice among moves and deletes may leave a file inside a file, which no file system does.
  const uint64_t seeds = form_.name == "File" ? 1 : 3;
  const States states = MakeStates();
  bool last = false;
  for (int64_t n = 0; !last && !HasFailure(); n += kStep) {
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
