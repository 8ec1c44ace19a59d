// Recovery: finishing commits and sweeping leftovers of saves that died.
#ifndef TESSERA_COMMIT_RECOVER_H_
#define TESSERA_COMMIT_RECOVER_H_

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

struct RecoverOptions {
  // As BeginOptions::lease.
  std::chrono::seconds lease = std::chrono::hours(1);
};

struct RecoverReport {
  std::vector<std::string> finished;  // ids of commits that were made but not cleaned up after
  std::vector<std::string> swept;     // ids of saves that died before their commit
  std::vector<std::string> alive;     // "save <id> of prefix 'model' by process 12 since ..."
  friend bool operator==(const RecoverReport&, const RecoverReport&) = default;
};

// Touches nothing that no save of ours wrote.  Called by Begin; a reader need not call it.
absl::StatusOr<RecoverReport> Recover(store::KvStore& store, const RecoverOptions& options = {},
                                      std::stop_token stop = {});

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_RECOVER_H_
