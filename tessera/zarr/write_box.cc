// Array::Write: from a box to the chunks that it meets; those it covers in part are merged.
#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/encode_chunk.h"
#include "tessera/zarr/memory_need.h"
#include "tessera/zarr/request.h"
#include "tessera/zarr/stored_hash.h"
#include "tessera/zarr/worker.h"

namespace tessera::zarr {
namespace {

// One chunk and what is written to it.
struct ChunkPart {
  std::string key;
  Box cell;                 // the array's indices in the chunk
  Box part;                 // of those, the ones that are written
  ConstStridedView source;  // of the part's shape

  bool covers_cell() const { return part == cell; }
};

class BoxWriter {
 public:
  BoxWriter(const Array& array, IoContext& io, const WriteOptions& options)
      : array_(array),
        io_(io),
        fill_{array.fill(), options.omit_fill_chunks},
        on_stored_(options.on_stored) {
    // Without a fill value a chunk that is not there says nothing about its elements.
    if (!array.metadata().fill_value.has_value()) fill_.omit = false;
  }

  absl::Status WriteChunk(const ChunkPart& chunk, Worker& worker, std::stop_token stop) {
    if (!chunk.covers_cell()) return Merge(chunk, worker, std::move(stop));
    if (chunk.cell.shape() == array_.metadata().chunk_shape) {
      return Store(chunk.key, chunk.source, std::nullopt, worker, std::move(stop));
    }
    const StridedView padded = ChunkMemory(worker);
    TESSERA_RETURN_IF_ERROR(FillView(fill_.element, padded));
    TESSERA_RETURN_IF_ERROR(PutPart(chunk, padded));
    return Store(chunk.key, AsConst(padded), std::nullopt, worker, std::move(stop));
  }

  // Beside the source, for the chunk at hand.
  int64_t Need(const ChunkPart& chunk) const {
    const ChunkCodec& codec = array_.codec();
    if (chunk.covers_cell() && chunk.cell.shape() == codec.shape) {
      return EncodeNeed(codec, array_.store().streams(), chunk.source);
    }
    return MostNeed();
  }
  int64_t MostNeed() const {
    return MostWriteNeed(array_.codec(), array_.store().streams(), array_.metadata().dtype);
  }

  WriteReport Report() const { return {chunks_, omitted_, merged_, bytes_}; }

 private:
  StridedView ChunkMemory(Worker& worker) const {
    const Metadata& metadata = array_.metadata();
    // Validate() saw that the product fits.
    const int64_t bytes = NumBytes(metadata.dtype, metadata.chunk_shape).value();
    return RowMajorView(worker.chunk.Resize(bytes).data(), metadata.chunk_shape,
                        DTypeBytes(metadata.dtype));
  }

  absl::Status PutPart(const ChunkPart& chunk, const StridedView& memory) const {
    return CopyStrided(chunk.source, SubView(memory, RelativeTo(chunk.part, chunk.cell.origin())));
  }

  // Reads, changes and writes a chunk, again if somebody else wrote it in between.
  absl::Status Merge(const ChunkPart& chunk, Worker& worker, std::stop_token stop) {
    const StridedView memory = ChunkMemory(worker);
    while (true) {
      TESSERA_ASSIGN_OR_RETURN(const store::Generation generation,
                               Load(chunk.key, memory, worker, stop));
      TESSERA_RETURN_IF_ERROR(PutPart(chunk, memory));
      const absl::Status status = Store(chunk.key, AsConst(memory), generation, worker, stop);
      if (status.ok()) ++merged_;
      if (!absl::IsAborted(status)) return status;
      if (stop.stop_requested()) return Cancelled(chunk.key, ": stopped while others wrote it");
    }
  }

  // A chunk as it is now; full of the fill value when it is not there.
  absl::StatusOr<store::Generation> Load(const std::string& key, const StridedView& memory,
                                         Worker& worker, std::stop_token stop) {
    const std::span<std::byte> room = worker.stored.Resize(array_.codec().most_encoded_bytes());
    const auto info = array_.store().ReadAll(key, room, std::move(stop));
    if (!info.ok()) return AsDataLoss(info.status());
    if (info->missing()) {
      TESSERA_RETURN_IF_ERROR(FillView(fill_.element, memory));
      return store::Generation::Missing();
    }
    const IoContext::ComputeSlot slot(io_);
    const absl::Status status =
        DecodeChunk(array_.codec(), room.first(info->size), fill_.element, memory, worker.scratch);
    if (!status.ok()) return Prefixed(status, array_.store().Describe(key));
    return info->generation;
  }

  absl::Status Store(const std::string& key, const ConstStridedView& chunk,
                     const std::optional<store::Generation>& if_generation, Worker& worker,
                     std::stop_token stop) {
    if (fill_.omit && HoldsOnly(chunk, fill_.element)) {
      TESSERA_RETURN_IF_ERROR(array_.store().Delete(key, if_generation, std::move(stop)));
      ++omitted_;
      return absl::OkStatus();
    }
    std::optional<StoredHash> hash;
    if (on_stored_ != nullptr) hash.emplace();
    absl::Status encoded;
    const auto written = array_.store().WritePieces(
        key,
        [&](Sink sink) {
          const auto hashed = [&](std::span<const std::byte> data) {
            return hash->Pass(data, kPieceBytes, sink);
          };
          return encoded = EncodeChunk(array_.codec(), chunk, fill_, io_, worker, stop,
                                       hash.has_value() ? Sink(hashed) : sink);
        },
        if_generation, stop);
    if (!encoded.ok()) return Prefixed(encoded, array_.store().Describe(key));
    TESSERA_RETURN_IF_ERROR(written);
    if (hash.has_value()) on_stored_(key, hash->Value());
    ++chunks_;
    bytes_ += static_cast<int64_t>(written->size);
    return absl::OkStatus();
  }

  const Array& array_;
  IoContext& io_;
  FillRule fill_;
  const std::function<void(std::string_view, const StoredValue&)>& on_stored_;
  std::atomic<int64_t> chunks_{0};
  std::atomic<int64_t> omitted_{0};
  std::atomic<int64_t> merged_{0};
  std::atomic<int64_t> bytes_{0};
};

}  // namespace

absl::StatusOr<WriteReport> Array::Write(const Box& box, const ConstStridedView& source,
                                         IoContext& io, const WriteOptions& options,
                                         std::stop_token stop) const {
  TESSERA_RETURN_IF_ERROR(CheckRequest(metadata_, box, source.shape, source.element_bytes));
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(box, metadata_.chunk_shape));
  const auto part_of = [&](int64_t i) -> ChunkPart {
    const Dims cell = cells.at(i);
    const Box cell_box = CellBox(cell, metadata_.chunk_shape, metadata_.shape);
    const Box part = Intersect(cell_box, box);
    return {KeyOf(cell), cell_box, part, SubView(source, RelativeTo(part, box.origin()))};
  };
  BoxWriter writer(*this, io, options);
  const int64_t need =
      MostOver(cells.size(), writer.MostNeed(), [&](int64_t i) { return writer.Need(part_of(i)); });
  TESSERA_RETURN_IF_ERROR(
      ForEachCell(io, store_->Describe(prefix_), cells.size(), need, std::move(stop),
                  [&](int64_t i, Worker& worker, std::stop_token stopped) {
                    return writer.WriteChunk(part_of(i), worker, std::move(stopped));
                  }));
  return writer.Report();
}

}  // namespace tessera::zarr
