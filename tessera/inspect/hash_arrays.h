// HashArrays: content hashes of many arrays, on all cores and by all ranks.
#ifndef TESSERA_INSPECT_HASH_ARRAYS_H_
#define TESSERA_INSPECT_HASH_ARRAYS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/comm/comm.h"
#include "tessera/core/io_context.h"

namespace tessera::inspect {

struct HashContext {
  IoContext& io;
  // With several ranks each hashes its share; all see the same files.  nullptr: alone.
  comm::Comm* comm = nullptr;
  // Of each call among the ranks, in which one may wait for the reading of another.
  comm::Limit limit = {.timeout = std::chrono::hours(24)};
};

// Of this rank's share.
struct HashProgress {
  int64_t bytes_done = 0;
  int64_t bytes_total = 0;
  int64_t arrays_done = 0;
  int64_t arrays_total = 0;
};

// Told by one thread at a time.
using HashListener = std::function<void(const HashProgress&)>;

// The content hash (checkpoint/content_hash.h) of each array, in the order given, on every rank.
// One array is one stream of SHA-256, so that several are hashed at once; the largest come first.
// Collective with a comm: all ranks give the same arrays.  Errors name the key and are the same on
// every rank; Aborted when the ranks do not see the same arrays.
absl::StatusOr<std::vector<std::string>> HashArrays(
    const checkpoint::Checkpoint& checkpoint,
    std::span<const checkpoint::CheckpointArray* const> arrays, const HashContext& context,
    const HashListener& progress = nullptr, std::stop_token stop = {});

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_HASH_ARRAYS_H_
