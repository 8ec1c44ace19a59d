// Content hashes of stored arrays: SHA-256 over the elements in C order.
//
// They do not depend on format, chunks, codecs or shardings, so that checkpoints can be compared by
// them.  An element under a byte counts as a whole one.
#ifndef TESSERA_CHECKPOINT_CONTENT_HASH_H_
#define TESSERA_CHECKPOINT_CONTENT_HASH_H_

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/io_context.h"

namespace tessera::checkpoint {

// Reads an array in whole chunks from the first to the last row, with at most a quarter of the
// budget, or one row, in memory; a chunk is read more than once only where a row of chunks is
// larger than that.
absl::StatusOr<std::string> HashContent(const Checkpoint& checkpoint, const CheckpointArray& array,
                                        IoContext& io, std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_CONTENT_HASH_H_
