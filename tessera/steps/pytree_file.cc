#include "tessera/steps/pytree_file.h"

#include <map>
#include <utility>
#include <vector>

#include "tessera/checkpoint/plan_save.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/ledger/structure_file.h"
#include "tessera/tree/map.h"

namespace tessera::steps {
namespace {

// The structure with every value in it; those that cannot be kept are added to `lost`.
absl::StatusOr<ledger::SavedTree> SavedTreeOf(const array::ValueTree& tree, std::string& lost) {
  int64_t arrays = 0;
  return tree::MapWithPath(
      tree, [&](const tree::KeyPathView& path, const array::Value& value) -> ledger::SavedLeaf {
        const auto* opaque = std::get_if<array::Opaque>(&value);
        if (opaque == nullptr) return ledger::ArrayLeaf{arrays++};
        if (opaque->scalar.has_value()) return *opaque->scalar;
        lost += Concat(lost.empty() ? "" : ", ", path.ForMessage(), " (", opaque->type_name, ")");
        return ledger::OpaqueLeaf{opaque->type_name};
      });
}

std::map<std::string, int64_t> PlacesOf(const checkpoint::Checkpoint& checkpoint) {
  std::map<std::string, int64_t> places;
  int64_t place = 0;
  for (const checkpoint::CheckpointArray& array : checkpoint.arrays()) {
    places.emplace(array.path, place++);
  }
  return places;
}

// Numbers the arrays as the checkpoint does, and not by the file's list.
absl::StatusOr<ledger::SavedTree> Renumbered(const ledger::SavedTree& tree,
                                             const std::vector<std::string>& paths,
                                             const checkpoint::Checkpoint& checkpoint) {
  const std::map<std::string, int64_t> places = PlacesOf(checkpoint);
  std::string missing;
  TESSERA_ASSIGN_OR_RETURN(ledger::SavedTree renumbered,
                           tree::Map(tree, [&](const ledger::SavedLeaf& leaf) -> ledger::SavedLeaf {
                             const auto* array = std::get_if<ledger::ArrayLeaf>(&leaf);
                             if (array == nullptr) return leaf;
                             const std::string& path = paths[static_cast<size_t>(array->record)];
                             const auto place = places.find(path);
                             if (place != places.end()) return ledger::ArrayLeaf{place->second};
                             missing += Concat(missing.empty() ? "" : ", ", path);
                             return leaf;
                           }));
  if (missing.empty()) return renumbered;
  return FailedPrecondition("the structure file lists arrays that are not in the checkpoint: ",
                            missing);
}

}  // namespace

absl::StatusOr<commit::SideFile> MakeStructureFile(const array::ValueTree& tree,
                                                   const checkpoint::PlanOptions& options,
                                                   const std::string& extras, int ranks) {
  std::string lost;
  TESSERA_ASSIGN_OR_RETURN(const ledger::SavedTree saved, SavedTreeOf(tree, lost));
  if (!lost.empty()) return InvalidArgument("leaves whose value cannot be kept: ", lost);
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::SavePlan plan,
                           checkpoint::PlanSave(tree, options, ranks));
  std::vector<std::string> paths;
  for (const checkpoint::PlannedArray& array : plan.arrays) paths.push_back(array.record.path);
  TESSERA_ASSIGN_OR_RETURN(ledger::PytreeStructure file,
                           ledger::MakePytreeStructure(saved, options.prefix, paths));
  file.version = ledger::WriterVersion();
  file.extras = extras;
  TESSERA_ASSIGN_OR_RETURN(const std::string text, ledger::EncodeStructureFile(file));
  return commit::SideFile{ledger::StructureFileName(options.prefix), Bytes::CopyOf(text)};
}

absl::StatusOr<ledger::SavedTree> ReadSavedTree(const checkpoint::Checkpoint& checkpoint,
                                                std::stop_token stop) {
  if (checkpoint.structure().has_value()) return *checkpoint.structure();
  const std::string name = ledger::StructureFileName(checkpoint.prefix());
  const std::string where = checkpoint.store().Describe(name);
  const auto range = store::ByteRange::AtMost(ledger::kMaxStructureFileBytes);
  TESSERA_ASSIGN_OR_RETURN(const auto read, checkpoint.store().Read(name, range, std::move(stop)));
  if (!read.value.has_value()) {
    return NotFound(where, ": no such file, and the index does not tell the structure either");
  }
  const auto file = ledger::DecodeStructureFile(read.value->text(), checkpoint.prefix());
  if (!file.ok()) return Prefixed(file.status(), where);
  const auto rebuilt = ledger::RebuildTree(*file);
  if (!rebuilt.ok()) return Prefixed(rebuilt.status(), where);
  if (rebuilt->without_treedef.has_value()) {
    LogWarning(where, ": the tree is made of dicts, as its definition cannot be used: ",
               *rebuilt->without_treedef);
  }
  auto tree = Renumbered(rebuilt->tree, file->array_paths, checkpoint);
  return tree.ok() ? std::move(tree) : Prefixed(tree.status(), where);
}

array::Opaque SavedValue(const ledger::SavedLeaf& leaf) {
  if (const auto* scalar = std::get_if<tree::Scalar>(&leaf)) return array::MakeScalar(*scalar);
  array::Opaque value;
  if (const auto* opaque = std::get_if<ledger::OpaqueLeaf>(&leaf)) {
    value.type_name = opaque->type_name;
  }
  return value;
}

}  // namespace tessera::steps
