// Ranks that share nothing but a small store of keys and values, as the processes of one JAX
// program do.
//
// Meant for what ranks say to each other: some numbers, names and sizes.  Everything goes through
// the one process that keeps the store, so large arrays are better read by each rank itself.
#ifndef TESSERA_COMM_KEY_VALUE_H_
#define TESSERA_COMM_KEY_VALUE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/comm/comm.h"
#include "tessera/core/bytes.h"

namespace tessera::comm {

struct KeyValue {
  std::string key;
  Bytes value;
};

// The way to the store.  Used by one thread at a time.
class KeyValueClient {
 public:
  virtual ~KeyValueClient() = default;

  // AlreadyExists when the key has a value.
  virtual absl::Status Set(std::string_view key, std::span<const std::byte> value) = 0;

  // Waits for the key's value; nullopt when it has none after `timeout`.
  virtual absl::StatusOr<std::optional<Bytes>> Get(std::string_view key,
                                                   std::chrono::milliseconds timeout) = 0;

  // All keys that begin with `folder`, which ends with a slash, and their values.
  virtual absl::StatusOr<std::vector<KeyValue>> List(std::string_view folder) = 0;

  // Removes the key, if it is there, and all that begin with it and a slash.
  virtual absl::Status Delete(std::string_view key) = 0;
};

struct KeyValueOptions {
  // Begins every key.  The same on every rank, and used for one Comm only.
  std::string session;
  int rank = 0;
  int size = 1;
  // A value has at most this many bytes.  The same on every rank.
  int64_t block_bytes = int64_t{1} << 20;
};

// A Comm whose ranks meet in the store.  Waits for nobody.  A rank that dies leaves no word, so the
// others learn of it only when the limit of their call has passed.
absl::StatusOr<std::unique_ptr<Comm>> OpenKeyValue(std::shared_ptr<KeyValueClient> client,
                                                   const KeyValueOptions& options);

}  // namespace tessera::comm

#endif  // TESSERA_COMM_KEY_VALUE_H_
