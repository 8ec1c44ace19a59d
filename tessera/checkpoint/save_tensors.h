// One rank's share of a save as safetensors: its pieces of the files, written and hashed.
#ifndef TESSERA_CHECKPOINT_SAVE_TENSORS_H_
#define TESSERA_CHECKPOINT_SAVE_TENSORS_H_

#include <functional>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/save_report.h"
#include "tessera/checkpoint/save_writer.h"
#include "tessera/checkpoint/snapshot.h"
#include "tessera/core/io_context.h"

namespace tessera::checkpoint {

// REQUIRES for all of these: the plan has a set.  Values are written, not flushed.

// Makes the files with their headers, for the ranks to write into.  One rank does it, before any
// other call.  REQUIRES: the store writes parts.
absl::Status StartTensorFiles(const SavePlan& plan, const SaveTarget& target, IoContext& io,
                              std::stop_token stop = {});

// Writes what the plan gives to the rank, on the context's threads and within its budget.  Returns
// the blocks that are the rank's as a whole.  REQUIRES: the snapshot is the rank's.
absl::StatusOr<std::vector<StoredChunk>> WriteTensorParts(
    const SavePlan& plan, const Snapshot& snapshot, const SaveTarget& target, IoContext& io,
    const std::function<void(const SaveProgress&)>& progress = nullptr, std::stop_token stop = {});

// The rank's share of the blocks that several ranks have written pieces of, read back.  REQUIRES:
// all ranks have flushed what they wrote.
absl::StatusOr<std::vector<StoredChunk>> HashSharedBlocks(const SavePlan& plan,
                                                          const SaveTarget& target, int ranks,
                                                          IoContext& io, std::stop_token stop = {});

// Whether all parts are rank 0's.
bool IsOneRanks(const SavePlan& plan);

// All files from the first byte to the last, for stores that cannot write parts.  REQUIRES:
// IsOneRanks, and the snapshot is rank 0's.
absl::StatusOr<std::vector<StoredChunk>> WriteTensorFiles(
    const SavePlan& plan, const Snapshot& snapshot, const SaveTarget& target, IoContext& io,
    const std::function<void(const SaveProgress&)>& progress = nullptr, std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_TENSORS_H_
