// ChunkReader: shards, from their index to the chunks inside.
#include <utility>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/zarr/chunk_reader.h"
#include "tessera/zarr/request.h"

namespace tessera::zarr {

// Every byte of the shard is hashed, wanted or not: read once and kept where there is memory for
// it, else in a pass of its own, after which only that generation of the value is read.
absl::Status ChunkReader::ReadVerifiedShard(const ShardCodec& shard, StoredChunk stored,
                                            const Wanted& wanted, Worker& worker,
                                            std::stop_token stop) {
  store::ValueInfo info;
  if (HoldsShard(terms_, stored.expected->size)) {
    const std::span<std::byte> room = worker.stored.Resize(stored.expected->size);
    auto read = store_.ReadInto(stored.key, 0, room, stop);
    if (!read.ok()) return AsDataLoss(read.status());
    info = *std::move(read);
    if (info.missing()) return FillIn(stored, wanted);
    findings_.Bytes(room.size());
    TESSERA_RETURN_IF_ERROR(CheckExpected(stored, {info.size, HashOf(Encoded(room))}));
    stored.held = room;
  } else {
    TESSERA_ASSIGN_OR_RETURN(info, Verify(stored, wanted, worker, stop));
    if (info.missing()) return FillIn(stored, wanted);
  }
  stored.expected.reset();
  stored.generation = info.generation;
  return ReadShard(shard, stored, wanted, worker, std::move(stop));
}

absl::Status ChunkReader::ReadShard(const ShardCodec& shard, const StoredChunk& stored,
                                    const Wanted& wanted, Worker& worker, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto maybe, ReadIndex(shard, stored, wanted, worker, stop));
  if (!maybe.has_value()) return FillIn(stored, wanted);
  const FoundIndex& found = *maybe;
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(wanted.part, shard.inner.shape));
  return ForEachCell(io_, cells.size(), MostReadNeed(shard.inner, {.streams = terms_.streams}),
                     worker.Inner(), std::move(stop),
                     [&](int64_t i, Worker& inner_worker, std::stop_token stopped) -> absl::Status {
                       const Dims cell = cells.at(i);
                       Wanted inner =
                           InnerWanted(wanted, CellBox(cell, shard.inner.shape, shard.shape));
                       if (!inner.target.has_value()) TESSERA_RETURN_IF_ERROR(AskForMemory(inner));
                       auto place = found.index.At(CellNumber(cell, shard.grid), found.shard.size);
                       if (!place.ok()) return Named(place.status(), stored, wanted);
                       if (!place->has_value()) return FillIn(stored, inner);
                       return Read(shard.inner, InnerStored(stored, found, **place), inner,
                                   inner_worker, std::move(stopped));
                     });
}

StoredChunk ChunkReader::InnerStored(const StoredChunk& stored, const FoundIndex& found,
                                     const Extent& place) {
  StoredChunk inner{.key = stored.key,
                    .extent = Extent{found.shard.offset + place.offset, place.size},
                    .generation = found.generation};
  if (stored.held.has_value()) inner.held = stored.held->subspan(place.offset, place.size);
  return inner;
}

// A destination may have memory for a chunk inside where it has none for the whole part.
absl::Status ChunkReader::AskForMemory(Wanted& wanted) {
  const Box box = ArrayBox(wanted);
  const std::optional<StridedView> memory = destination_->MemoryFor(box);
  if (!memory.has_value()) return absl::OkStatus();
  TESSERA_RETURN_IF_ERROR(
      CheckRequest(array_.metadata(), box, memory->shape, memory->element_bytes));
  wanted.target = Permuted(*memory, wanted.dimensions);
  return absl::OkStatus();
}

// nullopt when there is no such shard.
absl::StatusOr<std::optional<ChunkReader::FoundIndex>> ChunkReader::ReadIndex(
    const ShardCodec& shard, const StoredChunk& stored, const Wanted& wanted, Worker& worker,
    std::stop_token stop) {
  const uint64_t length = shard.index_bytes();
  const bool at_start = shard.index_location == ShardSpec::IndexLocation::kStart;
  if (stored.extent.has_value() || stored.held.has_value()) {
    const uint64_t size = stored.extent.has_value() ? stored.extent->size : stored.held->size();
    if (size < length) {
      return Named(DataLoss("found ", size, " bytes, too few for the index of ", length), stored,
                   wanted);
    }
  }
  if (stored.held.has_value()) {
    const Encoded bytes = at_start ? stored.held->first(length) : stored.held->last(length);
    auto index = ShardIndex::Decode(shard.index, bytes, worker.scratch);
    if (!index.ok()) return Named(index.status(), stored, wanted);
    return FoundIndex{*std::move(index), stored.extent.value_or(Extent{0, stored.held->size()}),
                      stored.generation};
  }
  store::ByteRange range{0, length};
  if (stored.extent.has_value()) {
    range.offset = stored.extent->offset + (at_start ? 0 : stored.extent->size - length);
  } else if (!at_start) {
    range = store::ByteRange::Last(length);
  }
  const auto read = store_.Read(stored.key, range, std::move(stop));
  if (!read.ok()) return AsDataLoss(read.status());
  TESSERA_RETURN_IF_ERROR(CheckSame(stored, {read->generation, read->size}));
  if (!read->value.has_value()) return std::nullopt;
  findings_.Bytes(length);
  auto index = ShardIndex::Decode(shard.index, read->value->span(), worker.scratch);
  if (!index.ok()) return Named(index.status(), stored, wanted);
  return FoundIndex{*std::move(index), stored.extent.value_or(Extent{0, read->size}),
                    read->generation};
}

}  // namespace tessera::zarr
