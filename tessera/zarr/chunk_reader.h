// From a stored chunk to the part of it that is wanted: read, verified, decoded, handed on.
#ifndef TESSERA_ZARR_CHUNK_READER_H_
#define TESSERA_ZARR_CHUNK_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/io_context.h"
#include "tessera/core/pieces.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/findings.h"
#include "tessera/zarr/read_method.h"
#include "tessera/zarr/wanted.h"
#include "tessera/zarr/worker.h"

namespace tessera::zarr {

// Used by all workers of one read at once.
class ChunkReader {
 public:
  // `destination` may be null when everything that is wanted has a target.
  ChunkReader(const Array& array, IoContext& io, const ReadTerms& terms, Destination* destination)
      : array_(array), store_(array.store()), io_(io), terms_(terms), destination_(destination) {}

  // A worker has reserved what ReadNeed says.
  absl::Status Read(const ChunkCodec& codec, const StoredChunk& stored, const Wanted& wanted,
                    Worker& worker, std::stop_token stop);

  // For a chunk that the manifest does not know: it must not be there.
  absl::Status FillInUnlessThere(const StoredChunk& stored, const Wanted& wanted,
                                 std::stop_token stop);

  ReadReport Report() && { return std::move(findings_).Report(); }

 private:
  using Encoded = std::span<const std::byte>;
  struct FoundIndex {
    ShardIndex index;
    Extent shard;  // where the shard lies in its value
    store::Generation generation;
  };

  // chunk_reader.cc: chunks of elements.
  absl::Status ReadElements(const codec::ArrayCodec& codec, const StoredChunk& stored,
                            const Wanted& wanted, Worker& worker, std::stop_token stop);
  absl::Status ReadRun(const codec::ArrayCodec& codec, const StoredChunk& stored,
                       const Wanted& wanted, bool direct, Worker& worker,
                       const std::stop_token& stop);
  absl::Status ReadDirect(const codec::ArrayCodec& codec, const StoredChunk& stored,
                          const Wanted& wanted, Worker& worker, std::stop_token stop);
  absl::Status ReadVerifiedPlain(const codec::ArrayCodec& codec, StoredChunk stored,
                                 const Wanted& wanted, const std::stop_token& stop);
  absl::Status ReadSlabs(const codec::ArrayCodec& codec, const StoredChunk& stored,
                         const Wanted& wanted, Worker& worker, const std::stop_token& stop);
  absl::Status ReadWhole(const codec::ArrayCodec& codec, const StoredChunk& stored,
                         const Wanted& wanted, Worker& worker, std::stop_token stop);
  absl::Status WithMoreMemory(const absl::Status& error, const codec::ArrayCodec& codec,
                              const StoredChunk& stored, const Wanted& wanted, Worker& worker,
                              const std::stop_token& stop);
  absl::Status CheckPlainSize(const codec::ArrayCodec& codec, const StoredChunk& stored,
                              const Wanted& wanted, uint64_t value_size);
  absl::Status Hand(const Wanted& wanted, const Box& box, const ConstStridedView& elements);
  absl::Status FillIn(const StoredChunk& stored, const Wanted& wanted);

  // read_shard.cc: shards.
  absl::Status ReadShard(const ShardCodec& shard, const StoredChunk& stored, const Wanted& wanted,
                         Worker& worker, std::stop_token stop);
  absl::Status ReadVerifiedShard(const ShardCodec& shard, StoredChunk stored, const Wanted& wanted,
                                 Worker& worker, std::stop_token stop);
  absl::StatusOr<std::optional<FoundIndex>> ReadIndex(const ShardCodec& shard,
                                                      const StoredChunk& stored,
                                                      const Wanted& wanted, Worker& worker,
                                                      std::stop_token stop);

  static StoredChunk InnerStored(const StoredChunk& stored, const FoundIndex& found,
                                 const Extent& place);
  absl::Status AskForMemory(Wanted& wanted);

  // stored_bytes.cc: bytes of chunks.
  //
  // Hands on the bytes of a range, which lie in the chunk, in pieces of `piece_bytes` at the most
  // where the store can; `computes` says that taking one is work for a core.  Errors of `take` are
  // named.  Missing when there is no value.
  absl::StatusOr<store::ValueInfo> Pass(const StoredChunk& stored, const Wanted& wanted,
                                        const store::ByteRange& range, size_t piece_bytes,
                                        bool computes, Worker& worker, std::stop_token stop,
                                        Sink take);
  // All bytes of a chunk, held already or in the worker's memory; nullopt when there are none.
  absl::StatusOr<std::optional<Encoded>> Fetch(const codec::ArrayCodec& codec,
                                               const StoredChunk& stored, const Wanted& wanted,
                                               Worker& worker, std::stop_token stop);
  // Where the bytes of a chunk lie, which are not more than they can be.
  absl::StatusOr<store::ByteRange> RangeOf(int64_t most, const StoredChunk& stored,
                                           const Wanted& wanted);
  absl::Status CheckSame(const StoredChunk& stored, const store::ValueInfo& info);
  absl::Status CheckExpectedSize(const StoredChunk& stored, uint64_t size);
  absl::Status CheckExpected(const StoredChunk& stored, const StoredValue& found);
  // Of a whole value, from the store alone.
  absl::StatusOr<store::ValueInfo> Verify(const StoredChunk& stored, const Wanted& wanted,
                                          Worker& worker, std::stop_token stop);
  absl::Status Named(const absl::Status& status, const StoredChunk& stored, const Wanted& wanted);

  const Array& array_;
  store::KvStore& store_;
  IoContext& io_;
  const ReadTerms terms_;
  Destination* const destination_;
  Findings findings_;
};

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_CHUNK_READER_H_
