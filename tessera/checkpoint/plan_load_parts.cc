#include "tessera/checkpoint/plan_load_parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

// The hull of what the boxes have of a chunk; nullopt: nothing.
std::optional<Box> PartOf(const Box& chunk, std::span<const Box> boxes) {
  std::optional<Box> part;
  for (const Box& box : boxes) {
    const Box common = Intersect(chunk, box);
    if (common.empty()) continue;
    part = part.has_value() ? Cover(*part, common) : common;
    if (part->shape() == chunk.shape()) break;
  }
  return part;
}

// The chunks that intervals [b * size, (b + 1) * size) meet along one dimension.
struct DimensionCounts {
  int64_t chunks = 0;
  int64_t covered = 0;  // indices of those chunks
};

DimensionCounts CountDimension(std::span<const int64_t> blocks, int64_t block_size, int64_t size,
                               int64_t chunk) {
  DimensionCounts counts;
  int64_t next = 0;  // the first chunk that is not counted yet
  for (const int64_t block : blocks) {
    const int64_t first = std::max(next, block * block_size / chunk);
    const int64_t end = ((block + 1) * block_size - 1) / chunk + 1;
    if (end <= first) continue;
    counts.chunks += end - first;
    // The last chunk may reach past the array, and past what 63 bits hold.
    const int64_t end_index = end - 1 == (size - 1) / chunk ? size : end * chunk;
    counts.covered += end_index - first * chunk;
    next = end;
  }
  return counts;
}

absl::StatusOr<PartCounts> CountProduct(const BlockLayout& layout,
                                        const BlockLayout::Process& process, DimsView shape,
                                        DimsView chunk_shape) {
  PartCounts counts{1, 1, 1};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return PartCounts{};
    const int64_t block_size = shape[d] / layout.split()[d];
    const auto& blocks = process.factors[d];
    const DimensionCounts here = CountDimension(blocks, block_size, shape[d], chunk_shape[d]);
    TESSERA_ASSIGN_OR_RETURN(counts.parts, CheckedProduct(counts.parts, here.chunks));
    TESSERA_ASSIGN_OR_RETURN(counts.decoded, CheckedProduct(counts.decoded, here.covered));
    TESSERA_ASSIGN_OR_RETURN(
        counts.wanted,
        CheckedProduct(counts.wanted, static_cast<int64_t>(blocks.size()) * block_size));
  }
  return counts;
}

absl::StatusOr<PartCounts> CountOneByOne(const BlockLayout& layout,
                                         const BlockLayout::Process& process, DimsView shape,
                                         DimsView chunk_shape) {
  PartCounts counts;
  std::vector<Box> boxes;
  Dims block_shape(shape.begin(), shape.end());
  for (size_t d = 0; d < shape.size(); ++d) block_shape[d] /= layout.split()[d];
  for (Dims origin : process.blocks) {
    for (size_t d = 0; d < shape.size(); ++d) origin[d] *= block_shape[d];
    TESSERA_ASSIGN_OR_RETURN(Box box, Box::Make(origin, block_shape));
    TESSERA_ASSIGN_OR_RETURN(const int64_t elements, box.num_elements());
    counts.wanted += elements;
    boxes.push_back(std::move(box));
  }
  TESSERA_RETURN_IF_ERROR(ForEachPart(shape, chunk_shape, boxes, [&](const Box& part) {
    Dims cell(part.origin());
    for (size_t d = 0; d < cell.size(); ++d) cell[d] /= chunk_shape[d];
    ++counts.parts;
    const auto elements = CellBox(cell, chunk_shape, shape).num_elements();
    if (elements.ok()) counts.decoded += *elements;
    return elements.status();
  }));
  return counts;
}

}  // namespace

absl::Status ForEachPart(DimsView shape, DimsView chunk_shape, std::span<const Box> boxes,
                         absl::FunctionRef<absl::Status(const Box& part)> body) {
  if (boxes.empty()) return absl::OkStatus();
  Box all = boxes.front();
  for (const Box& box : boxes) all = Cover(all, box);
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(all, chunk_shape));
  for (int64_t i = 0; i < cells.size(); ++i) {
    const auto part = PartOf(CellBox(cells.at(i), chunk_shape, shape), boxes);
    if (part.has_value()) TESSERA_RETURN_IF_ERROR(body(*part));
  }
  return absl::OkStatus();
}

absl::StatusOr<BlockLayout> BlockLayout::Make(const mesh::Sharding& sharding, int rank) {
  BlockLayout layout;
  TESSERA_ASSIGN_OR_RETURN(layout.split_, mesh::SplitFactors(sharding, rank));
  // An array that has one element per block: the origin of a shard is the number of its block.
  TESSERA_ASSIGN_OR_RETURN(const auto shards, mesh::PlaceShards(sharding, layout.split_));
  std::map<int, Process> processes;
  for (const mesh::DeviceShard& shard : shards) {
    Process& process = processes[shard.device.process];
    process.process = shard.device.process;
    ++process.devices;
    process.blocks.push_back(shard.box.origin());
  }
  for (auto& [number, process] : processes) {
    std::sort(process.blocks.begin(), process.blocks.end());
    process.blocks.erase(std::unique(process.blocks.begin(), process.blocks.end()),
                         process.blocks.end());
    size_t product = 1;
    for (int d = 0; d < rank; ++d) {
      std::vector<int64_t> along;
      for (const Dims& block : process.blocks) along.push_back(block[d]);
      std::sort(along.begin(), along.end());
      along.erase(std::unique(along.begin(), along.end()), along.end());
      product *= along.size();
      process.factors.push_back(std::move(along));
    }
    process.is_product = product == process.blocks.size();
    layout.processes_.push_back(std::move(process));
  }
  return layout;
}

absl::StatusOr<PartCounts> CountParts(const BlockLayout& layout,
                                      const BlockLayout::Process& process, DimsView shape,
                                      DimsView chunk_shape) {
  if (process.is_product) return CountProduct(layout, process, shape, chunk_shape);
  return CountOneByOne(layout, process, shape, chunk_shape);
}

}  // namespace tessera::checkpoint
