#include "tessera/checkpoint/save_tensors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tessera/checkpoint/plan_save_tensors.h"
#include "tessera/checkpoint/save_blocks.h"
#include "tessera/checkpoint/save_progress.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/hash128.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/core/worker_loop.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/write.h"

namespace tessera::checkpoint {
namespace {

using safetensors::ByteSpan;
using safetensors::PlannedFile;

std::string KeyOf(const SaveTarget& target, const PlannedFile& file) {
  return Concat(target.data_prefix, file.name);
}

int64_t Count(size_t count) { return static_cast<int64_t>(count); }

StoredValue ValueOf(std::span<const std::byte> stored) { return {stored.size(), HashOf(stored)}; }

SaveProgress TotalOf(const HeldBlocks& held) {
  return {.bytes_total = held.bytes(), .chunks_total = Count(held.blocks().size())};
}

// Writes blocks and pieces of them into files that are there.
class PartWriter {
 public:
  PartWriter(const SavePlan& plan, const SaveTarget& target, const HeldBlocks& held, IoContext& io)
      : plan_(plan), target_(target), held_(held), io_(io), stored_(held.blocks().size()) {}

  absl::Status Write(size_t i, BlockWorker& worker, const std::stop_token& stop) {
    const HeldBlock& block = held_.blocks()[i];
    return block.whole ? WriteWhole(i, worker, stop) : WritePieces(block, worker, stop);
  }

  std::vector<StoredChunk> TakeStored() {
    std::vector<StoredChunk> whole;
    for (size_t i = 0; i < stored_.size(); ++i) {
      if (held_.blocks()[i].whole) whole.push_back(stored_[i]);
    }
    return whole;
  }

 private:
  absl::Status WriteWhole(size_t i, BlockWorker& worker, const std::stop_token& stop) {
    const HeldBlock& block = held_.blocks()[i];
    const TensorOfPlan place = TensorOf(plan_, block.array);
    std::span<const std::byte> bytes;
    {
      const IoContext::ComputeSlot slot(io_);
      TESSERA_ASSIGN_OR_RETURN(bytes, held_.Encode(block, worker));
      stored_[i] = {Count(block.array), block.cell, ValueOf(bytes)};
    }
    const ByteSpan span = safetensors::SpanOf(block.box, place.tensor.shape, place.tensor.dtype);
    const uint64_t offset = place.file.data_begin() + place.tensor.begin + span.begin;
    return target_.store.WriteAt(KeyOf(target_, place.file), offset, bytes, stop);
  }

  absl::Status WritePieces(const HeldBlock& block, BlockWorker& worker,
                           const std::stop_token& stop) {
    const TensorOfPlan place = TensorOf(plan_, block.array);
    const std::string key = KeyOf(target_, place.file);
    for (const HeldPart* part : block.parts) {
      TESSERA_RETURN_IF_ERROR(safetensors::WriteBox(
          target_.store, key, place.file, place.tensor, held_.PieceOf(block, *part),
          held_.ElementsOf(block, *part), worker.stored, stop));
    }
    return absl::OkStatus();
  }

  const SavePlan& plan_;
  const SaveTarget& target_;
  const HeldBlocks& held_;
  IoContext& io_;
  std::vector<StoredChunk> stored_;  // by block
};

// The memory of the pieces of a block that the rank has.
int64_t HeldBytes(const SavePlan& plan, const HeldBlocks& held, const HeldBlock& block) {
  int64_t bytes = 0;
  for (const HeldPart* part : block.parts) {
    bytes += *NumBytes(plan.arrays[block.array].metadata.dtype, held.PieceOf(block, *part).shape());
  }
  return bytes;
}

// Where a block lies in its file.
ByteSpan SpanOfBlock(const SavePlan& plan, const PlannedBlock& block) {
  const zarr::Metadata& metadata = plan.arrays[block.array].metadata;
  const TensorOfPlan place = TensorOf(plan, block.array);
  const CellRange cells = CellRange::Of(Box::Whole(metadata.shape), metadata.chunk_shape).value();
  const Box box = CellBox(cells.at(block.cell), metadata.chunk_shape, metadata.shape);
  const ByteSpan span = safetensors::SpanOf(box, metadata.shape, metadata.dtype);
  const uint64_t begin = place.file.data_begin() + place.tensor.begin;
  return {begin + span.begin, begin + span.end};
}

absl::StatusOr<StoredValue> ReadBack(store::KvStore& store, const std::string& key,
                                     const ByteSpan& span, Buffer& room,
                                     const std::stop_token& stop) {
  Hasher128 hasher;
  TESSERA_ASSIGN_OR_RETURN(
      const store::ValueInfo info,
      store.ReadPieces(
          key, {.offset = span.begin, .length = span.size()}, room.Resize(kPieceBytes),
          [&](std::span<const std::byte> piece) {
            hasher.Update(piece);
            return absl::OkStatus();
          },
          stop));
  if (info.missing()) return DataLoss(store.Describe(key), ": went away while it was written");
  return StoredValue{span.size(), hasher.Finish()};
}

// Beside a worker's own: a store that does not stream collects the file it is given.
int64_t CollectedBytes(const SavePlan& plan, const store::KvStore& store) {
  uint64_t most = 0;
  if (store.streams()) return 0;
  for (const PlannedFile& file : plan.set->files) most = std::max(most, file.size);
  return static_cast<int64_t>(most);
}

// Where the blocks of each file begin and end among all.
std::vector<std::pair<size_t, size_t>> BlocksOfFiles(const SavePlan& plan,
                                                     std::span<const HeldBlock> blocks) {
  std::vector<std::pair<size_t, size_t>> ranges;
  size_t next = 0;
  for (size_t file = 0; file < plan.set->files.size(); ++file) {
    const size_t first = next;
    while (next < blocks.size() && plan.set->places[blocks[next].array].first == file) ++next;
    ranges.emplace_back(first, next);
  }
  return ranges;
}

}  // namespace

absl::Status StartTensorFiles(const SavePlan& plan, const SaveTarget& target, IoContext& io,
                              std::stop_token stop) {
  const auto& files = plan.set->files;
  return ForEachWithWorkers<BlockWorker>(
      io, target.store.Describe(target.data_prefix), Count(files.size()), 0, std::move(stop),
      [&](int64_t i, BlockWorker&, const std::stop_token& stopped) {
        const PlannedFile& file = files[static_cast<size_t>(i)];
        return safetensors::StartFile(target.store, KeyOf(target, file), file, stopped);
      });
}

absl::StatusOr<std::vector<StoredChunk>> WriteTensorParts(
    const SavePlan& plan, const Snapshot& snapshot, const SaveTarget& target, IoContext& io,
    const std::function<void(const SaveProgress&)>& progress, std::stop_token stop) {
  const HeldBlocks held(plan, snapshot);
  PartWriter writer(plan, target, held, io);
  ProgressTeller teller(progress, TotalOf(held));
  TESSERA_RETURN_IF_ERROR(ForEachWithWorkers<BlockWorker>(
      io, target.store.Describe(target.data_prefix), Count(held.blocks().size()),
      held.worker_bytes(), std::move(stop),
      [&](int64_t i, BlockWorker& worker, const std::stop_token& stopped) -> absl::Status {
        const auto block = static_cast<size_t>(i);
        TESSERA_RETURN_IF_ERROR(writer.Write(block, worker, stopped));
        teller.Add(HeldBytes(plan, held, held.blocks()[block]));
        return absl::OkStatus();
      }));
  return writer.TakeStored();
}

absl::StatusOr<std::vector<StoredChunk>> HashSharedBlocks(const SavePlan& plan,
                                                          const SaveTarget& target, int ranks,
                                                          IoContext& io, std::stop_token stop) {
  std::vector<PlannedBlock> mine;
  const std::vector<PlannedBlock> shared = SharedBlocks(plan);
  for (size_t i = static_cast<size_t>(target.rank); i < shared.size(); i += ranks) {
    mine.push_back(shared[i]);
  }
  std::vector<StoredChunk> stored(mine.size());
  TESSERA_RETURN_IF_ERROR(ForEachWithWorkers<BlockWorker>(
      io, target.store.Describe(target.data_prefix), Count(mine.size()), kPieceBytes,
      std::move(stop),
      [&](int64_t i, BlockWorker& worker, const std::stop_token& stopped) -> absl::Status {
        const PlannedBlock& block = mine[static_cast<size_t>(i)];
        const std::string key = KeyOf(target, TensorOf(plan, block.array).file);
        TESSERA_ASSIGN_OR_RETURN(
            const StoredValue value,
            ReadBack(target.store, key, SpanOfBlock(plan, block), worker.stored, stopped));
        stored[static_cast<size_t>(i)] = {Count(block.array), block.cell, value};
        return absl::OkStatus();
      }));
  return stored;
}

bool IsOneRanks(const SavePlan& plan) {
  for (const PlannedArray& array : plan.arrays) {
    for (const PlannedPart& part : array.parts) {
      if (part.rank != 0) return false;
    }
  }
  return true;
}

absl::StatusOr<std::vector<StoredChunk>> WriteTensorFiles(
    const SavePlan& plan, const Snapshot& snapshot, const SaveTarget& target, IoContext& io,
    const std::function<void(const SaveProgress&)>& progress, std::stop_token stop) {
  const HeldBlocks held(plan, snapshot);
  const std::span<const HeldBlock> blocks = held.blocks();
  const auto ranges = BlocksOfFiles(plan, blocks);
  std::vector<StoredChunk> stored(blocks.size());
  ProgressTeller teller(progress, TotalOf(held));
  const auto produce = [&](size_t file, BlockWorker& worker, Sink sink) -> absl::Status {
    TESSERA_RETURN_IF_ERROR(sink(std::as_bytes(std::span(plan.set->files[file].header_bytes))));
    for (size_t i = ranges[file].first; i < ranges[file].second; ++i) {
      TESSERA_ASSIGN_OR_RETURN(const auto bytes, held.Encode(blocks[i], worker));
      stored[i] = {Count(blocks[i].array), blocks[i].cell, ValueOf(bytes)};
      TESSERA_RETURN_IF_ERROR(sink(bytes));
      teller.Add(HeldBytes(plan, held, blocks[i]));
    }
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(ForEachWithWorkers<BlockWorker>(
      io, target.store.Describe(target.data_prefix), Count(ranges.size()),
      held.worker_bytes() + CollectedBytes(plan, target.store), std::move(stop),
      [&](int64_t i, BlockWorker& worker, const std::stop_token& stopped) {
        const auto file = static_cast<size_t>(i);
        return target.store
            .WritePieces(
                KeyOf(target, plan.set->files[file]),
                [&](Sink sink) { return produce(file, worker, sink); }, std::nullopt, stopped)
            .status();
      }));
  return stored;
}

}  // namespace tessera::checkpoint
