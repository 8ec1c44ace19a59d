// Array::Read and ReadParts: from boxes to the chunks that they meet.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/chunk_reader.h"
#include "tessera/zarr/memory_need.h"
#include "tessera/zarr/read_method.h"
#include "tessera/zarr/request.h"
#include "tessera/zarr/wanted.h"
#include "tessera/zarr/worker.h"

namespace tessera::zarr {
namespace {

// A part of one chunk and the memory for it.
struct Part {
  Dims cell;
  Wanted wanted;
};

// The cell that a part lies in.  InvalidArgument when it does not lie in one.
absl::StatusOr<Dims> CellOf(const Metadata& metadata, const Box& part) {
  TESSERA_RETURN_IF_ERROR(CheckRequest(metadata, part, part.shape(), DTypeBytes(metadata.dtype)));
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(part, metadata.chunk_shape));
  if (cells.size() == 1) return cells.at(0);
  return InvalidArgument("the part ", part.Text(), " lies in ", cells.size(),
                         " chunks, expected one");
}

// The parts that are not empty, with the destination's memory where it has some.
absl::StatusOr<std::vector<Part>> PartsOf(const Metadata& metadata, std::span<const Box> boxes,
                                          Destination& destination) {
  std::vector<Part> parts;
  absl::flat_hash_set<Dims> cells;
  for (const Box& box : boxes) {
    if (box.empty()) continue;
    TESSERA_ASSIGN_OR_RETURN(const Dims cell, CellOf(metadata, box));
    if (!cells.insert(cell).second) {
      return InvalidArgument("the part ", box.Text(), " is the second one of its chunk");
    }
    const std::optional<StridedView> memory = destination.MemoryFor(box);
    if (memory.has_value()) {
      TESSERA_RETURN_IF_ERROR(CheckRequest(metadata, box, memory->shape, memory->element_bytes));
    }
    parts.push_back({cell, InnerWanted(WantedOf(box, memory),
                                       CellBox(cell, metadata.chunk_shape, metadata.shape))});
  }
  return parts;
}

// What the manifest says of a chunk.
StoredChunk StoredOf(const ReadOptions& options, std::string key) {
  StoredChunk stored{.key = std::move(key)};
  if (options.expected != nullptr) stored.expected = options.expected(stored.key);
  return stored;
}

}  // namespace

absl::StatusOr<ReadReport> Array::Read(const Box& box, const StridedView& target, IoContext& io,
                                       std::stop_token stop) const {
  TESSERA_RETURN_IF_ERROR(CheckRequest(metadata_, box, target.shape, target.element_bytes));
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(box, metadata_.chunk_shape));
  const Wanted all = WantedOf(box, target);
  const auto wanted_of = [&](int64_t i) {
    return InnerWanted(all, CellBox(cells.at(i), metadata_.chunk_shape, metadata_.shape));
  };
  const ReadTerms terms{.streams = store_->streams()};
  const int64_t need = MostOver(cells.size(), MostReadNeed(codec_, terms), [&](int64_t i) {
    return ReadNeed(codec_, terms, {}, wanted_of(i));
  });
  ChunkReader reader(*this, io, terms, nullptr);
  TESSERA_RETURN_IF_ERROR(
      ForEachCell(io, store_->Describe(prefix_), cells.size(), need, std::move(stop),
                  [&](int64_t i, Worker& worker, std::stop_token stopped) {
                    return reader.Read(codec_, {.key = KeyOf(cells.at(i))}, wanted_of(i), worker,
                                       std::move(stopped));
                  }));
  return std::move(reader).Report();
}

absl::StatusOr<ReadReport> Array::ReadParts(std::span<const Box> parts, Destination& destination,
                                            IoContext& io, const ReadOptions& options,
                                            std::stop_token stop) const {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Part> chunks, PartsOf(metadata_, parts, destination));
  // A shard that is kept may take a share of the budget, so that some others can be read as well.
  const ReadTerms terms{.streams = store_->streams(),
                        .verify = options.expected != nullptr,
                        .most_held = io.budget().limit() / 4};
  int64_t need = 0;
  for (const Part& part : chunks) {
    const StoredChunk stored = StoredOf(options, KeyOf(part.cell));
    if (terms.verify && !stored.expected.has_value()) continue;  // must not be there
    need = std::max(need, ReadNeed(codec_, terms, stored, part.wanted));
  }
  ChunkReader reader(*this, io, terms, &destination);
  TESSERA_RETURN_IF_ERROR(ForEachCell(
      io, store_->Describe(prefix_), static_cast<int64_t>(chunks.size()), need, std::move(stop),
      [&](int64_t i, Worker& worker, std::stop_token stopped) {
        const StoredChunk stored = StoredOf(options, KeyOf(chunks[i].cell));
        if (terms.verify && !stored.expected.has_value()) {
          return reader.FillInUnlessThere(stored, chunks[i].wanted, std::move(stopped));
        }
        return reader.Read(codec_, stored, chunks[i].wanted, worker, std::move(stopped));
      }));
  return std::move(reader).Report();
}

}  // namespace tessera::zarr
