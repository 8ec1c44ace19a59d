// One save, from its plan to its commit: the steps that the ranks take together.
#ifndef TESSERA_CHECKPOINT_SAVE_JOB_H_
#define TESSERA_CHECKPOINT_SAVE_JOB_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/checkpoint/save_report.h"
#include "tessera/checkpoint/snapshot.h"
#include "tessera/comm/comm.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/future.h"
#include "tessera/core/io_context.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

struct SaveJob {
  std::shared_ptr<store::KvStore> store = nullptr;
  SaveOptions options = {};
  comm::Comm* comm = nullptr;
  IoContext* io = nullptr;
  comm::Limit limit = {};  // of each wait for other ranks
  std::chrono::steady_clock::time_point started = {};
  SavePlan plan = {};
  bool writes = true;  // false: there is nothing to keep
  std::string id = {};
  std::string data_prefix = {};
  std::unique_ptr<commit::Transaction> transaction = nullptr;  // rank 0's
  std::optional<Snapshot> snapshot = {};
  SaveReport report = {};
  Promise<SaveReport> promise = {};
};

// GLOBAL_CHECKPOINT_TIMEOUT in seconds, or 400 s.  InvalidArgument, naming the variable, for other
// text than a positive integer.
absl::StatusOr<std::chrono::nanoseconds> DefaultSaveTimeout();

// Sets `store`, and `plan`, the same on all ranks.  Collective, as all below; errors are
// everybody's.
absl::Status AgreeOnPlan(SaveJob& job, absl::StatusOr<std::shared_ptr<store::KvStore>> store,
                         const array::ValueTree& tree);

// Rank 0 begins a transaction, while `meanwhile` runs on every rank; then all learn where the data
// goes.  An error of either is everybody's.
absl::Status BeginCommit(SaveJob& job, absl::FunctionRef<absl::Status()> meanwhile);

// Chooses codecs, writes this rank's chunks, and commits when all have.
absl::StatusOr<SaveReport> Finish(SaveJob& job);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_JOB_H_
