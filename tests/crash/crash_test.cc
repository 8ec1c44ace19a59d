#include "tests/crash/crash_test.h"

#include <gmock/gmock.h>

#include <limits>
#include <memory>

#include "tessera/checkpoint/saver.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/volatile_store.h"

namespace tessera::crash {
namespace {

using store::KvStore;
using store::testing::Fault;
using store::testing::FaultStore;
using store::testing::VolatileStore;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
// More calls than any save here makes.
constexpr int64_t kMostCalls = 400;

}  // namespace

absl::Status CrashTest::RunSaver(KvStore& store, const array::ValueTree& tree,
                                 const checkpoint::SaveOptions& options) {
  checkpoint::Saver saver({.io = &io_});
  // The store outlives the saver.
  const std::shared_ptr<KvStore> lent(std::shared_ptr<void>(), &store);
  TESSERA_ASSIGN_OR_RETURN(const auto future, saver.Start(lent, tree, options));
  const absl::Status status = future.Wait().status();
  const absl::Status told = saver.WaitUntilFinished();
  return status.ok() ? told : status;
}

CrashTest::States CrashTest::MakeStates() {
  const Place place = form_.make();
  Prepare(*place.store);
  States states;
  states.old_one = *Load(*place.store);
  EXPECT_THAT(Save(*place.store), IsOk());
  states.new_one = *Load(*place.store);
  EXPECT_NE(states.old_one, states.new_one);
  states.keys = KeysOf(*place.store);
  states.folders = FoldersOf(place);
  return states;
}

// What is there must be what the save's result says.
void CrashTest::ExpectWholeState(KvStore& store, const States& states, const absl::Status& result) {
  const std::string message(result.message());
  const bool made = result.ok() || message.find("the commit is made") != std::string::npos;
  const bool unknown = message.find("it is not known whether") != std::string::npos;
  const auto now = Load(store);
  ASSERT_THAT(now, IsOk()) << result;
  EXPECT_EQ(Problems(store, *now), "") << result;
  if (unknown && *now == states.new_one) return;
  EXPECT_EQ(*now, made ? states.new_one : states.old_one) << result;
}

// The next save succeeds and leaves nothing of the one before.
void CrashTest::ExpectGoesOn(const Place& place, const States& states) {
  EXPECT_THAT(Save(*place.store), IsOk());
  EXPECT_THAT(Load(*place.store), IsOkAndHolds(states.new_one));
  EXPECT_EQ(Problems(*place.store, states.new_one), "");
  EXPECT_EQ(KeysOf(*place.store), states.keys);
  EXPECT_EQ(FoldersOf(place), states.folders);
}

void CrashTest::DieAtCalls(int64_t step) {
  const States states = MakeStates();
  for (int64_t n = 0;; n += step) {
    ASSERT_LT(n, kMostCalls);
    SCOPED_TRACE(Concat("call ", n));
    const Place place = form_.make();
    Prepare(*place.store);
    FaultStore dying(*place.store, {.fault = Fault::kFail, .at_call = n, .calls = kForever});
    const absl::Status result = Save(dying);
    ExpectWholeState(*place.store, states, result);
    ExpectGoesOn(place, states);
    if (HasFailure() || dying.calls() <= n) break;
  }
}

void CrashTest::TearAtCalls(int64_t step) {
  const States states = MakeStates();
  for (int64_t n = 0;; n += step) {
    ASSERT_LT(n, kMostCalls);
    SCOPED_TRACE(Concat("call ", n));
    const Place place = form_.make();
    Prepare(*place.store);
    FaultStore tearing(*place.store, {.fault = Fault::kTear, .at_call = n, .calls = 1});
    FaultStore dying(tearing, {.fault = Fault::kFail, .at_call = n + 1, .calls = kForever});
    const absl::Status result = Save(dying);
    ExpectWholeState(*place.store, states, result);
    ExpectGoesOn(place, states);
    if (HasFailure() || dying.calls() <= n) break;
  }
}

void CrashTest::CutPowerAtCalls(int64_t step) {
  // A choice among moves and deletes may leave a file inside a file, which no file system does.
  const uint64_t seeds = form_.name == "File" ? 1 : 3;
  const States states = MakeStates();
  bool last = false;
  for (int64_t n = 0; !last && !HasFailure(); n += step) {
    ASSERT_LT(n, kMostCalls);
    // Seed 0 drops every write that was not flushed.
    for (uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
      SCOPED_TRACE(Concat("call ", n, ", seed ", seed));
      const Place place = form_.make();
      Prepare(*place.store);
      // Object stores do not tear.
      VolatileStore losing(*place.store, {.torn = place.store->moves()});
      FaultStore dying(losing, {.fault = Fault::kFail, .at_call = n, .calls = kForever});
      const absl::Status result = Save(dying);
      ASSERT_THAT(losing.Crash(seed), IsOk());
      ExpectWholeState(*place.store, states, result);
      ExpectGoesOn(place, states);
      last = dying.calls() <= n;
    }
  }
}

}  // namespace tessera::crash
