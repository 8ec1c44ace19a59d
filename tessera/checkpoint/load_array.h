// ArrayReader: reads parts of one array of a checkpoint, of either format, and tells what is lost.
#ifndef TESSERA_CHECKPOINT_LOAD_ARRAY_H_
#define TESSERA_CHECKPOINT_LOAD_ARRAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/box.h"
#include "tessera/core/destination.h"
#include "tessera/core/io_context.h"
#include "tessera/core/strided.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {

// What becomes of a chunk that is not there, where no manifest says that it must be.
enum class AbsentChunks {
  // DataLoss in a zarr v2 array without a fill value, which is what JAX writes and never leaves
  // out.  Elsewhere the format allows it: filled in and counted.
  kRefuse,
  // Filled in and counted everywhere, as JAX does.
  kFill,
};

struct ReadPolicy {
  bool verify = true;  // every value against the manifest, where there is one
  AbsentChunks absent = AbsentChunks::kRefuse;
};

// What was read of an array, or of many.
struct ReadCounts {
  int64_t chunks = 0;
  int64_t absent_chunks = 0;
  int64_t bytes_read = 0;
  friend bool operator==(const ReadCounts&, const ReadCounts&) = default;

  void Add(const ReadCounts& other) {
    chunks += other.chunks;
    absent_chunks += other.absent_chunks;
    bytes_read += other.bytes_read;
  }
};

// What a manifest says of the values of one array, by the keys that the store has them under.
class ExpectedValues {
 public:
  // The manifest outlives it.
  ExpectedValues(const ledger::ArrayManifest& manifest, std::string_view path);

  std::optional<StoredValue> Find(std::string_view key) const;
  // By what the key ends with: the chunk's own name.
  std::optional<StoredValue> FindNamed(std::string_view name) const;

 private:
  // Up to so many are looked through one by one.
  static constexpr size_t kFew = 8;

  const ledger::ArrayManifest& manifest_;
  size_t below_;  // how much of a key is not the chunk's name
  absl::flat_hash_map<std::string_view, StoredValue> by_name_;
};

// Thread-safe.
class ArrayReader {
 public:
  // `array` is one of the checkpoint's; both outlive the reader.
  static absl::StatusOr<ArrayReader> Make(const Checkpoint& checkpoint,
                                          const CheckpointArray& array, const ReadPolicy& policy);

  // Boxes that lie within one chunk each, no two of one chunk.  DataLoss names what is damaged or
  // gone.
  absl::StatusOr<ReadCounts> Read(std::span<const Box> parts, Destination& destination,
                                  IoContext& io, std::stop_token stop = {}) const;

  // All parts that `boxes` need.
  absl::StatusOr<ReadCounts> ReadBoxes(std::span<const Box> boxes, Destination& destination,
                                       IoContext& io, std::stop_token stop = {}) const;

  // Fills `target`, of the box's shape and the array's dtype.
  absl::StatusOr<ReadCounts> ReadBox(const Box& box, const StridedView& target, IoContext& io,
                                     std::stop_token stop = {}) const;

 private:
  ArrayReader(store::KvStore& store, const CheckpointArray& array, const ReadPolicy& policy)
      : store_(&store), array_(&array), policy_(policy) {}

  absl::StatusOr<ReadCounts> ReadChunks(std::span<const Box> parts, Destination& destination,
                                        IoContext& io, std::stop_token stop) const;
  absl::StatusOr<ReadCounts> ReadBlocks(std::span<const Box> parts, Destination& destination,
                                        IoContext& io, std::stop_token stop) const;

  store::KvStore* store_;
  const CheckpointArray* array_;
  ReadPolicy policy_;
  std::optional<zarr::Array> zarr_;                 // nullopt: a tensor
  std::shared_ptr<const ExpectedValues> expected_;  // nullptr: nothing to hold them against
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_ARRAY_H_
