// Small saves, and whole checkpoints as plain values, for tests of what commits do.
#ifndef TESSERA_COMMIT_TESTING_SCENARIO_H_
#define TESSERA_COMMIT_TESTING_SCENARIO_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/commit/transaction.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit::testing {

// One save of one prefix, or of a set of files.
struct SmallSave {
  std::string prefix;
  std::vector<std::string> paths;
  std::map<std::string, std::string> data;  // by key
  std::map<std::string, std::string> side_files = {};
  int64_t nbytes = 0;  // in the note; tells versions apart
  bool index = true;
  // A save of files: `paths` are those of data and last_files, and what it replaces is every value
  // whose key begins with the prefix.
  bool files = false;
  std::map<std::string, std::string> last_files = {};
};

// Begins it and writes its data.
absl::StatusOr<std::unique_ptr<Transaction>> BeginSmall(store::KvStore& store,
                                                        const SmallSave& save,
                                                        const BeginOptions& options = {});
CommitRequest RequestFor(const Transaction& transaction, const SmallSave& save);
// All of it.
absl::Status RunSmall(store::KvStore& store, const SmallSave& save,
                      const BeginOptions& options = {});

// What a reader sees: the index's text with every id as "ID" under "index", every value that the
// index or nothing but the checkpoint tells of under its key, and manifests under "manifest of
// <prefix>".  Texts of errors where there are any.
using Checkpoint = std::map<std::string, std::string>;
Checkpoint ReadCheckpoint(store::KvStore& store);

// Everything that is in a store.
std::map<std::string, std::string> AllValues(store::KvStore& store);

// A state to begin with and a save on top of it.
struct Scenario {
  std::string name;
  std::vector<SmallSave> before;
  std::map<std::string, std::string> values = {};  // as other programs have left them
  SmallSave save;
};
std::vector<Scenario> Scenarios();

// Makes the state before; values that nobody may touch are among it.
absl::Status Prepare(store::KvStore& store, const Scenario& scenario);

// What is in the store that should not be, or should be and is not, after `scenario.save` was
// committed to it and all is over; empty: nothing.
std::string Leftovers(store::KvStore& store, const Scenario& scenario);

}  // namespace tessera::commit::testing

#endif  // TESSERA_COMMIT_TESTING_SCENARIO_H_
