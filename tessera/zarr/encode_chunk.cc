#include "tessera/zarr/encode_chunk.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/zarr/memory_need.h"
#include "tessera/zarr/shard_index.h"

namespace tessera::zarr {
namespace {

bool HoldsOnlyFrom(int dimension, const ConstStridedView& view, const std::byte* data,
                   std::span<const std::byte> element) {
  if (dimension == static_cast<int>(view.shape.size())) {
    return std::memcmp(data, element.data(), element.size()) == 0;
  }
  for (int64_t i = 0; i < view.shape[dimension]; ++i, data += view.strides[dimension]) {
    if (!HoldsOnlyFrom(dimension + 1, view, data, element)) return false;
  }
  return true;
}

// Lets workers pass in the order of their numbers, so that what they make in parallel is put down
// as one after the other would.
class Turns {
 public:
  // Waits until all before `number` are done.  Cancelled when stopped first.
  absl::Status Await(int64_t number, const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
      MutexLock lock(mutex_);
      changed_.NotifyAll();
    });
    MutexLock lock(mutex_);
    while (turn_ != number) {
      if (stop.stop_requested()) return Cancelled("stopped with chunks left to do");
      changed_.Wait(mutex_);
    }
    return absl::OkStatus();
  }
  void Done() {
    MutexLock lock(mutex_);
    ++turn_;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A shard as it grows: inner chunks one after the other, the index before or behind them.
class ShardBuilder {
 public:
  ShardBuilder(const ShardCodec& shard, std::span<std::byte> room)
      : shard_(shard), room_(room), index_(shard.inner_count()) {
    if (IndexAtStart()) used_ = shard.index_bytes();
  }

  void Append(int64_t chunk, std::span<const std::byte> encoded) {
    TESSERA_CHECK(encoded.size() <= room_.size() - used_);
    std::memcpy(room_.data() + used_, encoded.data(), encoded.size());
    index_.Set(chunk, {used_, encoded.size()});
    used_ += encoded.size();
  }

  absl::StatusOr<std::span<const std::byte>> Finish(codec::Scratch& scratch) {
    TESSERA_ASSIGN_OR_RETURN(const auto index, index_.Encode(shard_.index, scratch));
    const size_t at = IndexAtStart() ? 0 : used_;
    std::memcpy(room_.data() + at, index.data(), index.size());
    return room_.first(std::max(used_, at + index.size()));
  }

 private:
  bool IndexAtStart() const { return shard_.index_location == ShardSpec::IndexLocation::kStart; }

  const ShardCodec& shard_;
  const std::span<std::byte> room_;
  ShardIndex index_;
  size_t used_ = 0;
};

absl::StatusOr<std::span<const std::byte>> EncodeShard(const ShardCodec& shard, int64_t most_bytes,
                                                       const ConstStridedView& source,
                                                       const FillRule& fill, IoContext& io,
                                                       Worker& worker, std::stop_token stop);

// The bytes of a chunk in the memory of `source` or of `worker`.
absl::StatusOr<std::span<const std::byte>> EncodeInMemory(const ChunkCodec& codec,
                                                          const ConstStridedView& source,
                                                          const FillRule& fill, IoContext& io,
                                                          Worker& worker, std::stop_token stop) {
  if (codec.shard != nullptr) {
    return EncodeShard(*codec.shard, codec.most_written_bytes(),
                       Permuted(source, codec.shard->order), fill, io, worker, std::move(stop));
  }
  const IoContext::ComputeSlot slot(io);
  return codec.elements->Encode(source, worker.scratch);
}

absl::StatusOr<std::span<const std::byte>> EncodeShard(const ShardCodec& shard, int64_t most_bytes,
                                                       const ConstStridedView& source,
                                                       const FillRule& fill, IoContext& io,
                                                       Worker& worker, std::stop_token stop) {
  ShardBuilder builder(shard, worker.stored.Resize(most_bytes));
  Turns turns;
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells,
                           CellRange::Of(Box::Whole(shard.shape), shard.inner.shape));
  ConstStridedView first = source;
  first.shape = shard.inner.shape;
  TESSERA_RETURN_IF_ERROR(ForEachCell(
      io, cells.size(), InnerEncodeNeed(shard.inner, first), worker.Inner(), std::move(stop),
      [&](int64_t i, Worker& inner, std::stop_token stopped) -> absl::Status {
        const ConstStridedView chunk =
            SubView(source, CellBox(cells.at(i), shard.inner.shape, shard.shape));
        std::optional<std::span<const std::byte>> encoded;
        if (!fill.omit || !HoldsOnly(chunk, fill.element)) {
          TESSERA_ASSIGN_OR_RETURN(encoded,
                                   EncodeInMemory(shard.inner, chunk, fill, io, inner, stopped));
        }
        TESSERA_RETURN_IF_ERROR(turns.Await(i, stopped));
        if (encoded.has_value()) builder.Append(i, *encoded);
        turns.Done();
        return absl::OkStatus();
      }));
  return builder.Finish(worker.scratch);
}

absl::Status DecodeShard(const ShardCodec& shard, std::span<const std::byte> encoded,
                         std::span<const std::byte> fill, const StridedView& target,
                         codec::Scratch& scratch) {
  const size_t length = shard.index_bytes();
  if (encoded.size() < length) {
    return DataLoss("found ", encoded.size(), " bytes, too few for the index of ", length);
  }
  const bool at_start = shard.index_location == ShardSpec::IndexLocation::kStart;
  TESSERA_ASSIGN_OR_RETURN(
      const ShardIndex index,
      ShardIndex::Decode(shard.index, at_start ? encoded.first(length) : encoded.last(length),
                         scratch));
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells,
                           CellRange::Of(Box::Whole(shard.shape), shard.inner.shape));
  for (int64_t i = 0; i < cells.size(); ++i) {
    const StridedView inner = SubView(target, CellBox(cells.at(i), shard.inner.shape, shard.shape));
    TESSERA_ASSIGN_OR_RETURN(const std::optional<Extent> extent, index.At(i, encoded.size()));
    const absl::Status status =
        extent.has_value() ? DecodeChunk(shard.inner, encoded.subspan(extent->offset, extent->size),
                                         fill, inner, scratch)
                           : FillView(fill, inner);
    if (!status.ok()) return Prefixed(status, Concat("inner chunk ", i));
  }
  return absl::OkStatus();
}

}  // namespace

bool HoldsOnly(const ConstStridedView& view, std::span<const std::byte> element) {
  return HoldsOnlyFrom(0, view, view.data, element);
}

absl::Status EncodeChunk(const ChunkCodec& codec, const ConstStridedView& source,
                         const FillRule& fill, IoContext& io, Worker& worker, std::stop_token stop,
                         Sink sink) {
  if (codec.shard != nullptr) {
    TESSERA_ASSIGN_OR_RETURN(const auto encoded,
                             EncodeInMemory(codec, source, fill, io, worker, std::move(stop)));
    return sink(encoded);
  }
  const IoContext::ComputeSlot slot(io);
  return codec.elements->EncodeTo(source, worker.scratch, sink);
}

absl::Status DecodeChunk(const ChunkCodec& codec, std::span<const std::byte> encoded,
                         std::span<const std::byte> fill, const StridedView& target,
                         codec::Scratch& scratch) {
  if (codec.shard != nullptr) {
    return DecodeShard(*codec.shard, encoded, fill, Permuted(target, codec.shard->order), scratch);
  }
  return codec.elements->Decode(encoded, Box::Whole(codec.shape), target, scratch);
}

absl::Status FillView(std::span<const std::byte> element, const StridedView& target) {
  // One element, seen at every index.
  const ConstStridedView source{element.data(), target.shape, Dims(target.shape.size(), 0),
                                target.element_bytes};
  return CopyStrided(source, target);
}

}  // namespace tessera::zarr
