// What makes a checkpoint of the arrays that were written: index, manifest and side files.
#ifndef TESSERA_CONVERT_FINISH_H_
#define TESSERA_CONVERT_FINISH_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/source.h"
#include "tessera/convert/target_writer.h"
#include "tessera/core/io_context.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/store/kv_store.h"

namespace tessera::convert {

// Adds the cells that were not hashed when they were written.  In the order of the plan.
absl::StatusOr<StoredChunks> CompleteChunks(const ConvertPlan& plan, StoredChunks chunks,
                                            TargetWriter& writer, IoContext& io,
                                            std::stop_token stop);

// Writes what the format has beside the arrays, and a manifest of everything: for a tensorstore
// target one that its index names for each prefix, else a seal.  `chunks` are complete.
absl::Status FinishCheckpoint(const ConvertPlan& plan, const ConvertSource& source,
                              const StoredChunks& chunks, store::KvStore& store,
                              std::stop_token stop);

// checkpoint_metadata.json for the new arrays: the same text when they are all of the old ones and
// unchanged.  A checksum of elements that were changed is left out.  InvalidArgument when `text` is
// nothing of the kind.
absl::StatusOr<std::string> ConvertCheckpointMetadata(const ConvertPlan& plan,
                                                      const ConvertSource& source,
                                                      const std::string& text);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_FINISH_H_
