// The lock among those who commit to one checkpoint, and the end of commits whose owner died.
#ifndef TESSERA_COMMIT_COMMIT_LOCK_H_
#define TESSERA_COMMIT_COMMIT_LOCK_H_

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/commit/commit_record.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

// A record as it is in the store.
struct FoundCommit {
  store::Generation generation;        // missing: there is none
  std::optional<CommitRecord> record;  // nullopt, if there is one: it was never written as a whole
};
absl::StatusOr<FoundCommit> ReadCommitRecord(store::KvStore& store, std::string_view key,
                                             const std::stop_token& stop);

// What was found at kCommitKey.
struct Cleared {
  std::optional<std::string> finished;  // the id of a dead process's commit that was ended
  std::optional<std::string> alive;     // who holds it; else the place is free now
};

// Takes away the lock of a process that died, ends its commit if it is made.
absl::StatusOr<Cleared> ClearDeadCommit(store::KvStore& store, std::chrono::seconds lease,
                                        const std::stop_token& stop);

// Writes a record without a save at kCommitKey once nobody else's is there; its generation.
// `finished` gets the ids of commits that were ended on the way.  DeadlineExceeded, naming the
// holder, after `timeout`.  REQUIRES: a LiveId of `holder` lives.
absl::StatusOr<store::Generation> AcquireCommitLock(store::KvStore& store,
                                                    const std::string& holder,
                                                    std::chrono::seconds lease,
                                                    std::chrono::nanoseconds timeout,
                                                    std::vector<std::string>& finished,
                                                    const std::stop_token& stop);

// Takes the holder's own lock away, also when it is not known whether it was written; not a commit
// that was made.
absl::Status ReleaseCommitLock(store::KvStore& store, const std::string& holder);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_COMMIT_LOCK_H_
