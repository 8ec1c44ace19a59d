// KvStore: bytes under keys, on disk, in memory or behind a network.
//
// Calls block; many run at once on a TaskGroup.  A key without a value is a state of a result, not
// an error.  Every value has a generation, and a write can be bound to the one that it replaces.
#ifndef TESSERA_STORE_KV_STORE_H_
#define TESSERA_STORE_KV_STORE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/bytes.h"
#include "tessera/core/pieces.h"

namespace tessera::store {

// Which version of a value this is.  Opaque; two reads that give the same one gave the same bytes.
struct Generation {
  std::string token;

  // That of a key without a value.
  static Generation Missing() { return {}; }
  bool missing() const { return token.empty(); }
  friend bool operator==(const Generation&, const Generation&) = default;
};

// Bytes [offset, offset + length) of a value, or its last bytes.
struct ByteRange {
  uint64_t offset = 0;
  std::optional<uint64_t> length = {};  // nullopt: to the end
  bool from_end = false;                // the last `length` bytes; `offset` means nothing
  std::optional<uint64_t> most = {};    // a longer range is an error, not memory that is taken

  static ByteRange Last(uint64_t length) { return {0, length, true}; }
  // The whole value, if it has at most that many bytes.
  static ByteRange AtMost(uint64_t most) { return {0, {}, false, most}; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// A range within a value of a known size.
struct ResolvedRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// OutOfRange, with the range and the size, when the value does not have all the bytes or the range
// is longer than it may be.
absl::StatusOr<ResolvedRange> Resolve(const ByteRange& range, uint64_t size);

struct ReadResult {
  std::optional<Bytes> value;  // nullopt: the key has none
  Generation generation;       // of the whole value
  uint64_t size = 0;           // of the whole value, whatever the range
};

// What is known of a whole value after a part of it was read.
struct ValueInfo {
  Generation generation;
  uint64_t size = 0;

  // The key has no value.
  bool missing() const { return generation.missing(); }
  friend bool operator==(const ValueInfo&, const ValueInfo&) = default;
};

struct ReadRequest {
  std::string key;
  ByteRange range = {};
};

struct ListEntry {
  std::string key;
  uint64_t size = 0;
  friend bool operator==(const ListEntry&, const ListEntry&) = default;
};

// Thread-safe.  Keys are checked by every call (key.h); errors name the key.
class KvStore {
 public:
  virtual ~KvStore() = default;

  // The bytes of the range.  OutOfRange when the value ends before it does, or when the range is
  // longer than its `most`, in which case nothing was taken or fetched for it.
  virtual absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range = {},
                                          std::stop_token stop = {}) = 0;

  // Fills `target` with the bytes from `offset` on, without another copy where the store can.
  // Missing when the key has no value and nothing was written.  After an error `target` may hold
  // anything.
  virtual absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                             std::span<std::byte> target,
                                             std::stop_token stop = {});

  // Fills the front of `target` with the whole value, as ReadInto does.  OutOfRange, and nothing is
  // written, when the value has more bytes than `target`.
  virtual absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                            std::stop_token stop = {});

  // Hands the bytes of the range to `sink` in pieces of at most room.size(), read into `room` one
  // after the other, or all at once where the store has or gets them so.  Errors of the sink are
  // passed on.  Missing as with ReadInto.
  virtual absl::StatusOr<ValueInfo> ReadPieces(std::string_view key, const ByteRange& range,
                                               std::span<std::byte> room, Sink sink,
                                               std::stop_token stop = {});

  // results[i] is that of requests[i].  The first error ends the call.  Requests run at once, by
  // default up to 64 on threads of this call, so that latency is paid once and not per request;
  // concurrent.h has the other ways.
  virtual absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                           std::stop_token stop = {});

  // Replaces the value as a whole: a reader sees the old one or the new one.  With `if_generation`,
  // only if the value is of that generation, else Aborted; Missing() means "only if there is none".
  virtual absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                           const std::optional<Generation>& if_generation = {},
                                           std::stop_token stop = {}) = 0;

  // As Write, with a value that is made while it is written.  When `producer` fails, its error is
  // passed on and the old value stays.
  virtual absl::StatusOr<ValueInfo> WritePieces(std::string_view key, Producer producer,
                                                const std::optional<Generation>& if_generation = {},
                                                std::stop_token stop = {});

  // Takes the value away; a key without one is no error.  `if_generation` as in Write.
  virtual absl::Status Delete(std::string_view key,
                              const std::optional<Generation>& if_generation = {},
                              std::stop_token stop = {}) = 0;

  // Takes away every value whose key begins with `prefix`.
  virtual absl::Status DeletePrefix(std::string_view prefix, std::stop_token stop = {}) = 0;

  // Gives every value whose key is `from` + rest the key `to` + rest, over what may be there; both
  // prefixes are empty or end in '/', and `to` does not begin with `from`.  Nothing at `from` is no
  // error, so that what was stopped halfway is ended by calling it again.  A reader finds each
  // value under its old key or under its new one; where moves() is false it is copied, then
  // deleted.
  virtual absl::Status MovePrefix(std::string_view from, std::string_view to,
                                  std::stop_token stop = {});

  // Whether MovePrefix leaves the bytes where they are and only changes their keys.
  virtual bool moves() const { return false; }

  // The keys that begin with `prefix`, in byte order, with the sizes of their values.
  virtual absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                                      std::stop_token stop = {}) = 0;

  // Returns once everything that was written, deleted and moved through this store is durable.
  // Only a store whose writes return before they are (FileStore with Durability::kKernel) has
  // anything to do here.  After an error some of it may be lost, and a second Flush that succeeds
  // does not bring it back: what was written since the last good one is to be written again.
  virtual absl::Status Flush(std::stop_token stop = {});

  // Makes a value of `size` bytes, zeros until WriteAt, in place of what may be there.  Unlike one
  // that is written it is seen before it is whole, so the key is one that nobody reads yet.
  // Unimplemented where writes_parts() is false.
  virtual absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token stop = {});

  // Replaces bytes [offset, offset + data.size()) of a value that was reserved.  Many may be at it
  // at once, in this and in other processes, as long as their bytes differ.  NotFound without a
  // value, OutOfRange past its end.
  virtual absl::Status WriteAt(std::string_view key, uint64_t offset,
                               std::span<const std::byte> data, std::stop_token stop = {});

  // Whether Reserve and WriteAt work.
  virtual bool writes_parts() const { return false; }

  // The whole value as memory whose pages are read when they are looked at, and never copied.  Who
  // changes the value in place changes what is seen; Write and MovePrefix do not.  NotFound without
  // a value; Unimplemented where the store has no such memory.
  virtual absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop = {});

  // Whether ReadPieces and WritePieces take no memory for a value beside that of the pieces.
  virtual bool streams() const { return false; }

  // Where the key is, for messages: a path or a URL.
  virtual std::string Describe(std::string_view key) const = 0;
};

}  // namespace tessera::store

#endif  // TESSERA_STORE_KV_STORE_H_
