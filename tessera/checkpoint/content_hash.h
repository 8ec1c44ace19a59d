// Content hashes of stored arrays: SHA-256 over the elements in C order.
//
// They do not depend on format, chunks, codecs or shardings, so that checkpoints can be compared by
// them.  An element under a byte counts as a whole one.
#ifndef TESSERA_CHECKPOINT_CONTENT_HASH_H_
#define TESSERA_CHECKPOINT_CONTENT_HASH_H_

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/io_context.h"

namespace tessera::checkpoint {

struct HashOptions {
  // The most memory for elements; 0: a quarter of the budget.
  int64_t room_bytes = 0;
  // Told of the bytes of elements that were hashed now.
  std::function<void(int64_t bytes)> progress = nullptr;
};

// Reads an array in whole chunks from the first to the last row, with at most so many bytes, or one
// row, in memory; a chunk is read more than once only where a row of chunks is larger than that.
absl::StatusOr<std::string> HashContent(const Checkpoint& checkpoint, const CheckpointArray& array,
                                        IoContext& io, const HashOptions& options = {},
                                        std::stop_token stop = {});

// The least memory with which no chunk is read twice.  Of an array that is too large for any memory
// the largest number.
int64_t RoomToHashOnce(const CheckpointArray& array);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_CONTENT_HASH_H_
