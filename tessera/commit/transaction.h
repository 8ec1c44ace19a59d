// Transaction: one save of one prefix, which becomes visible as a whole or not at all.
//
// docs/commit.md lists what is in the store at each point.  One process (rank 0) holds the
// transaction; all ranks write data below its data_prefix().
#ifndef TESSERA_COMMIT_TRANSACTION_H_
#define TESSERA_COMMIT_TRANSACTION_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/bytes.h"
#include "tessera/ledger/index_file.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

struct PreparedCommit;

// All that tessera keeps for itself in a checkpoint lies below this.
inline constexpr std::string_view kOwnFolder = ".tessera/";

// The keys of what is there by now that a save of files takes the place of.  `store` shows the last
// commit.  Called when the save begins, and again before its commit.
using FindReplaced = std::function<absl::StatusOr<std::vector<std::string>>(
    store::KvStore& store, const std::stop_token& stop)>;

struct BeginRequest {
  std::string prefix;              // as in the index; empty: none
  std::vector<std::string> paths;  // of the arrays: all keys below each will belong to the save
  // Set: the save consists of plain files.  The paths are their keys, the prefix is a name that no
  // two sets of files share, and of what is there only the keys that this finds are replaced.
  FindReplaced replaced = nullptr;
};

struct BeginOptions {
  // How long a save that cannot be told to be dead or alive (another machine's) keeps others out.
  std::chrono::seconds lease = std::chrono::hours(1);
  // How long Commit waits for another one that is under way.
  std::chrono::nanoseconds commit_timeout = std::chrono::seconds(400);
};

// A file other than an array's, from the checkpoint's root.
struct SideFile {
  std::string name;
  Bytes content;
};

struct CommitRequest {
  // Names begin with ".tessera/manifests/<id>."; written before anything becomes visible.
  std::vector<SideFile> own_files;
  // Replaced together with the index: checkpoint_metadata.json, <prefix>_structure.json.
  std::vector<SideFile> side_files;
  // Of a save of files: those that take their places when all others have, so that who begins to
  // read at one of them finds what it names.
  std::vector<SideFile> last_files;
  // nullopt: the index is left alone.
  std::optional<ledger::IndexChange> index;
  // Every key that the data consists of, from the checkpoint's root; FailedPrecondition when one
  // was not written, or another one was.  What else lies below the paths of the list that is
  // replaced is deleted, and so are a <prefix>_structure.json that is not among the side files, and
  // manifests that nothing names any more.  Of a save of files: what it replaces and does not
  // bring.
  std::vector<std::string> data_keys;
};

class Transaction {
 public:
  // Finishes or sweeps what dead saves left (recover.h), then says that this one has begun.
  // Aborted, with who and since when, when another save of a path or prefix in common is alive.
  // InvalidArgument when a path is unsafe, is "." or lies inside another prefix's; AlreadyExists
  // when keys are below a path that no index lists, or a file is where a folder is needed; for a
  // save of files, when something is at a path that it does not replace.
  // The store outlives the transaction.
  static absl::StatusOr<std::unique_ptr<Transaction>> Begin(store::KvStore& store,
                                                            const BeginRequest& request,
                                                            const BeginOptions& options = {},
                                                            std::stop_token stop = {});
  // Abandons it unless it was committed.
  ~Transaction();

  // Unique, and a valid file name.
  const std::string& id() const;
  // What the keys of the data begin with until the commit: "" where the store cannot move values
  // and the paths are free, else a folder below kOwnFolder.
  const std::string& data_prefix() const;

  // Makes everything that was written below data_prefix() durable, then visible.  All ranks must
  // have flushed their writes before.  After an error the old state is what readers see, unless the
  // message begins with "the commit is made" (only cleaning up after it has failed, which the next
  // Begin makes good) or with "it is not known whether the commit was made".  Once it is made, a
  // stop is not heeded.  DeadlineExceeded, naming who is in the way, after commit_timeout.
  absl::Status Commit(const CommitRequest& request, std::stop_token stop = {});

  // Deletes what was written.  After an error the next Begin does it.
  absl::Status Abandon(std::stop_token stop = {});

 private:
  struct State;
  explicit Transaction(std::unique_ptr<State> state);
  absl::Status CommitPrepared(const PreparedCommit& commit);
  absl::Status DeleteWritten(const std::stop_token& stop);

  std::unique_ptr<State> state_;
};

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_TRANSACTION_H_
