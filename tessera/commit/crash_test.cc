// A save that is stopped at every call it makes to the store: what is there is the old state or the
// new one, and the next save finds its way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "tessera/commit/testing/scenario.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/testing/volatile_store.h"

namespace tessera::commit {
namespace {

using store::KvStore;
using store::testing::Fault;
using store::testing::FaultPlan;
using store::testing::FaultStore;
using store::testing::TemporaryFolder;
using store::testing::VolatileStore;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using testing::AllValues;
using testing::Checkpoint;
using ::testing::HasSubstr;
using testing::Leftovers;
using testing::Prepare;
using testing::ReadCheckpoint;
using testing::RunSmall;
using testing::Scenario;
using testing::Scenarios;
using testing::SmallSave;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
// More calls than any save here makes.
constexpr int64_t kMostCalls = 400;
// Each n-th of the calls is tried as a place to stop at.
constexpr int64_t kCallStep = TESSERA_CALL_STEP;

// A store of one form, empty at first.
struct Place {
  std::unique_ptr<TemporaryFolder> folder;
  std::unique_ptr<KvStore> store;
};

struct Form {
  std::string name;
  std::function<Place()> make;
};

// A process that dies takes nothing with it that the kernel has, so nothing is synced here.
class UnsyncedStore final : public store::ForwardingStore {
 public:
  explicit UnsyncedStore(std::unique_ptr<KvStore> store)
      : ForwardingStore(*store), store_(std::move(store)) {}
  absl::Status Flush(std::stop_token) override { return absl::OkStatus(); }

 private:
  std::unique_ptr<KvStore> store_;
};

Place FilePlace() {
  Place place;
  place.folder = std::make_unique<TemporaryFolder>();
  auto store = store::OpenFileStore(place.folder->path().string(),
                                    {.durability = store::Durability::kKernel});
  TESSERA_CHECK(store.ok());
  place.store = std::make_unique<UnsyncedStore>(*std::move(store));
  return place;
}

Place MemoryPlace(bool moves) { return {nullptr, store::MakeMemoryStore({.moves = moves})}; }

std::vector<Form> Forms() {
  return {{"File", FilePlace},
          {"Objects", [] { return MemoryPlace(false); }},
          {"Moving", [] { return MemoryPlace(true); }}};
}

struct States {
  Checkpoint old_one;
  Checkpoint new_one;
};

States StatesOf(const Form& form, const Scenario& scenario) {
  const Place place = form.make();
  EXPECT_THAT(Prepare(*place.store, scenario), IsOk());
  States states;
  states.old_one = ReadCheckpoint(*place.store);
  EXPECT_THAT(RunSmall(*place.store, scenario.save), IsOk());
  states.new_one = ReadCheckpoint(*place.store);
  EXPECT_NE(states.old_one, states.new_one);
  EXPECT_EQ(Leftovers(*place.store, scenario), "");
  return states;
}

bool Begins(const absl::Status& status, std::string_view text) {
  const std::string message(status.message());
  return message.starts_with(text);
}

bool IsMade(const absl::Status& result) {
  return result.ok() || Begins(result, "the commit is made");
}

bool MayBeMade(const absl::Status& result) {
  return Begins(result, "it is not known whether the commit was made");
}

// What is there must be what the save's result says.
void ExpectWholeState(KvStore& store, const States& states, const absl::Status& result) {
  const Checkpoint now = ReadCheckpoint(store);
  if (MayBeMade(result) && now == states.new_one) return;
  EXPECT_EQ(now, IsMade(result) ? states.new_one : states.old_one) << result;
}

// The next save succeeds and leaves nothing of the one before.
void ExpectGoesOn(KvStore& store, const Scenario& scenario, const States& states) {
  // Without an index nothing tells whose the keys are, so they are not written over.
  const bool refused =
      !scenario.save.index && !scenario.save.files && ReadCheckpoint(store) == states.new_one;
  const absl::Status result = RunSmall(store, scenario.save);
  if (refused) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("in no index")));
  } else {
    EXPECT_THAT(result, IsOk());
  }
  EXPECT_EQ(ReadCheckpoint(store), states.new_one);
  EXPECT_EQ(Leftovers(store, scenario), "");
}

class CrashTest : public ::testing::TestWithParam<std::tuple<size_t, size_t>> {
 protected:
  const Form form_ = Forms()[std::get<0>(GetParam())];
  const Scenario scenario_ = Scenarios()[std::get<1>(GetParam())];
  // Files are slow: there a process dies at every call, and the rest is tried at some.
  const int64_t step_ = kCallStep * (form_.name == "File" ? 6 : 1);
};

std::string CaseName(const ::testing::TestParamInfo<CrashTest::ParamType>& info) {
  return Forms()[std::get<0>(info.param)].name + Scenarios()[std::get<1>(info.param)].name;
}

INSTANTIATE_TEST_SUITE_P(All, CrashTest,
                         ::testing::Combine(::testing::Range(size_t{0}, Forms().size()),
                                            ::testing::Range(size_t{0}, Scenarios().size())),
                         CaseName);

TEST_P(CrashTest, AProcessThatDiesLeavesTheOldStateOrTheNewOne) {
  const States states = StatesOf(form_, scenario_);
  for (int64_t n = 0; n < kMostCalls; n += kCallStep) {
    SCOPED_TRACE(Concat("call ", n));
    const Place place = form_.make();
    ASSERT_THAT(Prepare(*place.store, scenario_), IsOk());
    FaultStore faulty(*place.store, {.fault = Fault::kFail, .at_call = n, .calls = kForever});
    const absl::Status result = RunSmall(faulty, scenario_.save);
    ExpectWholeState(*place.store, states, result);
    ExpectGoesOn(*place.store, scenario_, states);
    if (HasFailure() || faulty.calls() <= n) break;
    ASSERT_LT(n, kMostCalls - kCallStep);
  }
}

TEST_P(CrashTest, AWriteThatIsTornLeavesTheOldStateOrTheNewOne) {
  const States states = StatesOf(form_, scenario_);
  for (int64_t n = 0; n < kMostCalls; n += step_) {
    SCOPED_TRACE(Concat("call ", n));
    const Place place = form_.make();
    ASSERT_THAT(Prepare(*place.store, scenario_), IsOk());
    FaultStore tearing(*place.store, {.fault = Fault::kTear, .at_call = n, .calls = 1});
    FaultStore dying(tearing, {.fault = Fault::kFail, .at_call = n + 1, .calls = kForever});
    const absl::Status result = RunSmall(dying, scenario_.save);
    ExpectWholeState(*place.store, states, result);
    ExpectGoesOn(*place.store, scenario_, states);
    if (HasFailure() || dying.calls() <= n) break;
    ASSERT_LT(n, kMostCalls - step_);
  }
}

TEST_P(CrashTest, ACallThatFailsOnceLeavesTheOldStateOrTheNewOne) {
  const States states = StatesOf(form_, scenario_);
  for (const Fault fault : {Fault::kFail, Fault::kTear}) {
    for (int64_t n = 0; n < kMostCalls; n += step_) {
      SCOPED_TRACE(Concat("call ", n, fault == Fault::kTear ? ", torn" : ""));
      const Place place = form_.make();
      ASSERT_THAT(Prepare(*place.store, scenario_), IsOk());
      FaultStore faulty(*place.store, {.fault = fault, .at_call = n, .calls = 1});
      const absl::Status result = RunSmall(faulty, scenario_.save);
      ExpectWholeState(*place.store, states, result);
      ExpectGoesOn(*place.store, scenario_, states);
      if (HasFailure() || faulty.calls() <= n) break;
    }
  }
}

TEST_P(CrashTest, ARecoveryThatDiesIsDoneByTheNext) {
  const States states = StatesOf(form_, scenario_);
  // Some calls of the save with some of the recovery; all pairs take minutes.
  for (int64_t n = 1; n < kMostCalls; n += 7 * step_) {
    bool last = false;
    for (int64_t m = n % 5; m < kMostCalls; m += 5) {
      SCOPED_TRACE(Concat("call ", n, ", then call ", m));
      const Place place = form_.make();
      ASSERT_THAT(Prepare(*place.store, scenario_), IsOk());
      FaultStore first(*place.store, {.at_call = n, .calls = kForever});
      const absl::Status result = RunSmall(first, scenario_.save);
      last = first.calls() <= n;
      FaultStore second(*place.store, {.at_call = m, .calls = kForever});
      const absl::Status again = RunSmall(second, scenario_.save);
      // What the first one left as made stays so; the second one may only have added to it.
      const bool made = IsMade(again) || IsMade(result);
      const Checkpoint now = ReadCheckpoint(*place.store);
      if (made || now != states.old_one) {
        EXPECT_EQ(now, states.new_one) << result << again;
      }
      ExpectGoesOn(*place.store, scenario_, states);
      if (HasFailure() || second.calls() <= m) break;
    }
    if (HasFailure() || last) break;
  }
}

TEST_P(CrashTest, APowerCutLeavesTheOldStateOrTheNewOne) {
  const uint64_t seeds = form_.name == "File" ? 1 : 4;
  const States states = StatesOf(form_, scenario_);
  for (int64_t n = 0; n < kMostCalls; n += step_) {
    bool last = false;
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      SCOPED_TRACE(Concat("call ", n, ", seed ", seed));
      const Place place = form_.make();
      ASSERT_THAT(Prepare(*place.store, scenario_), IsOk());
      // Object stores do not tear.
      VolatileStore losing(*place.store, {.torn = place.store->moves()});
      FaultStore dying(losing, {.fault = Fault::kFail, .at_call = n, .calls = kForever});
      const absl::Status result = RunSmall(dying, scenario_.save);
      ASSERT_THAT(losing.Crash(seed), IsOk());
      ExpectWholeState(*place.store, states, result);
      ExpectGoesOn(*place.store, scenario_, states);
      last = dying.calls() <= n;
      if (HasFailure()) break;
    }
    if (HasFailure() || last) break;
  }
}

}  // namespace
}  // namespace tessera::commit
