// Stores made of stores: below a prefix, with retries, with counts of what went through.
//
// The store below must outlive the wrapper.
#ifndef TESSERA_STORE_WRAPPERS_H_
#define TESSERA_STORE_WRAPPERS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/store/kv_store.h"

namespace tessera::store {

// The part of `base` below `prefix` + "/".  InvalidArgument unless the prefix could be a key.
absl::StatusOr<std::unique_ptr<KvStore>> MakePrefixStore(KvStore& base, std::string prefix);

struct RetryOptions {
  int most_attempts = 5;
  std::chrono::milliseconds first_delay{50};  // doubled each time
  std::chrono::milliseconds longest_delay{5000};
};

// Repeats a call that ended with Unavailable.  A conditional write or delete is not repeated: the
// first attempt may have taken place, and a second would then fail for the wrong reason.  Nor is a
// flush: a second one succeeds without what the first one lost.
std::unique_ptr<KvStore> MakeRetryStore(KvStore& base, const RetryOptions& options = {});

// What went through a counting store so far.
struct StoreCounts {
  std::atomic<int64_t> reads{0};
  std::atomic<int64_t> bytes_read{0};
  std::atomic<int64_t> writes{0};
  std::atomic<int64_t> bytes_written{0};
  std::atomic<int64_t> deletes{0};
  std::atomic<int64_t> moves{0};
  std::atomic<int64_t> lists{0};
};

// Counts calls, and the bytes of those that succeeded; each request of a ReadMany is a read.  To
// reserve a value is a write without bytes, to map one a read without.
// `counts` must outlive the store.
std::unique_ptr<KvStore> MakeCountingStore(KvStore& base, StoreCounts& counts);

}  // namespace tessera::store

#endif  // TESSERA_STORE_WRAPPERS_H_
