#include "tessera/checkpoint/plan_save.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/array/shard_grid.h"
#include "tessera/checkpoint/plan_save_writers.h"
#include "tessera/checkpoint/stored_layout.h"
#include "tessera/core/convert.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/tree/map.h"
#include "tessera/tree/stored_path.h"

namespace tessera::checkpoint {
namespace {

// Asks each (sharding, shape) once, as the arrays of a model repeat in both.
class GridCache {
 public:
  absl::StatusOr<const array::ShardGrid*> Get(const mesh::Sharding& sharding, const Dims& shape) {
    auto& of_shape = grids_[shape];
    for (const auto& [known, grid] : of_shape) {
      if (known == sharding) return grid.get();
    }
    TESSERA_ASSIGN_OR_RETURN(array::ShardGrid grid, array::ShardGrid::Make(sharding, shape));
    of_shape.emplace_back(sharding, std::make_unique<array::ShardGrid>(std::move(grid)));
    return of_shape.back().second.get();
  }

 private:
  using Entry = std::pair<mesh::Sharding, std::unique_ptr<array::ShardGrid>>;
  absl::flat_hash_map<Dims, std::vector<Entry>> grids_;
};

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
  static std::string NameOf(const PlannedArray& array) {
    return array.key.empty() ? "the root" : array.key;
  }

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
    planned.metadata.dtype = StoredDType(array.dtype);
    planned.record.shape = array.shape;
    planned.record.dtype = DTypeName(planned.metadata.dtype);
    if (tree::SplitLegacyPath(planned.record.path) != key) planned.record.key = std::move(key);
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(planned.metadata.dtype, array.shape));
    plan_.nbytes += bytes;
    plan_.arrays.push_back(std::move(planned));
    sources_.push_back(&value);
    return absl::OkStatus();
  }

  DType StoredDType(DType dtype) const {
    return IsFloat(dtype) ? options_.float_dtype.value_or(dtype) : dtype;
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
    std::string unknown, unconvertible;
    for (const PlannedArray& array : plan_.arrays) {
      const DType stored = array.metadata.dtype;
      if (InfoOf(stored).zarr2.empty()) {
        unknown += Concat(unknown.empty() ? "" : ", ", NameOf(array), " (", DTypeName(stored), ")");
      } else if (stored != array.source_dtype && !CanConvert(array.source_dtype, stored)) {
        unconvertible += Concat(unconvertible.empty() ? "" : ", ", NameOf(array), " (",
                                DTypeName(array.source_dtype), ")");
      }
    }
    if (!unknown.empty()) return Unimplemented("zarr v2 has no such dtype: ", unknown);
    if (unconvertible.empty()) return absl::OkStatus();
    return InvalidArgument("there is no conversion to ", DTypeName(*options_.float_dtype), " of ",
                           unconvertible);
  }

  // nullptr for an array in host memory, which is one shard.
  absl::StatusOr<const array::ShardGrid*> GridOf(const array::Value& value) {
    const auto* sharded = std::get_if<array::ShardedArray>(&value);
    if (sharded == nullptr) return nullptr;
    return grids_.Get(sharded->sharding(), sharded->shape());
  }

  absl::Status ChooseChunks(PlannedArray& array, const array::Value& value) {
    TESSERA_ASSIGN_OR_RETURN(const array::ShardGrid* grid, GridOf(value));
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
    std::vector<size_t> order(plan_.arrays.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::vector<int64_t> bytes;
    for (const PlannedArray& array : plan_.arrays) {
      bytes.push_back(*NumBytes(array.metadata.dtype, array.metadata.shape));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
    for (const size_t i : order) {
      PlannedArray& array = plan_.arrays[i];
      if (bytes[i] > 0) {
        const absl::Status status = AssignArray(array, *sources_[i]);
        if (!status.ok()) return Prefixed(status, NameOf(array));
      }
      array.metadata_rank =
          array.parts.empty() ? static_cast<int>(i % ranks_) : array.parts.front().rank;
    }
    return absl::OkStatus();
  }

  absl::Status AssignArray(PlannedArray& array, const array::Value& value) {
    TESSERA_ASSIGN_OR_RETURN(const array::ShardGrid* grid, GridOf(value));
    if (grid == nullptr) {
      const BlockHolder first{.rank = 0};
      balance_.Assign(Box::Whole(array.metadata.shape), {&first, 1}, array);
      return absl::OkStatus();
    }
    std::vector<BlockHolder> holders;
    for (int64_t block = 0; block < grid->num_blocks(); ++block) {
      holders.clear();
      for (const array::ShardGrid::Holders& all : grid->HoldersOf(block)) {
        const mesh::Device& device = grid->shards()[all.positions.front()].device;
        if (all.process < 0 || all.process >= ranks_) {
          return InvalidArgument("device ", device.id, " belongs to process ", all.process,
                                 ", which is none of the ", ranks_, " ranks that save");
        }
        holders.push_back({all.process, device.id});
      }
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
