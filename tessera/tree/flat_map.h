// Nested mappings as one flat list of names and values, and back.
#ifndef TESSERA_TREE_FLAT_MAP_H_
#define TESSERA_TREE_FLAT_MAP_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/tree/flat_names.h"
#include "tessera/tree/key_path_view.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/unique_names.h"
#include "tessera/tree/walk.h"

namespace tessera::tree {

// In the order that the mappings' items were given in, depth first.  A value is a whole subtree.
template <typename T>
using FlatMap = std::vector<std::pair<std::string, Tree<T>>>;

struct FlattenDictOptions {
  // Keeps an empty container below the root under its own name; else it leaves no trace.
  bool keep_empty_nodes = false;
  // Lists, tuples and every other container that is no mapping are values.  When false, they are
  // taken apart as well, under their positions and field names.
  bool mappings_only = true;
  size_t max_depth = kDefaultMaxDepth;
};

namespace tree_internal {

template <typename T>
WalkOptions<T> FlatMapWalk(const Tree<T>& root, const FlattenDictOptions& options) {
  WalkOptions<T> walk;
  walk.insertion_order = true;
  walk.none_is_leaf = true;
  walk.max_depth = options.max_depth;
  walk.is_leaf = [&root, options](const Tree<T>& node) {
    if (!node.is_container()) return false;
    if (options.mappings_only && !node.is_mapping()) return true;
    return options.keep_empty_nodes && &node != &root && node.children().empty();
  };
  return walk;
}

// `name` makes the name of a path, or an error.
template <typename T, typename NameFn>
absl::StatusOr<FlatMap<T>> FlattenNamed(const Tree<T>& tree, const FlattenDictOptions& options,
                                        NameFn name) {
  const bool descends = options.mappings_only ? tree.is_mapping() : tree.is_container();
  if (!descends) {
    return InvalidArgument("the root must be a ", options.mappings_only ? "mapping" : "container",
                           " to be flattened, not a ",
                           DescribeNode(tree.kind(), tree.def_or_null()));
  }
  FlatMap<T> flat;
  UniqueNames names;
  const auto add = [&](const KeyPathView& path, const Tree<T>& value) -> absl::Status {
    TESSERA_ASSIGN_OR_RETURN(std::string text, name(path));
    TESSERA_RETURN_IF_ERROR(names.Add(text, path.Diagnostic()));
    flat.emplace_back(std::move(text), value);
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(ForEachLeafNode(tree, FlatMapWalk(tree, options), add));
  return flat;
}

}  // namespace tree_internal

// Names joined from keys with `separator`.  None is a value.  InvalidArgument when the root is no
// mapping, when a key contains the separator, and when two leaves would get one name.
template <typename T>
absl::StatusOr<FlatMap<T>> FlattenDict(const Tree<T>& tree, std::string_view separator,
                                       const FlattenDictOptions& options = {}) {
  TESSERA_RETURN_IF_ERROR(CheckSeparator(separator));
  return tree_internal::FlattenNamed(
      tree, options, [&](const KeyPathView& path) { return JoinChecked(path, separator); });
}

// Names joined with dots.  Keys may hold dots, and a key that is a tuple counts as the path of its
// elements, so that an already flat mapping comes out the same.  InvalidArgument when the root is
// no mapping and when two leaves would get one name.
template <typename T>
absl::StatusOr<FlatMap<T>> FlattenForBroadcast(const Tree<T>& tree,
                                               const FlattenDictOptions& options = {}) {
  return tree_internal::FlattenNamed(tree, options,
                                     [](const KeyPathView& path) -> absl::StatusOr<std::string> {
                                       return JoinWithTuplesOpened(path, ".");
                                     });
}

namespace tree_internal {

// The dicts that a trie describes; value(i) is the tree of its i-th value.
template <typename T, typename ValueFn>
absl::StatusOr<Tree<T>> BuildDicts(const NameTrie& trie, ValueFn value) {
  // Inner nodes have greater numbers than the ones that hold them, so that going down builds each
  // dict before it is needed.
  std::vector<Tree<T>> dicts(trie.nodes().size());
  for (size_t n = dicts.size(); n-- > 0;) {
    typename Tree<T>::Items items;
    for (const NameTrie::Child& child : trie.nodes()[n].children) {
      items.emplace_back(child.component,
                         child.is_value ? value(child.at) : std::move(dicts[child.at]));
    }
    TESSERA_ASSIGN_OR_RETURN(dicts[n], Tree<T>::Dict(std::move(items)));
  }
  return std::move(dicts[0]);
}

}  // namespace tree_internal

// The nested dicts whose flat form is `flat`, with text keys in order of appearance.
// InvalidArgument, naming both keys, when one is given twice or lies inside another, as "a.b" does
// in "a".
template <typename T>
absl::StatusOr<Tree<T>> UnflattenDict(const FlatMap<T>& flat, std::string_view separator) {
  TESSERA_RETURN_IF_ERROR(CheckSeparator(separator));
  NameTrie trie;
  for (size_t i = 0; i < flat.size(); ++i) {
    TESSERA_RETURN_IF_ERROR(trie.Add(flat[i].first, SplitName(flat[i].first, separator), i));
  }
  return tree_internal::BuildDicts<T>(trie, [&](size_t i) { return flat[i].second; });
}

// A leaf and the keys that lead to it.
template <typename T>
struct ComponentLeaf {
  std::vector<std::string> components;
  T value;
};

// The nested dicts that hold these leaves, with text keys in order of appearance; one leaf without
// components is the tree itself.  InvalidArgument as UnflattenDict.
template <typename T>
absl::StatusOr<Tree<T>> UnflattenComponents(std::vector<ComponentLeaf<T>> leaves) {
  if (leaves.size() == 1 && leaves[0].components.empty()) {
    return Tree<T>::Leaf(std::move(leaves[0].value));
  }
  NameTrie trie;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::vector<std::string_view> parts(leaves[i].components.begin(),
                                              leaves[i].components.end());
    TESSERA_RETURN_IF_ERROR(trie.Add(JoinParts(parts, "/"), parts, i));
  }
  return tree_internal::BuildDicts<T>(
      trie, [&](size_t i) { return Tree<T>::Leaf(std::move(leaves[i].value)); });
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_FLAT_MAP_H_
