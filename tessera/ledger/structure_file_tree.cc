#include <charconv>
#include <map>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/pickle_base64.h"
#include "tessera/ledger/pickle_scalar.h"
#include "tessera/ledger/pickle_tree_def.h"
#include "tessera/ledger/structure_file.h"
#include "tessera/tree/flat_map.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/leaf_key_paths.h"
#include "tessera/tree/unique_names.h"

namespace tessera::ledger {
namespace {

using tree::KeyEntryKind;
using tree::KeyEntryRef;
using tree::KeyPathView;
using tree::NodeDef;
using tree::NodeDefPtr;
using tree::Structure;

// The part of a dotted key after the prefix.
std::string_view WithoutPrefix(std::string_view key, std::string_view prefix) {
  if (prefix.empty() || !key.starts_with(prefix)) return key;
  if (key.size() == prefix.size()) return {};
  return key[prefix.size()] == '.' ? key.substr(prefix.size() + 1) : key;
}

// Gives fields the names that the leaves' keys have in their places.  A visitor of
// tree_internal::Walk.
class FieldNamer {
 public:
  FieldNamer(std::span<const std::string> keys, std::string_view prefix)
      : keys_(keys), prefix_(prefix) {}

  absl::Status Leaf(const KeyPathView& path, const Structure&) {
    const std::string& key = keys_[next_++];
    builder_.Add(Structure(tree::LeafMark{}));
    std::string_view rest = WithoutPrefix(key, prefix_);
    for (size_t i = 0; i < path.size(); ++i) {
      const bool separated = i == 0 || rest.starts_with('.');
      if (i > 0 && separated) rest.remove_prefix(1);
      if (!separated || !Follow(*open_[i], path[i], rest)) return Mismatch(key, path);
    }
    return rest.empty() ? absl::OkStatus() : Mismatch(key, path);
  }
  absl::Status Enter(const KeyPathView&, const Structure& node) {
    if (node.is_container()) open_.push_back(node.def().get());
    return absl::OkStatus();
  }
  void Leave(const Structure& node) {
    if (node.is_none()) return builder_.Add(Structure::None());
    open_.pop_back();
    builder_.Close(Renamed(node.def()));
  }

  absl::StatusOr<Structure> Finish() {
    TESSERA_RETURN_IF_ERROR(status_);
    return builder_.Finish();
  }

 private:
  static absl::Status Mismatch(std::string_view key, const KeyPathView& path) {
    return FailedPrecondition("the leaf ", Quoted(key), " stands at ", path.ForMessage(),
                              " in the tree definition");
  }

  // Takes one entry off `rest`; false when it begins with another.
  bool Follow(const NodeDef& container, const KeyEntryRef& entry, std::string_view& rest) {
    std::string text;
    if (entry.kind == KeyEntryKind::kField) {
      text = rest.substr(0, rest.find('.'));
      if (!NameField(container, *entry.key->text(), text)) return false;
    } else {
      entry.AppendText(text);
      if (!rest.starts_with(text)) return false;
    }
    rest.remove_prefix(text.size());
    return true;
  }

  // False when the field has another name already.  `position` is the one that it was read with.
  bool NameField(const NodeDef& container, const std::string& position, const std::string& name) {
    std::map<std::string, std::string>& names = names_[&container];
    const auto [found, added] = names.emplace(position, name);
    return added || found->second == name;
  }

  NodeDefPtr Renamed(const NodeDefPtr& def) {
    const auto found = names_.find(def.get());
    if (found == names_.end()) return def;
    std::vector<std::string> names;
    for (const tree::DictKey& key : def->keys) {
      const auto name = found->second.find(*key.text());
      names.push_back(name == found->second.end() ? *key.text() : name->second);
    }
    auto renamed = tree::NamedDef(*def, std::move(names));
    if (renamed.ok()) return *std::move(renamed);
    if (status_.ok()) status_ = renamed.status();
    return def;
  }

  std::span<const std::string> keys_;
  std::string_view prefix_;
  size_t next_ = 0;
  std::vector<const NodeDef*> open_;
  std::map<const NodeDef*, std::map<std::string, std::string>> names_;
  tree::tree_internal::Builder<tree::LeafMark> builder_;
  absl::Status status_;
};

size_t LeafCount(const Structure& structure) {
  size_t count = 0;
  const auto note = [&](const KeyPathView&, const Structure&) { ++count; };
  // A structure that was read is no deeper than a walk goes.
  TESSERA_CHECK(tree::ForEachLeafNode(structure, tree::WalkOptions<tree::LeafMark>{}, note).ok());
  return count;
}

absl::StatusOr<Structure> StructureOfFile(const PytreeStructure& file) {
  if (file.treedef_base64.empty()) return NotFound("the file has no tree definition");
  TESSERA_ASSIGN_OR_RETURN(const auto pickle, DecodeBase64(file.treedef_base64));
  TESSERA_ASSIGN_OR_RETURN(const Structure structure, DecodeTreeDef(pickle));
  if (const size_t count = LeafCount(structure); count != file.leaf_keys.size()) {
    return FailedPrecondition("the tree definition has ", count, " leaves, but the file lists ",
                              file.leaf_keys.size());
  }
  FieldNamer namer(file.leaf_keys, file.prefix);
  TESSERA_RETURN_IF_ERROR(
      tree::tree_internal::Walk(structure, tree::WalkOptions<tree::LeafMark>{}, namer));
  return namer.Finish();
}

// A plain value, None, or a mark that it is none.
SavedTree ValueOf(const std::string& base64) {
  const SavedTree opaque(SavedLeaf(OpaqueLeaf{"pickled Python object"}));
  const auto pickle = DecodeBase64(base64);
  if (!pickle.ok()) return opaque;
  const auto value = DecodeScalarPickle(*pickle);
  if (!value.ok()) return opaque;
  return value->has_value() ? SavedTree(SavedLeaf(**value)) : SavedTree::None();
}

absl::StatusOr<std::vector<SavedTree>> LeavesOf(const PytreeStructure& file) {
  std::vector<SavedTree> leaves;
  leaves.reserve(file.leaf_keys.size());
  int64_t record = 0;
  for (size_t leaf = 0; leaf < file.leaf_keys.size(); ++leaf) {
    if (file.is_array[leaf]) {
      leaves.emplace_back(SavedLeaf(ArrayLeaf{record++}));
      continue;
    }
    const auto value = file.values_base64.find(leaf);
    if (value == file.values_base64.end()) {
      return FailedPrecondition("leaf ", leaf, " is no array and has no value");
    }
    leaves.push_back(ValueOf(value->second));
  }
  return leaves;
}

absl::StatusOr<SavedTree> NestedDicts(const PytreeStructure& file, std::vector<SavedTree> leaves) {
  tree::FlatMap<SavedLeaf> flat;
  for (size_t i = 0; i < leaves.size(); ++i) {
    flat.emplace_back(WithoutPrefix(file.leaf_keys[i], file.prefix), std::move(leaves[i]));
  }
  if (flat.size() == 1 && flat[0].first.empty()) return flat[0].second;
  auto dicts = tree::UnflattenDict(flat, ".");
  if (dicts.ok()) return dicts;
  return FailedPrecondition("leaf_keys_full: ", std::string(dicts.status().message()));
}

// A visitor of the leaves of a saved tree that writes down each of them.
class LeafLister {
 public:
  LeafLister(PytreeStructure& file, std::span<const std::string> paths)
      : file_(file), paths_(paths) {}

  absl::Status operator()(const KeyPathView& path, const SavedTree& node) {
    std::string key = tree::JoinKey(file_.prefix, path.Dotted());
    TESSERA_RETURN_IF_ERROR(names_.Add(key, path.Diagnostic()));
    file_.leaf_keys.push_back(std::move(key));
    const auto* array = node.is_leaf() ? std::get_if<ArrayLeaf>(&node.leaf()) : nullptr;
    file_.is_array.push_back(array != nullptr);
    return array != nullptr ? AddArray(*array, path) : AddValue(node, path);
  }

  absl::Status CheckAllUsed() const {
    if (file_.array_keys.size() == paths_.size()) return absl::OkStatus();
    return InvalidArgument("the tree has ", file_.array_keys.size(), " arrays, but ", paths_.size(),
                           " paths were given");
  }

 private:
  absl::Status AddArray(const ArrayLeaf& array, const KeyPathView& path) {
    const size_t expected = file_.array_keys.size();
    if (array.record != static_cast<int64_t>(expected) || expected >= paths_.size()) {
      return InvalidArgument("at ", path.ForMessage(), ": expected array ", expected, " of ",
                             paths_.size(), ", found array ", array.record);
    }
    file_.array_keys.push_back(file_.leaf_keys.back());
    file_.array_paths.push_back(paths_[expected]);
    return absl::OkStatus();
  }

  absl::Status AddValue(const SavedTree& node, const KeyPathView& path) {
    std::optional<tree::Scalar> value;
    if (node.is_leaf()) {
      if (const auto* opaque = std::get_if<OpaqueLeaf>(&node.leaf())) {
        return Unimplemented("at ", path.ForMessage(), ": a value of type ",
                             Quoted(opaque->type_name), " cannot be written for Python");
      }
      value = std::get<tree::Scalar>(node.leaf());
    }
    const auto pickle = EncodeScalarPickle(value);
    if (!pickle.ok()) return Prefixed(pickle.status(), Concat("at ", path.ForMessage()));
    file_.values_base64[file_.leaf_keys.size() - 1] = EncodeBase64(*pickle);
    return absl::OkStatus();
  }

  PytreeStructure& file_;
  std::span<const std::string> paths_;
  tree::UniqueNames names_;
};

}  // namespace

absl::StatusOr<PytreeStructure> MakePytreeStructure(const SavedTree& tree, std::string_view prefix,
                                                    std::span<const std::string> array_paths) {
  PytreeStructure file;
  file.prefix = prefix;
  tree::WalkOptions<SavedLeaf> options;
  options.none_is_leaf = true;
  TESSERA_ASSIGN_OR_RETURN(const Structure structure, tree::StructureOf(tree, options));
  TESSERA_ASSIGN_OR_RETURN(const auto pickle, EncodeTreeDef(structure));
  file.treedef_base64 = EncodeBase64(pickle);
  LeafLister lister(file, array_paths);
  TESSERA_RETURN_IF_ERROR(tree::ForEachLeafNode(tree, options, lister));
  TESSERA_RETURN_IF_ERROR(lister.CheckAllUsed());
  return file;
}

absl::StatusOr<RebuiltTree> RebuildTree(const PytreeStructure& file) {
  if (file.leaf_keys.size() != file.is_array.size()) {
    return FailedPrecondition("leaf_keys_full and arr_mask have other lengths");
  }
  TESSERA_ASSIGN_OR_RETURN(std::vector<SavedTree> leaves, LeavesOf(file));
  const auto structure = StructureOfFile(file);
  if (structure.ok()) {
    TESSERA_ASSIGN_OR_RETURN(SavedTree tree, tree::Unflatten(*structure, std::move(leaves)));
    return RebuiltTree{std::move(tree), std::nullopt};
  }
  TESSERA_ASSIGN_OR_RETURN(SavedTree tree, NestedDicts(file, std::move(leaves)));
  return RebuiltTree{std::move(tree), std::string(structure.status().message())};
}

}  // namespace tessera::ledger
