// A zarr array in a store: boxes of it are read into, and written from, any strided memory.
#ifndef TESSERA_ZARR_ARRAY_H_
#define TESSERA_ZARR_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/core/destination.h"
#include "tessera/core/io_context.h"
#include "tessera/core/stored_value.h"
#include "tessera/core/strided.h"
#include "tessera/store/kv_store.h"
#include "tessera/zarr/chunk_codec.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// A part of what was asked for that no chunk is stored for.
struct AbsentChunk {
  std::string key;  // of the chunk, or of the shard it would be in
  Box box;          // of the array, within the box asked for
  friend bool operator==(const AbsentChunk&, const AbsentChunk&) = default;
};

// What a read found.  A lost chunk and one that was never written look alike in this format, so
// absent ones are filled in and named here, for the caller to judge.
struct ReadReport {
  int64_t chunks = 0;         // read and decoded; inner chunks where there are shards
  int64_t absent_chunks = 0;  // a missing shard counts once
  int64_t bytes_read = 0;     // stored bytes
  // In the order of their boxes; of more than kMostAbsentListed, only so many.
  std::vector<AbsentChunk> absent;

  static constexpr int64_t kMostAbsentListed = 4096;
};

struct ReadOptions {
  // What the value of a key must be; nullopt: there must be none, so that the chunk is absent.
  // With it every value that is met is read whole, and DataLoss names the key, size or hash that
  // differs, a value that is missing, and one that must not be there.  A shard is one value: it is
  // kept in memory up to a quarter of the budget, and hashed before any chunk of it is decoded; a
  // larger one is read twice, first to hash it, and must be of the same generation then.  Called by
  // many threads at once.
  std::function<std::optional<StoredValue>(std::string_view key)> expected = nullptr;
};

struct WriteOptions {
  // Leaves out chunks that hold nothing but the fill value, as TensorStore does.  By default all
  // are stored: then a chunk that is absent was lost.
  bool omit_fill_chunks = false;
  // Told of every value that was written: its size, and a hash that was taken while it was.  Called
  // by many threads at once.
  std::function<void(std::string_view key, const StoredValue& value)> on_stored = nullptr;
};

struct WriteReport {
  int64_t chunks = 0;          // values written
  int64_t omitted_chunks = 0;  // left out, and deleted where they were
  int64_t merged_chunks = 0;   // of those written, read before: the box covers them in part
  int64_t bytes_written = 0;
  friend bool operator==(const WriteReport&, const WriteReport&) = default;
};

// Holds metadata and a store to ask, nothing that changes: copyable, thread-safe.  Boxes that meet
// no common chunk may be written at once from anywhere; those that share one may as well, as long
// as the store's conditional writes are exclusive among the writers.
class Array {
 public:
  // Reads the metadata at `path` ("" for the store's own root).  NotFound without any;
  // InvalidArgument when both versions are there and `format` does not choose.
  static absl::StatusOr<Array> Open(store::KvStore& store, std::string_view path,
                                    std::optional<Format> format = {}, std::stop_token stop = {});

  enum class IfThere { kFail, kOpenIfSame };

  // Writes the metadata.  An array that is there already is never changed: AlreadyExists, or with
  // kOpenIfSame FailedPrecondition, naming the first member that differs, unless it is the same.
  static absl::StatusOr<Array> Create(store::KvStore& store, std::string_view path,
                                      const Metadata& metadata, IfThere if_there = IfThere::kFail,
                                      std::stop_token stop = {});

  // Without asking the store: the caller knows what is, or will be, there.
  static absl::StatusOr<Array> Assume(store::KvStore& store, std::string_view path,
                                      const Metadata& metadata);

  const Metadata& metadata() const { return metadata_; }
  ShapeDtype shape_dtype() const { return {metadata_.shape, metadata_.dtype}; }

  // Fills `target`, of the box's shape, with the elements of `box`.  Every chunk that the box meets
  // is read and decoded once, in parallel; memory beside the target stays within the budget, or the
  // call fails with ResourceExhausted.  DataLoss names the chunk that is damaged; Aborted, a shard
  // that was replaced by another between its index and its chunks.
  absl::StatusOr<ReadReport> Read(const Box& box, const StridedView& target, IoContext& io,
                                  std::stop_token stop = {}) const;

  // The same for parts of the array, each within one chunk and no two of one chunk.  Every chunk is
  // read and decoded once.  A part goes to the destination's memory, or to its Put: at once when
  // the chunk is small, else in slabs, as it is decoded.  So a chunk may be larger than the budget,
  // if its store and its codecs stream: all do but blosc, and zstd with a window that large.
  absl::StatusOr<ReadReport> ReadParts(std::span<const Box> parts, Destination& destination,
                                       IoContext& io, const ReadOptions& options = {},
                                       std::stop_token stop = {}) const;

  // Stores the elements of `source` as those of `box`.  A chunk that the box covers is written
  // without being read; another is read, merged and written on condition that nobody else did.
  absl::StatusOr<WriteReport> Write(const Box& box, const ConstStridedView& source, IoContext& io,
                                    const WriteOptions& options = {},
                                    std::stop_token stop = {}) const;

  // What Read and Write work with.
  store::KvStore& store() const { return *store_; }
  const ChunkCodec& codec() const { return codec_; }
  // One element, zeros where the metadata has no value.
  std::span<const std::byte> fill() const { return fill_; }
  // Where a chunk is stored.
  std::string KeyOf(DimsView cell) const;

 private:
  Array(store::KvStore& store, std::string_view path, Metadata metadata, ChunkCodec codec);

  store::KvStore* store_;
  std::string prefix_;  // of every key: "" or ends with '/'
  Metadata metadata_;
  ChunkCodec codec_;
  std::vector<std::byte> fill_;
};

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_ARRAY_H_
