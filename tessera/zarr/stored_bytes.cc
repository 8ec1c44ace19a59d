// ChunkReader: how the bytes of a chunk come out of the store, and are seen to be the right ones.
#include <algorithm>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/zarr/chunk_reader.h"
#include "tessera/zarr/request.h"
#include "tessera/zarr/stored_hash.h"

namespace tessera::zarr {

absl::Status ChunkReader::Named(const absl::Status& status, const StoredChunk& stored,
                                const Wanted& wanted) {
  if (status.ok()) return status;
  const std::string place = store_.Describe(stored.key);
  if (!stored.extent.has_value()) return Prefixed(status, place);
  return Prefixed(status, Concat(place, ": inner chunk at ", ArrayBox(wanted).Text()));
}

// A writer may put another value in the place of the one that was read before.
absl::Status ChunkReader::CheckSame(const StoredChunk& stored, const store::ValueInfo& info) {
  if (stored.generation.missing() || info.generation == stored.generation) return absl::OkStatus();
  return Aborted(store_.Describe(stored.key), ": the value was replaced while it was read");
}

absl::Status ChunkReader::CheckExpectedSize(const StoredChunk& stored, uint64_t size) {
  if (size == stored.expected->size) return absl::OkStatus();
  return DataLoss(store_.Describe(stored.key), ": found ", size, " bytes, expected ",
                  stored.expected->size);
}

absl::Status ChunkReader::CheckExpected(const StoredChunk& stored, const StoredValue& found) {
  TESSERA_RETURN_IF_ERROR(CheckExpectedSize(stored, found.size));
  if (found.hash == stored.expected->hash) return absl::OkStatus();
  return DataLoss(store_.Describe(stored.key), ": the bytes have hash ", found.hash.Hex(),
                  ", expected ", stored.expected->hash.Hex());
}

absl::StatusOr<store::ByteRange> ChunkReader::RangeOf(int64_t most, const StoredChunk& stored,
                                                      const Wanted& wanted) {
  store::ByteRange range = store::ByteRange::AtMost(most);
  if (stored.extent.has_value()) range = {stored.extent->offset, stored.extent->size};
  // Bytes that are missing are noticed before anything is decoded.
  if (stored.expected.has_value()) range = {0, stored.expected->size};
  if (range.length.value_or(0) <= static_cast<uint64_t>(most)) return range;
  return Named(DataLoss("found ", *range.length, " bytes, expected ", most, " at most"), stored,
               wanted);
}

absl::StatusOr<store::ValueInfo> ChunkReader::Pass(const StoredChunk& stored, const Wanted& wanted,
                                                   const store::ByteRange& range,
                                                   size_t piece_bytes, bool computes,
                                                   Worker& worker, std::stop_token stop,
                                                   Sink take) {
  if (stored.held.has_value()) {
    const IoContext::ComputeSlot slot(io_);
    const uint64_t base = stored.extent.has_value() ? stored.extent->offset : 0;
    const Encoded bytes = stored.held->subspan(range.offset - base);
    const absl::Status taken = take(bytes.first(range.length.value_or(bytes.size())));
    if (!taken.ok()) return Named(taken, stored, wanted);
    return store::ValueInfo{stored.generation, bytes.size()};
  }
  std::optional<StoredHash> hash;
  if (stored.expected.has_value()) hash.emplace();
  // A piece must not wait for a core once it was read: it would have left the cache until then.
  std::optional<IoContext::ComputeSlot> all;
  if (computes && store_.streams()) all.emplace(io_);
  absl::Status taken;
  const auto info = store_.ReadPieces(
      stored.key, range, worker.stored.Resize(piece_bytes),
      [&](Encoded piece) {
        std::optional<IoContext::ComputeSlot> slot;
        if (computes && !all.has_value()) slot.emplace(io_);
        findings_.Bytes(piece.size());
        return taken = hash.has_value() ? hash->Pass(piece, piece_bytes, take) : take(piece);
      },
      std::move(stop));
  all.reset();
  if (!taken.ok()) return Named(taken, stored, wanted);
  if (!info.ok()) return AsDataLoss(info.status());
  TESSERA_RETURN_IF_ERROR(CheckSame(stored, *info));
  if (hash.has_value() && !info->missing()) {
    TESSERA_RETURN_IF_ERROR(CheckExpected(stored, {info->size, hash->Value().hash}));
  }
  return *info;
}

absl::StatusOr<store::ValueInfo> ChunkReader::Verify(const StoredChunk& stored,
                                                     const Wanted& wanted, Worker& worker,
                                                     std::stop_token stop) {
  return Pass(stored, wanted, {0, stored.expected->size}, kPieceBytes, false, worker,
              std::move(stop), [](Encoded) { return absl::OkStatus(); });
}

absl::StatusOr<std::optional<ChunkReader::Encoded>> ChunkReader::Fetch(
    const codec::ArrayCodec& codec, const StoredChunk& stored, const Wanted& wanted, Worker& worker,
    std::stop_token stop) {
  const int64_t most = codec.most_encoded_bytes();
  TESSERA_ASSIGN_OR_RETURN(const store::ByteRange range, RangeOf(most, stored, wanted));
  if (stored.held.has_value()) return stored.held;
  const std::span<std::byte> room = worker.stored.Resize(range.length.value_or(most));
  const auto info = range.length.has_value()
                        ? store_.ReadInto(stored.key, range.offset, room, std::move(stop))
                        : store_.ReadAll(stored.key, room, std::move(stop));
  if (!info.ok()) return AsDataLoss(info.status());
  TESSERA_RETURN_IF_ERROR(CheckSame(stored, *info));
  if (info->missing()) return std::nullopt;
  const Encoded bytes = room.first(range.length.value_or(info->size));
  findings_.Bytes(bytes.size());
  if (stored.expected.has_value()) {
    TESSERA_RETURN_IF_ERROR(CheckExpected(stored, {info->size, HashOf(bytes)}));
  }
  return bytes;
}

}  // namespace tessera::zarr
