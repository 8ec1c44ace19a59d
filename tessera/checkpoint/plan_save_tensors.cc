#include "tessera/checkpoint/plan_save_tensors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tessera/array/shard_grid.h"
#include "tessera/checkpoint/plan_save_arrays.h"
#include "tessera/checkpoint/plan_save_writers.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/shard_names.h"
#include "tessera/safetensors/unfolded_store.h"
#include "tessera/tree/walk.h"

namespace tessera::checkpoint {
namespace {

constexpr int kByteBits = 8;

// A part of a block that lies in one shard.
struct Piece {
  Box box;
  std::vector<BlockHolder> holders;  // of the shard
};

// Those of the first piece whose ranks hold the others as well.
std::vector<BlockHolder> HoldersOfAll(const std::vector<Piece>& pieces) {
  std::vector<BlockHolder> common = pieces.front().holders;
  for (const Piece& piece : pieces) {
    std::erase_if(common, [&](const BlockHolder& holder) {
      return std::none_of(piece.holders.begin(), piece.holders.end(),
                          [&](const BlockHolder& other) { return other.rank == holder.rank; });
    });
  }
  return common;
}

// Whether every run of elements that the box has in the file begins and ends with a byte.
bool EndsWithBytes(const Box& box, const Dims& shape, int bits) {
  size_t runs = shape.size();  // dimensions behind this one are within the runs
  while (runs > 0 && box.shape()[runs - 1] == shape[runs - 1]) --runs;
  int64_t stride = bits;  // of an index of the dimension, less whole bytes
  for (size_t d = shape.size(); d-- > 0; stride = stride * (shape[d] % kByteBits) % kByteBits) {
    if (d >= runs) continue;
    const int64_t first = box.origin()[d] % kByteBits * stride;
    const bool in_run = d + 1 == runs;
    const int64_t next =
        box.shape()[d] == 1 && !in_run ? 0 : (in_run ? box.shape()[d] % kByteBits : 1) * stride;
    if (first % kByteBits != 0 || next % kByteBits != 0) return false;
  }
  return true;
}

class TensorPlanner {
 public:
  TensorPlanner(const PlanOptions& options, int ranks)
      : options_(options), ranks_(ranks), balance_(ranks) {}

  absl::StatusOr<SavePlan> Plan(const array::ValueTree& tree) {
    TESSERA_RETURN_IF_ERROR(CheckOptions());
    TESSERA_RETURN_IF_ERROR(TakeLeaves(tree));
    TESSERA_RETURN_IF_ERROR(PlanFiles());
    TESSERA_RETURN_IF_ERROR(CheckConversions(plan_.arrays, options_));
    for (const size_t i : LargestFirst(plan_.arrays)) {
      PlannedArray& array = plan_.arrays[i];
      if (*NumElements(array.metadata.shape) == 0) continue;
      const absl::Status status = AssignArray(array, *sources_[i]);
      if (!status.ok()) return Prefixed(status, NameOf(array));
    }
    plan_.ranks = balance_.loads();
    return std::move(plan_);
  }

 private:
  absl::Status CheckOptions() const {
    if (!options_.prefix.empty()) {
      return InvalidArgument(
          "prefix ", Quoted(options_.prefix),
          ": safetensors have none; the stem of the file names tells sets apart");
    }
    const std::string& stem = std::get<SafetensorsFormat>(options_.format).stem;
    if (safetensors::DeriveBasePrefixFromPath(stem) != stem) {
      return InvalidArgument("stem ", Quoted(stem), ": is the name of a file of the stem ",
                             Quoted(safetensors::DeriveBasePrefixFromPath(stem)));
    }
    const auto* codecs = std::get_if<CodecList>(&options_.codec);
    if (codecs == nullptr || codecs->empty()) return absl::OkStatus();
    return InvalidArgument("safetensors hold plain bytes, but ", codecs->size(),
                           " codecs were asked for");
  }

  absl::Status TakeLeaves(const array::ValueTree& tree) {
    return tree::ForEachLeaf(
        tree, [this](const tree::KeyPathView& path, const array::Value& value) -> absl::Status {
          if (const auto* opaque = std::get_if<array::Opaque>(&value)) {
            plan_.lost.push_back({path.Dotted(), opaque->type_name});
            return absl::OkStatus();
          }
          return AddArray(path.Dotted(), value);
        });
  }

  absl::Status AddArray(std::string key, const array::Value& value) {
    if (key.empty()) {
      return InvalidArgument("a tree that is one array has no key to call the tensor by");
    }
    const ShapeDtype array = *array::DescribeLeaf(value).array;
    PlannedArray planned{.key = std::move(key), .source_dtype = array.dtype};
    planned.metadata.shape = array.shape;
    planned.metadata.dtype = StoredDType(array.dtype, options_);
    plan_.arrays.push_back(std::move(planned));
    sources_.push_back(&value);
    return absl::OkStatus();
  }

  absl::Status PlanFiles() {
    std::vector<safetensors::NewTensor> tensors;
    for (const PlannedArray& array : plan_.arrays) {
      tensors.push_back({array.key, {array.metadata.shape, array.metadata.dtype}});
    }
    TESSERA_ASSIGN_OR_RETURN(
        plan_.set, safetensors::PlanSet(tensors, std::get<SafetensorsFormat>(options_.format)));
    plan_.nbytes = plan_.set->nbytes;
    for (size_t i = 0; i < plan_.arrays.size(); ++i) {
      PlannedArray& array = plan_.arrays[i];
      const DType dtype = array.metadata.dtype;
      const TensorOfPlan place = TensorOf(plan_, i);
      array.record = {.path = safetensors::UnfoldedPath(place.file.name, place.tensor.name),
                      .shape = array.metadata.shape,
                      .dtype = std::string(DTypeName(dtype))};
      array.metadata.chunk_shape = safetensors::BlockShape(array.metadata.shape, dtype);
      array.chunk = {array.metadata.chunk_shape, ChunkReason::kBlock,
                     *NumBytes(dtype, array.metadata.chunk_shape)};
    }
    return absl::OkStatus();
  }

  absl::Status AssignArray(PlannedArray& array, const array::Value& value) {
    TESSERA_ASSIGN_OR_RETURN(const array::ShardGrid* grid, grids_.Of(value));
    const Box whole = Box::Whole(array.metadata.shape);
    if (grid == nullptr) return AddWhole(whole, {.rank = 0}, array);
    std::vector<std::vector<BlockHolder>> holders;
    bool sole = true;
    for (int64_t i = 0; i < grid->num_blocks(); ++i) {
      TESSERA_ASSIGN_OR_RETURN(std::vector<BlockHolder> found, HoldersOf(*grid, i, ranks_));
      sole = sole && found.size() == 1;
      holders.push_back(std::move(found));
    }
    if (sole && InfoOf(array.metadata.dtype).bits >= kByteBits) {
      for (size_t i = 0; i < holders.size(); ++i) {
        TESSERA_RETURN_IF_ERROR(
            AddWhole(grid->BoxOf(static_cast<int64_t>(i)), holders[i].front(), array));
      }
      return absl::OkStatus();
    }
    return AssignBlocks(*grid, holders, array);
  }

  absl::Status AddWhole(const Box& box, const BlockHolder& holder, PlannedArray& array) {
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(box, array.metadata.chunk_shape));
    balance_.Add(box, cells.size(), holder, array);
    return absl::OkStatus();
  }

  // Block by block, as who holds a shard may not hold all of a block, and several may.
  absl::Status AssignBlocks(const array::ShardGrid& grid,
                            const std::vector<std::vector<BlockHolder>>& holders,
                            PlannedArray& array) {
    const zarr::Metadata& metadata = array.metadata;
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells,
                             CellRange::Of(Box::Whole(metadata.shape), metadata.chunk_shape));
    for (int64_t i = 0; i < cells.size(); ++i) {
      const Box cell = CellBox(cells.at(i), metadata.chunk_shape, metadata.shape);
      std::vector<Piece> pieces;
      grid.ForEachBlockIn(cell, [&](int64_t block) {
        pieces.push_back({Intersect(cell, grid.BoxOf(block)), holders[static_cast<size_t>(block)]});
      });
      TESSERA_RETURN_IF_ERROR(AssignBlock(pieces, array));
    }
    return absl::OkStatus();
  }

  absl::Status AssignBlock(const std::vector<Piece>& pieces, PlannedArray& array) {
    const std::vector<BlockHolder> common = HoldersOfAll(pieces);
    std::optional<int> rank;
    if (!common.empty()) rank = balance_.Least(common).rank;
    for (const Piece& piece : pieces) {
      if (!rank.has_value()) {
        TESSERA_RETURN_IF_ERROR(CheckBytes(piece.box, array));
        balance_.Add(piece.box, 1, balance_.Least(piece.holders), array);
        continue;
      }
      const auto holder = std::find_if(piece.holders.begin(), piece.holders.end(),
                                       [&](const BlockHolder& h) { return h.rank == *rank; });
      balance_.Add(piece.box, 1, *holder, array);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckBytes(const Box& box, const PlannedArray& array) {
    const int bits = InfoOf(array.metadata.dtype).bits;
    if (bits >= kByteBits || EndsWithBytes(box, array.metadata.shape, bits)) {
      return absl::OkStatus();
    }
    return Unimplemented("several ranks hold parts of one byte: ", DTypeName(array.metadata.dtype),
                         " elements ", box.Text(),
                         " do not begin and end with a byte of the file; "
                         "gather the array first");
  }

  const PlanOptions& options_;
  const int ranks_;
  WriterBalance balance_;
  GridCache grids_;
  std::vector<const array::Value*> sources_;  // of plan_.arrays
  SavePlan plan_;
};

// Which rank writes of each block of an array; nullopt: several do.
void AddShared(const SavePlan& plan, size_t a, std::vector<PlannedBlock>& shared) {
  const PlannedArray& array = plan.arrays[a];
  const zarr::Metadata& metadata = array.metadata;
  const Dims grid = GridShape(metadata.shape, metadata.chunk_shape);
  std::map<int64_t, std::optional<int>> writers;
  for (const PlannedPart& part : array.parts) {
    const CellRange cells = CellRange::Of(part.box, metadata.chunk_shape).value();
    for (int64_t i = 0; i < cells.size(); ++i) {
      auto [known, fresh] = writers.try_emplace(CellNumber(cells.at(i), grid), part.rank);
      if (!fresh && known->second != part.rank) known->second.reset();
    }
  }
  for (const auto& [cell, rank] : writers) {
    if (!rank.has_value()) shared.push_back({a, cell});
  }
}

}  // namespace

TensorOfPlan TensorOf(const SavePlan& plan, size_t array) {
  const auto& [file, tensor] = plan.set->places[array];
  const safetensors::PlannedFile& planned = plan.set->files[file];
  return {planned, planned.header.tensors[tensor]};
}

std::vector<PlannedBlock> SharedBlocks(const SavePlan& plan) {
  std::vector<PlannedBlock> shared;
  for (size_t a = 0; a < plan.arrays.size(); ++a) {
    const std::vector<PlannedPart>& parts = plan.arrays[a].parts;
    const bool one = std::all_of(parts.begin(), parts.end(), [&](const PlannedPart& part) {
      return part.rank == parts.front().rank;
    });
    if (!one) AddShared(plan, a, shared);
  }
  return shared;
}

absl::StatusOr<SavePlan> PlanTensors(const array::ValueTree& tree, const PlanOptions& options,
                                     int ranks) {
  return TensorPlanner(options, ranks).Plan(tree);
}

}  // namespace tessera::checkpoint
