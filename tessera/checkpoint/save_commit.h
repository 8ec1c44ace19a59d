// What rank 0 commits: manifest, index and files, from what all ranks have stored.  Pure.
#ifndef TESSERA_CHECKPOINT_SAVE_COMMIT_H_
#define TESSERA_CHECKPOINT_SAVE_COMMIT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/checkpoint/save_writer.h"
#include "tessera/commit/transaction.h"
#include "tessera/ledger/manifest.h"

namespace tessera::checkpoint {

// The manifest of a save, below the checkpoint.
std::string ManifestKey(std::string_view id);

// The arrays with all their chunks.  `chunks` are those of all ranks, in any order.  Internal,
// naming the array, unless each chunk of the plan is there once.
absl::StatusOr<std::vector<ledger::ArrayManifest>> ListStored(const SavePlan& plan,
                                                              std::vector<StoredChunk> chunks);

// `index_text`: the index as it is now, of which the manifest's digest takes the version.  Errors
// of ApplyIndexChange.
absl::StatusOr<commit::CommitRequest> MakeCommitRequest(const SavePlan& plan,
                                                        const SaveOptions& options,
                                                        const std::string& id,
                                                        std::vector<ledger::ArrayManifest> arrays,
                                                        std::optional<std::string_view> index_text);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_COMMIT_H_
