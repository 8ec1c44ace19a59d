// .tessera/commit.json: who commits, and what has been committed.  Pure: text in, values out.
#ifndef TESSERA_COMMIT_COMMIT_RECORD_H_
#define TESSERA_COMMIT_COMMIT_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/commit/owner.h"
#include "tessera/commit/save_record.h"
#include "tessera/ledger/index_file.h"

namespace tessera::commit {

inline constexpr std::string_view kCommitKey = ".tessera/commit.json";
// Held by who ends the commit of a process that died; a record of the same form.
inline constexpr std::string_view kFinishKey = ".tessera/finish.json";

// All that is needed to end a commit.
struct CommittedSave {
  std::string id;
  std::vector<std::string> paths;       // of its arrays
  std::vector<std::string> side_files;  // keys, beside the arrays, that are staged
  // The paths are files, which can lie beside those that they replace: obsolete keys go last.
  bool is_files = false;
  std::vector<std::string> last_files = {};  // those of the paths that are moved after the others
  // Deleted: single keys, and folders with all that is in them.
  std::vector<std::string> obsolete_keys;
  std::vector<std::string> obsolete_folders;
  std::optional<ledger::IndexChange> index;  // nullopt: it stays as it is
  // The index as it was; nullopt: there was none.  For when a power cut leaves it cut short.
  std::optional<std::string> index_before;
  Placement placement = Placement::kStaged;
  friend bool operator==(const CommittedSave&, const CommittedSave&) = default;
};

struct CommitRecord {
  std::string holder;  // the id that the owner works under
  Owner owner;
  int64_t since = 0;                  // seconds of Unix time
  std::optional<CommittedSave> save;  // nullopt: a lock only, nothing is committed yet
  friend bool operator==(const CommitRecord&, const CommitRecord&) = default;
};

// Errors of EncodeIndexChange.
absl::StatusOr<std::string> EncodeCommitRecord(const CommitRecord& record);

// As DecodeSaveRecord.  Keys that no save may touch are InvalidArgument.
absl::StatusOr<CommitRecord> DecodeCommitRecord(std::string_view text);

// InvalidArgument unless it may stand beside the arrays: a key outside of kOwnFolder that is not
// the index; or a seal.
absl::Status ValidateSideFile(std::string_view name);

// InvalidArgument for a key that no commit deletes.
absl::Status ValidateObsoleteKey(std::string_view key);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_COMMIT_RECORD_H_
