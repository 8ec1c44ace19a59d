// What a checkpoint's index says that a save must heed.
#ifndef TESSERA_COMMIT_INDEX_FACTS_H_
#define TESSERA_COMMIT_INDEX_FACTS_H_

#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/commit/commit_record.h"
#include "tessera/commit/paths.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

struct IndexFacts {
  std::optional<std::string> text;
  // The paths of one prefix's list, and those of all other lists with their prefix.
  PathSet own;
  PathSet others;
  std::vector<std::pair<std::string, std::string>> other_paths;  // path, prefix
  // Keys of the manifests that the other prefixes' notes name, and the own one's; empty: none.
  std::set<std::string, std::less<>> other_manifests;
  std::string own_manifest;
};

// Of the last commit.  An index that another program is writing is waited for, for a moment.
absl::StatusOr<IndexFacts> ReadIndexFacts(store::KvStore& store, std::string_view prefix,
                                          const std::stop_token& stop);

// Sets what the save makes obsolete: keys of the list that it replaces and eformer's structure file
// where it does not bring them itself, and manifests that nothing names any more.  REQUIRES:
// save.id, paths and index are set, and the lock is held.
absl::Status FindObsolete(store::KvStore& store, const IndexFacts& facts,
                          const std::vector<std::string>& data_keys, CommittedSave& save,
                          const std::stop_token& stop);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_INDEX_FACTS_H_
