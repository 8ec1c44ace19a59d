// A save that is stopped at every call it makes to the store: what loads is exactly the old state
// or the new one, and the next save leaves nothing of the one before.
#ifndef TESSERA_TESTS_CRASH_CRASH_TEST_H_
#define TESSERA_TESTS_CRASH_CRASH_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "tessera/array/value.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/core/io_context.h"
#include "tests/crash/places.h"
#include "tests/crash/states.h"

namespace tessera::crash {

// What is saved, and how it is read, is for a derived class to say.
class CrashTest : public ::testing::Test {
 protected:
  explicit CrashTest(Form form) : form_(std::move(form)) {}

  // Brings about the old state.
  virtual void Prepare(store::KvStore& store) = 0;
  // The save that is stopped.
  virtual absl::Status Save(store::KvStore& store) = 0;
  virtual absl::StatusOr<State> Load(store::KvStore& store) = 0;
  // What verify finds wrong with a state, a line each.
  virtual std::string Problems(store::KvStore& store, const State& state) = 0;

  // A save by a saver of its own, to its end.
  absl::Status RunSaver(store::KvStore& store, const array::ValueTree& tree,
                        const checkpoint::SaveOptions& options);

  // The calls are every `step`-th one.
  void DieAtCalls(int64_t step);
  void TearAtCalls(int64_t step);
  void CutPowerAtCalls(int64_t step);

  const Form form_;
  IoContext io_{{.in_flight = 2}};

 private:
  struct States {
    State old_one;
    State new_one;
    std::multiset<std::string> keys;     // once it is saved and all is over
    std::multiset<std::string> folders;  // on disk
  };

  States MakeStates();
  void ExpectWholeState(store::KvStore& store, const States& states, const absl::Status& result);
  void ExpectGoesOn(const Place& place, const States& states);
};

}  // namespace tessera::crash

#endif  // TESSERA_TESTS_CRASH_CRASH_TEST_H_
