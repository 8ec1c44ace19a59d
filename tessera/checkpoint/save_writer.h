// One rank's share of a save: its chunks and metadata documents, encoded and written.
#ifndef TESSERA_CHECKPOINT_SAVE_WRITER_H_
#define TESSERA_CHECKPOINT_SAVE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/save_report.h"
#include "tessera/checkpoint/snapshot.h"
#include "tessera/core/bytes.h"
#include "tessera/core/io_context.h"
#include "tessera/store/kv_store.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {

// A chunk as it was stored.
struct StoredChunk {
  int64_t array = 0;  // in plan.arrays
  int64_t cell = 0;   // its number in the array's grid, in C order
  StoredValue value = {};
  friend bool operator==(const StoredChunk&, const StoredChunk&) = default;
};

// Lists of them, for ranks to send.
Bytes EncodeStoredChunks(std::span<const StoredChunk> chunks);
// Internal when `encoded` is nothing of the kind.
absl::StatusOr<std::vector<StoredChunk>> DecodeStoredChunks(std::span<const std::byte> encoded);

struct SaveTarget {
  store::KvStore& store;
  std::string data_prefix = {};  // of every key
  int rank = 0;
};

// Writes what the plan gives to the rank: one loop over all chunks of all arrays, on the context's
// threads and within its budget, so that thousands of small arrays cost no more than their bytes
// and requests.  Large ones come first.  The values are written, not flushed.  In plan order.
// REQUIRES: the plan's codecs are chosen, and the snapshot is the rank's.
absl::StatusOr<std::vector<StoredChunk>> WriteParts(
    const SavePlan& plan, const Snapshot& snapshot, const SaveTarget& target, IoContext& io,
    const std::function<void(const SaveProgress&)>& progress = nullptr, std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_WRITER_H_
