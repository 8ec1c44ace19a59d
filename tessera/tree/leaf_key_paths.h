// Names for the leaves of a tree, made from their key paths.
#ifndef TESSERA_TREE_LEAF_KEY_PATHS_H_
#define TESSERA_TREE_LEAF_KEY_PATHS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/tree/builder.h"
#include "tessera/tree/key_path.h"
#include "tessera/tree/key_path_view.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/unique_names.h"
#include "tessera/tree/walk.h"

namespace tessera::tree {

struct LeafKeyPathsOptions {
  // Refuses two leaves of one name, as {"a.b": 1, "a": {"b": 2}} has.
  bool require_unique = false;
  size_t max_depth = kDefaultMaxDepth;
};

// The tree with each leaf replaced by its dotted key path after `prefix` and a dot.  A leaf at the
// root becomes the prefix.  None stays None unless `is_leaf` accepts it.  InvalidArgument when the
// tree is too deep.
template <typename T>
absl::StatusOr<Tree<std::string>> LeafKeyPaths(
    const Tree<T>& tree, std::optional<std::string_view> prefix = std::nullopt,
    std::function<bool(const std::type_identity_t<Tree<T>>&)> is_leaf = nullptr,
    LeafKeyPathsOptions options = {}) {
  WalkOptions<T> walk;
  walk.is_leaf = std::move(is_leaf);
  walk.max_depth = options.max_depth;
  UniqueNames names;
  const auto name = [&](const KeyPathView& path,
                        const Tree<T>&) -> absl::StatusOr<Tree<std::string>> {
    std::string text = JoinKey(prefix, path.Dotted());
    if (options.require_unique) TESSERA_RETURN_IF_ERROR(names.Add(text, path.Diagnostic()));
    return Tree<std::string>::Leaf(std::move(text));
  };
  return tree_internal::Rebuild<std::string>(tree, walk, name);
}

// The components of each leaf's key path, in canonical order.  Unlike dotted names they keep a key
// "a.b" apart from a nesting of a and b.
template <typename T>
absl::StatusOr<std::vector<std::vector<std::string>>> LeafComponents(
    const Tree<T>& tree, const WalkOptions<T>& options = {}) {
  std::vector<std::vector<std::string>> components;
  TESSERA_RETURN_IF_ERROR(ForEachLeafNode(
      tree, options,
      [&](const KeyPathView& path, const Tree<T>&) { components.push_back(path.Components()); }));
  return components;
}

// A leaf predicate that accepts None alone.
template <typename T>
bool IsNone(const Tree<T>& node) {
  return node.is_none();
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_LEAF_KEY_PATHS_H_
