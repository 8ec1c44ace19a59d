// Array::Read: from a box to the chunks that it meets, and from each chunk to its part of the box.
#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/chunk_grid.h"
#include "tessera/zarr/encode_chunk.h"
#include "tessera/zarr/memory_need.h"
#include "tessera/zarr/request.h"
#include "tessera/zarr/shard_index.h"
#include "tessera/zarr/worker.h"

namespace tessera::zarr {
namespace {

// Where a chunk's bytes lie: a whole value, or an extent of one.
struct StoredChunk {
  std::string key;
  std::optional<Extent> extent = {};  // nullopt: the whole value
  store::Generation generation = {};  // of the value whose index told the extent
};

// The part of a chunk that is wanted.
struct Wanted {
  Box part;            // in the chunk's own indices
  StridedView target;  // of the part's shape
  Dims origin;         // the array index of the chunk's first element, by the chunk's dimensions
  Dims dimensions;     // the array's dimension that each of the chunk's is
};

// The same, in the dimensions of a shard.
Wanted Turned(const Wanted& wanted, DimsView order) {
  Wanted permuted{Permuted(wanted.part, order), Permuted(wanted.target, order), wanted.origin,
                  wanted.dimensions};
  for (size_t i = 0; i < order.size(); ++i) {
    permuted.origin[i] = wanted.origin[order[i]];
    permuted.dimensions[i] = wanted.dimensions[order[i]];
  }
  return permuted;
}

// What is wanted of one of the chunks inside.
Wanted InnerWanted(const Wanted& wanted, const Box& cell) {
  const Box part = Intersect(wanted.part, cell);
  Wanted inner{RelativeTo(part, cell.origin()),
               SubView(wanted.target, RelativeTo(part, wanted.part.origin())), wanted.origin,
               wanted.dimensions};
  for (int i = 0; i < cell.rank(); ++i) inner.origin[i] += cell.begin(i);
  return inner;
}

Box ArrayBox(const Wanted& wanted) {
  Dims origin(wanted.origin.size());
  Dims shape(wanted.origin.size());
  for (size_t i = 0; i < origin.size(); ++i) {
    origin[wanted.dimensions[i]] = wanted.origin[i] + wanted.part.begin(static_cast<int>(i));
    shape[wanted.dimensions[i]] = wanted.part.shape()[i];
  }
  absl::StatusOr<Box> box = Box::Make(origin, shape);
  TESSERA_CHECK(box.ok());
  return *std::move(box);
}

// Counts and absent chunks, gathered from all workers.
class Findings {
 public:
  void Read(uint64_t bytes) {
    ++chunks_;
    bytes_read_ += static_cast<int64_t>(bytes);
  }
  void ReadIndex(uint64_t bytes) { bytes_read_ += static_cast<int64_t>(bytes); }
  void Absent(const std::string& key, const Wanted& wanted) {
    MutexLock lock(mutex_);
    if (absent_chunks_++ < ReadReport::kMostAbsentListed)
      absent_.push_back({key, ArrayBox(wanted)});
  }
  ReadReport Report() && {
    MutexLock lock(mutex_);
    std::sort(absent_.begin(), absent_.end(), [](const AbsentChunk& a, const AbsentChunk& b) {
      return a.box.origin() < b.box.origin();
    });
    return {chunks_, absent_chunks_, bytes_read_, std::move(absent_)};
  }

 private:
  std::atomic<int64_t> chunks_{0};
  std::atomic<int64_t> bytes_read_{0};
  Mutex mutex_;
  int64_t absent_chunks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<AbsentChunk> absent_ ABSL_GUARDED_BY(mutex_);
};

class BoxReader {
 public:
  BoxReader(const Array& array, IoContext& io) : array_(array), store_(array.store()), io_(io) {}

  absl::Status ReadChunk(const ChunkCodec& codec, const StoredChunk& stored, const Wanted& wanted,
                         Worker& worker, std::stop_token stop) {
    if (codec.shard != nullptr) {
      return ReadShard(*codec.shard, stored, Turned(wanted, codec.shard->order), worker,
                       std::move(stop));
    }
    if (codec.elements->plain()) return ReadPlain(*codec.elements, stored, wanted, worker, stop);
    return ReadEncoded(*codec.elements, stored, wanted, worker, std::move(stop));
  }

  ReadReport Report() && { return std::move(findings_).Report(); }

 private:
  absl::Status FillIn(const StoredChunk& stored, const Wanted& wanted) {
    findings_.Absent(stored.key, wanted);
    return FillView(array_.fill(), wanted.target);
  }

  absl::Status Named(const absl::Status& status, const StoredChunk& stored, const Wanted& wanted) {
    if (status.ok()) return status;
    const std::string place = store_.Describe(stored.key);
    if (!stored.extent.has_value()) return Prefixed(status, place);
    return Prefixed(status, Concat(place, ": inner chunk at ", ArrayBox(wanted).Text()));
  }

  // A writer may put another shard in the place of the one whose index was read.
  absl::Status CheckSame(const StoredChunk& stored, const store::ValueInfo& info) {
    if (!stored.extent.has_value() || info.generation == stored.generation) return absl::OkStatus();
    return Aborted(store_.Describe(stored.key), ": the shard was replaced while it was read");
  }

  // Only the bytes from the first to the last element wanted, into the target itself where both
  // are one run.
  absl::Status ReadPlain(const codec::ArrayCodec& codec, const StoredChunk& stored,
                         const Wanted& wanted, Worker& worker, const std::stop_token& stop) {
    const uint64_t chunk_bytes = codec.decoded_bytes();
    if (stored.extent.has_value() && stored.extent->size != chunk_bytes) {
      return Named(DataLoss("found ", stored.extent->size, " bytes, expected ", chunk_bytes),
                   stored, wanted);
    }
    const PlainRun run = PlainRunOf(codec, wanted.part, wanted.target);
    const std::span<std::byte> bytes =
        run.direct ? std::span(wanted.target.data, run.length) : worker.stored.Resize(run.length);
    const uint64_t base = stored.extent.has_value() ? stored.extent->offset : 0;
    const auto info = store_.ReadInto(stored.key, base + run.offset, bytes, stop);
    if (!info.ok()) return AsDataLoss(info.status());
    TESSERA_RETURN_IF_ERROR(CheckSame(stored, *info));
    if (info->missing()) return FillIn(stored, wanted);
    if (!stored.extent.has_value() && info->size != chunk_bytes) {
      return Named(DataLoss("found ", info->size, " bytes, expected ", chunk_bytes), stored,
                   wanted);
    }
    findings_.Read(run.length);
    if (run.direct) return absl::OkStatus();
    const ConstStridedView source{bytes.data(), wanted.part.shape(), run.strides,
                                  wanted.target.element_bytes};
    return CopyStrided(source, wanted.target);
  }

  absl::Status ReadEncoded(const codec::ArrayCodec& codec, const StoredChunk& stored,
                           const Wanted& wanted, Worker& worker, std::stop_token stop) {
    if (ReadsInPieces(codec)) {
      if (auto decoder = codec.StartDecode(wanted.part, wanted.target, worker.scratch)) {
        return ReadInPieces(codec, *decoder, stored, wanted, worker, std::move(stop));
      }
    }
    TESSERA_ASSIGN_OR_RETURN(const auto encoded,
                             Fetch(codec, stored, wanted, worker, std::move(stop)));
    if (!encoded.has_value()) return FillIn(stored, wanted);
    findings_.Read(encoded->size());
    const IoContext::ComputeSlot slot(io_);
    return Named(codec.Decode(*encoded, wanted.part, wanted.target, worker.scratch), stored,
                 wanted);
  }

  // Decodes while reading, so that what was read is still in the cache.
  absl::Status ReadInPieces(const codec::ArrayCodec& codec, codec::PieceDecoder& decoder,
                            const StoredChunk& stored, const Wanted& wanted, Worker& worker,
                            std::stop_token stop) {
    TESSERA_ASSIGN_OR_RETURN(const store::ByteRange range, RangeOf(codec, stored, wanted));
    uint64_t bytes = 0;
    absl::Status decoded;
    // A piece must not wait for a core once it was read: it would have left the cache until then.
    std::optional<IoContext::ComputeSlot> all;
    if (store_.streams()) all.emplace(io_);
    const auto info = store_.ReadPieces(
        stored.key, range, worker.stored.Resize(kPieceBytes),
        [&](std::span<const std::byte> piece) {
          std::optional<IoContext::ComputeSlot> slot;
          if (!all.has_value()) slot.emplace(io_);
          bytes += piece.size();
          return decoded = decoder.Feed(piece);
        },
        std::move(stop));
    all.reset();
    if (!decoded.ok()) return Named(decoded, stored, wanted);
    if (!info.ok()) return AsDataLoss(info.status());
    TESSERA_RETURN_IF_ERROR(CheckSame(stored, *info));
    if (info->missing()) return FillIn(stored, wanted);
    findings_.Read(bytes);
    const IoContext::ComputeSlot slot(io_);
    return Named(decoder.Finish(), stored, wanted);
  }

  // Where the bytes of a chunk lie, which are not more than they can be.
  absl::StatusOr<store::ByteRange> RangeOf(const codec::ArrayCodec& codec,
                                           const StoredChunk& stored, const Wanted& wanted) {
    const uint64_t most = codec.most_encoded_bytes();
    if (!stored.extent.has_value()) return store::ByteRange::AtMost(most);
    if (stored.extent->size <= most) {
      return store::ByteRange{stored.extent->offset, stored.extent->size};
    }
    return Named(DataLoss("found ", stored.extent->size, " bytes, expected ", most, " at most"),
                 stored, wanted);
  }

  // The bytes of a chunk in the worker's memory; nullopt when there are none.
  absl::StatusOr<std::optional<std::span<const std::byte>>> Fetch(const codec::ArrayCodec& codec,
                                                                  const StoredChunk& stored,
                                                                  const Wanted& wanted,
                                                                  Worker& worker,
                                                                  std::stop_token stop) {
    TESSERA_ASSIGN_OR_RETURN(const store::ByteRange range, RangeOf(codec, stored, wanted));
    const std::span<std::byte> room =
        worker.stored.Resize(range.length.value_or(codec.most_encoded_bytes()));
    const auto info = stored.extent.has_value()
                          ? store_.ReadInto(stored.key, stored.extent->offset, room, stop)
                          : store_.ReadAll(stored.key, room, stop);
    if (!info.ok()) return AsDataLoss(info.status());
    TESSERA_RETURN_IF_ERROR(CheckSame(stored, *info));
    if (info->missing()) return std::nullopt;
    return room.first(stored.extent.has_value() ? room.size() : info->size);
  }

  absl::Status ReadShard(const ShardCodec& shard, const StoredChunk& stored, const Wanted& wanted,
                         Worker& worker, std::stop_token stop) {
    TESSERA_ASSIGN_OR_RETURN(const auto maybe, ReadIndex(shard, stored, wanted, worker, stop));
    if (!maybe.has_value()) return FillIn(stored, wanted);
    const FoundIndex& found = *maybe;
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(wanted.part, shard.inner.shape));
    return ForEachCell(
        io_, cells.size(), MostReadNeed(shard.inner, store_.streams()), worker.Inner(),
        std::move(stop),
        [&](int64_t i, Worker& inner_worker, std::stop_token stopped) -> absl::Status {
          const Dims cell = cells.at(i);
          const Wanted inner = InnerWanted(wanted, CellBox(cell, shard.inner.shape, shard.shape));
          auto place = found.index.At(CellNumber(cell, shard.grid), found.shard.size);
          if (!place.ok()) return Named(place.status(), stored, wanted);
          if (!place->has_value()) return FillIn(stored, inner);
          (*place)->offset += found.shard.offset;
          return ReadChunk(shard.inner, {stored.key, *place, found.generation}, inner, inner_worker,
                           std::move(stopped));
        });
  }

  struct FoundIndex {
    ShardIndex index;
    Extent shard;  // where the shard lies in its value
    store::Generation generation;
  };

  // nullopt when there is no such shard.
  absl::StatusOr<std::optional<FoundIndex>> ReadIndex(const ShardCodec& shard,
                                                      const StoredChunk& stored,
                                                      const Wanted& wanted, Worker& worker,
                                                      std::stop_token stop) {
    const uint64_t length = shard.index_bytes();
    if (stored.extent.has_value() && stored.extent->size < length) {
      return Named(
          DataLoss("found ", stored.extent->size, " bytes, too few for the index of ", length),
          stored, wanted);
    }
    const bool at_start = shard.index_location == ShardSpec::IndexLocation::kStart;
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
    findings_.ReadIndex(length);
    auto index = ShardIndex::Decode(shard.index, read->value->span(), worker.scratch);
    if (!index.ok()) return Named(index.status(), stored, wanted);
    return FoundIndex{*std::move(index), stored.extent.value_or(Extent{0, read->size}),
                      read->generation};
  }

  const Array& array_;
  store::KvStore& store_;
  IoContext& io_;
  Findings findings_;
};

}  // namespace

absl::StatusOr<ReadReport> Array::Read(const Box& box, const StridedView& target, IoContext& io,
                                       std::stop_token stop) const {
  TESSERA_RETURN_IF_ERROR(CheckRequest(metadata_, box, target.shape, target.element_bytes));
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(box, metadata_.chunk_shape));
  Wanted all{box, target, Dims(box.rank(), 0), Dims(box.rank())};
  for (int i = 0; i < box.rank(); ++i) all.dimensions[i] = i;
  const auto wanted_of = [&](int64_t i) {
    return InnerWanted(all, CellBox(cells.at(i), metadata_.chunk_shape, metadata_.shape));
  };
  const int64_t need =
      MostOver(cells.size(), MostReadNeed(codec_, store_->streams()), [&](int64_t i) {
        const Wanted wanted = wanted_of(i);
        return ReadNeed(codec_, store_->streams(), wanted.part, wanted.target);
      });
  BoxReader reader(*this, io);
  TESSERA_RETURN_IF_ERROR(
      ForEachCell(io, store_->Describe(prefix_), cells.size(), need, std::move(stop),
                  [&](int64_t i, Worker& worker, std::stop_token stopped) {
                    return reader.ReadChunk(codec_, {KeyOf(cells.at(i))}, wanted_of(i), worker,
                                            std::move(stopped));
                  }));
  return std::move(reader).Report();
}

}  // namespace tessera::zarr
