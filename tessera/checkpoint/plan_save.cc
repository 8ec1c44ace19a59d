#include "tessera/checkpoint/plan_save.h"

#include <algorithm>
#include <utility>

#include "tessera/array/shard_grid.h"
#include "tessera/checkpoint/plan_save_arrays.h"
#include "tessera/checkpoint/plan_save_tensors.h"
#include "tessera/checkpoint/plan_save_writers.h"
#include "tessera/checkpoint/stored_layout.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/tree/map.h"
#include "tessera/tree/stored_path.h"

namespace tessera::checkpoint {
namespace {

class Planner {
 public:
  Planner(const PlanOptions& options, int ranks)
      : options_(options), ranks_(ranks), balance_(ranks) {
    plan_.prefix = options.prefix;
    plan_.codecs_open = std::holds_alternative<AutoCodec>(options.codec);
  }

  absl::StatusOr<SavePlan> Plan(const array::ValueTree& tree) {
    TESSERA_ASSIGN_OR_RETURN(folders_, PrefixFolders(options_.prefix));
    TESSERA_RETURN_IF_ERROR(TakeLeaves(tree));
    TESSERA_RETURN_IF_ERROR(CheckPaths());
    TESSERA_RETURN_IF_ERROR(CheckDTypes());
    for (size_t i = 0; i < sources_.size(); ++i) {
      const absl::Status status = ChooseChunks(plan_.arrays[i], *sources_[i]);
      if (!status.ok()) return Prefixed(status, NameOf(plan_.arrays[i]));
    }
    TESSERA_RETURN_IF_ERROR(AssignWriters());
    plan_.ranks = balance_.loads();
    return std::move(plan_);
  }

 private:
  absl::Status TakeLeaves(const array::ValueTree& tree) {
    TESSERA_ASSIGN_OR_RETURN(
        ledger::SavedTree saved,
        tree::MapWithPath(tree,
                          [this](const tree::KeyPathView& path, const array::Value& value)
                              -> absl::StatusOr<ledger::SavedLeaf> { return Take(path, value); }));
    if (!SaidByKeys(saved)) plan_.structure = std::move(saved);
    return absl::OkStatus();
  }

  absl::StatusOr<ledger::SavedLeaf> Take(const tree::KeyPathView& path, const array::Value& value) {
    if (const auto* opaque = std::get_if<array::Opaque>(&value)) {
      if (opaque->scalar.has_value()) {
        plan_.keeps_values = true;
        return *opaque->scalar;
      }
      plan_.lost.push_back({path.Dotted(), opaque->type_name});
      return ledger::OpaqueLeaf{opaque->type_name};
    }
    TESSERA_RETURN_IF_ERROR(AddArray(path, value));
    return ledger::ArrayLeaf{static_cast<int64_t>(plan_.arrays.size()) - 1};
  }

  absl::Status AddArray(const tree::KeyPathView& path, const array::Value& value) {
    const ShapeDtype array = *array::DescribeLeaf(value).array;
    PlannedArray planned{.key = path.Dotted(), .source_dtype = array.dtype};
    std::vector<std::string> key = folders_;
    for (std::string& component : path.Components()) key.push_back(std::move(component));
    TESSERA_ASSIGN_OR_RETURN(planned.record.path, tree::EncodeStoredPath(key));
    planned.metadata.shape = array.shape;
    planned.metadata.dtype = StoredDType(array.dtype, options_);
    planned.record.shape = array.shape;
    planned.record.dtype = DTypeName(planned.metadata.dtype);
    if (tree::SplitLegacyPath(planned.record.path) != key) planned.record.key = std::move(key);
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(planned.metadata.dtype, array.shape));
    plan_.nbytes += bytes;
    plan_.arrays.push_back(std::move(planned));
    sources_.push_back(&value);
    return absl::OkStatus();
  }

  // Whether nested dicts made from the keys of the arrays are the tree.
  static bool SaidByKeys(const ledger::SavedTree& tree) {
    if (tree.is_leaf()) return std::holds_alternative<ledger::ArrayLeaf>(tree.leaf());
    std::vector<const ledger::SavedTree*> open{&tree};
    while (!open.empty()) {
      const ledger::SavedTree& node = *open.back();
      open.pop_back();
      if (node.is_leaf()) {
        if (!std::holds_alternative<ledger::ArrayLeaf>(node.leaf())) return false;
        continue;
      }
      if (node.kind() != tree::NodeKind::kDict || node.children().empty()) return false;
      for (const tree::DictKey& key : node.def()->keys) {
        if (key.text() == nullptr) return false;
      }
      for (const ledger::SavedTree& child : node.children()) open.push_back(&child);
    }
    return true;
  }

  absl::Status CheckPaths() const {
    std::vector<std::string> paths, names;
    for (const PlannedArray& array : plan_.arrays) {
      if (array.record.path.empty()) {
        return InvalidArgument(
            "a tree that is one array needs a prefix: without one its files would lie among the "
            "checkpoint's own");
      }
      paths.push_back(array.record.path);
      names.push_back(NameOf(array));
    }
    return tree::CheckUniquePaths(paths, names);
  }

  absl::Status CheckDTypes() const {
    std::string unknown;
    for (const PlannedArray& array : plan_.arrays) {
      const DType stored = array.metadata.dtype;
      if (!InfoOf(stored).zarr2.empty()) continue;
      unknown += Concat(unknown.empty() ? "" : ", ", NameOf(array), " (", DTypeName(stored), ")");
    }
    if (!unknown.empty()) return Unimplemented("zarr v2 has no such dtype: ", unknown);
    return CheckConversions(plan_.arrays, options_);
  }

  absl::Status ChooseChunks(PlannedArray& array, const array::Value& value) {
    TESSERA_ASSIGN_OR_RETURN(const array::ShardGrid* grid, grids_.Of(value));
    const ShapeDtype stored{array.metadata.shape, array.metadata.dtype};
    const Dims shard = grid == nullptr ? stored.shape : grid->BoxOf(0).shape();
    array.chunk = ChooseChunkShape(stored.shape, shard, stored.dtype, options_.chunk_bytes);
    array.metadata = zarr::JaxMetadata(stored, array.chunk.shape);
    if (plan_.codecs_open) {
      array.metadata.codecs.compression.clear();
    } else {
      array.metadata.codecs.compression =
          CodecsFor(std::get<CodecList>(options_.codec), stored.dtype);
    }
    return zarr::Validate(array.metadata);
  }

  absl::Status AssignWriters() {
    for (const size_t i : LargestFirst(plan_.arrays)) {
      PlannedArray& array = plan_.arrays[i];
      if (*NumElements(array.metadata.shape) > 0) {
        const absl::Status status = AssignArray(array, *sources_[i]);
        if (!status.ok()) return Prefixed(status, NameOf(array));
      }
      array.metadata_rank =
          array.parts.empty() ? static_cast<int>(i % ranks_) : array.parts.front().rank;
    }
    return absl::OkStatus();
  }

  absl::Status AssignArray(PlannedArray& array, const array::Value& value) {
    TESSERA_ASSIGN_OR_RETURN(const array::ShardGrid* grid, grids_.Of(value));
    if (grid == nullptr) {
      const BlockHolder first{.rank = 0};
      balance_.Assign(Box::Whole(array.metadata.shape), {&first, 1}, array);
      return absl::OkStatus();
    }
    for (int64_t block = 0; block < grid->num_blocks(); ++block) {
      TESSERA_ASSIGN_OR_RETURN(const std::vector<BlockHolder> holders,
                               HoldersOf(*grid, block, ranks_));
      balance_.Assign(grid->BoxOf(block), holders, array);
    }
    return absl::OkStatus();
  }

  const PlanOptions& options_;
  const int ranks_;
  WriterBalance balance_;
  GridCache grids_;
  std::vector<std::string> folders_;
  std::vector<const array::Value*> sources_;  // of plan_.arrays
  SavePlan plan_;
};

}  // namespace

absl::StatusOr<SavePlan> PlanSave(const array::ValueTree& tree, const PlanOptions& options,
                                  int ranks) {
  TESSERA_CHECK(ranks > 0);
  if (options.chunk_bytes < 1) {
    return InvalidArgument("chunk_bytes is ", options.chunk_bytes, ", which is less than 1");
  }
  if (std::holds_alternative<SafetensorsFormat>(options.format)) {
    return PlanTensors(tree, options, ranks);
  }
  return Planner(options, ranks).Plan(tree);
}

void SetCodecs(SavePlan& plan, const std::vector<DTypeCodec>& choices) {
  for (PlannedArray& array : plan.arrays) {
    const DType dtype = array.metadata.dtype;
    const auto choice = std::find_if(choices.begin(), choices.end(),
                                     [&](const DTypeCodec& c) { return c.dtype == dtype; });
    array.metadata.codecs.compression =
        choice == choices.end() ? JaxCodec() : CodecsFor(choice->codecs, dtype);
  }
  plan.codecs_open = false;
}

}  // namespace tessera::checkpoint
