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

// Chunks along one dimension that the same blocks meet.
struct Segment {
  int64_t first = 0;  // chunks [first, end)
  int64_t end = 0;
  int64_t covered = 0;  // indices of those chunks
};

// The segments of a dimension, ascending; every block meets whole ones.
std::vector<Segment> SegmentsOf(std::span<const int64_t> blocks, int64_t block_size, int64_t size,
                                int64_t chunk) {
  std::vector<int64_t> cuts;
  for (const int64_t block : blocks) {
    cuts.push_back(block * block_size / chunk);
    cuts.push_back(((block + 1) * block_size - 1) / chunk + 1);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Segment> segments;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const int64_t end_index = cuts[i + 1] - 1 == (size - 1) / chunk ? size : cuts[i + 1] * chunk;
    segments.push_back({cuts[i], cuts[i + 1], end_index - cuts[i] * chunk});
  }
  return segments;
}

// The cells of the grid of segments, numbered in C order, that blocks meet: each once.
class MetCells {
 public:
  MetCells(const BlockLayout& layout, const BlockLayout::Process& process, DimsView shape,
           DimsView chunk_shape)
      : shape_(shape), chunk_shape_(chunk_shape), split_(layout.split()) {
    for (size_t d = 0; d < shape.size(); ++d) {
      segments_.push_back(
          SegmentsOf(process.factors[d], shape[d] / split_[d], shape[d], chunk_shape[d]));
    }
    for (const Dims& block : process.blocks) Add(block, 0, 0);
    std::sort(cells_.begin(), cells_.end());
    cells_.erase(std::unique(cells_.begin(), cells_.end()), cells_.end());
  }

  absl::Status AddTo(PartCounts& counts) const {
    for (int64_t cell : cells_) {
      int64_t parts = 1;
      int64_t decoded = 1;
      for (size_t d = segments_.size(); d-- > 0;) {
        const auto along = static_cast<int64_t>(segments_[d].size());
        const Segment& segment = segments_[d][cell % along];
        cell /= along;
        TESSERA_ASSIGN_OR_RETURN(parts, CheckedProduct(parts, segment.end - segment.first));
        TESSERA_ASSIGN_OR_RETURN(decoded, CheckedProduct(decoded, segment.covered));
      }
      counts.parts += parts;
      counts.decoded += decoded;
    }
    return absl::OkStatus();
  }

 private:
  void Add(const Dims& block, size_t d, int64_t cell) {
    if (d == segments_.size()) {
      cells_.push_back(cell);
      return;
    }
    const int64_t block_size = shape_[d] / split_[d];
    const int64_t first = block[d] * block_size / chunk_shape_[d];
    const int64_t last = ((block[d] + 1) * block_size - 1) / chunk_shape_[d];
    const auto& along = segments_[d];
    auto segment =
        std::lower_bound(along.begin(), along.end(), first,
                         [](const Segment& each, int64_t chunk) { return each.first < chunk; });
    for (; segment != along.end() && segment->first <= last; ++segment) {
      Add(block, d + 1, cell * static_cast<int64_t>(along.size()) + (segment - along.begin()));
    }
  }

  DimsView shape_;
  DimsView chunk_shape_;
  const Dims& split_;
  std::vector<std::vector<Segment>> segments_;  // by dimension
  std::vector<int64_t> cells_;
};

absl::StatusOr<PartCounts> CountUneven(const BlockLayout& layout,
                                       const BlockLayout::Process& process, DimsView shape,
                                       DimsView chunk_shape) {
  PartCounts counts;
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return counts;
    TESSERA_ASSIGN_OR_RETURN(elements, CheckedProduct(elements, shape[d] / layout.split()[d]));
  }
  TESSERA_ASSIGN_OR_RETURN(counts.wanted,
                           CheckedProduct(elements, static_cast<int64_t>(process.blocks.size())));
  TESSERA_RETURN_IF_ERROR(MetCells(layout, process, shape, chunk_shape).AddTo(counts));
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
  return CountUneven(layout, process, shape, chunk_shape);
}

}  // namespace tessera::checkpoint
