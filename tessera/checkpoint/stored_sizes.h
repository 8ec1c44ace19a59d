// How many bytes each array takes in the store.
#ifndef TESSERA_CHECKPOINT_STORED_SIZES_H_
#define TESSERA_CHECKPOINT_STORED_SIZES_H_

#include <cstdint>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"

namespace tessera::checkpoint {

// Of the chunks of each array, in the checkpoint's order: as written down, else of what is found by
// listing the store.  Metadata is not counted.
absl::StatusOr<std::vector<int64_t>> StoredSizes(const Checkpoint& checkpoint,
                                                 std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_STORED_SIZES_H_
