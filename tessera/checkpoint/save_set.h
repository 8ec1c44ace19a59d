// What a set of safetensors files replaces, and what rank 0 commits of it.
#ifndef TESSERA_CHECKPOINT_SAVE_SET_H_
#define TESSERA_CHECKPOINT_SAVE_SET_H_

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/checkpoint/save_writer.h"
#include "tessera/commit/transaction.h"
#include "tessera/ledger/manifest.h"
#include "tessera/safetensors/plan_set.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// The keys of the set that has the stem by now: the index with the files of that stem that it
// names, or else `series`, files that make a set when all of them are there; the single file; and
// the seals of both.  What is no safetensors by its content is not among them.
absl::StatusOr<std::vector<std::string>> FilesOfSet(store::KvStore& store, const std::string& stem,
                                                    const std::vector<std::string>& series,
                                                    const std::stop_token& stop);

// REQUIRES for all below: the plan has a set.

// Its files; two saves of one stem exclude each other.
commit::BeginRequest MakeSetBegin(const SavePlan& plan);

// The tensors with all their blocks.  `blocks` are those of all ranks, in any order.  Internal,
// naming the tensor, unless each block of the plan is there once.
absl::StatusOr<std::vector<ledger::ArrayManifest>> ListStoredTensors(
    const SavePlan& plan, std::vector<StoredChunk> blocks);

// The manifest lies where a seal of the set would.
absl::StatusOr<commit::CommitRequest> MakeSetCommit(const SavePlan& plan,
                                                    const SaveOptions& options,
                                                    const std::string& id,
                                                    std::vector<ledger::ArrayManifest> tensors);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_SET_H_
