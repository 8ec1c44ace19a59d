// Saves of plain files: what is in their way, and what they replace.
#ifndef TESSERA_COMMIT_FILES_H_
#define TESSERA_COMMIT_FILES_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/commit/commit_record.h"
#include "tessera/commit/transaction.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

// InvalidArgument for a path that is not a file's in the checkpoint's own folder.
absl::Status ValidateFiles(const std::vector<std::string>& paths);

// InvalidArgument unless the request brings exactly the files.
absl::Status ValidateBrought(const CommitRequest& request, const std::vector<std::string>& paths);

// What `find` says of the last commit.  AlreadyExists, naming it, when something is at one of the
// paths that is not among it.
absl::StatusOr<std::vector<std::string>> FindReplacedFiles(store::KvStore& store,
                                                           const std::vector<std::string>& paths,
                                                           const FindReplaced& find,
                                                           const std::stop_token& stop);

// Adds what is replaced and not brought to save.obsolete_keys.  REQUIRES: its paths and side files
// are set, and the lock is held.
absl::Status FindObsoleteFiles(store::KvStore& store, const FindReplaced& find,
                               const std::stop_token& stop, CommittedSave& save);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_FILES_H_
