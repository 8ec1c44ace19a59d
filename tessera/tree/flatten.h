// Takes a tree apart into leaves and structure, and puts it together again.
#ifndef TESSERA_TREE_FLATTEN_H_
#define TESSERA_TREE_FLATTEN_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/tree/key_path.h"
#include "tessera/tree/structure.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/walk.h"

namespace tessera::tree {

// Leaves in canonical order.  They point into the tree that was flattened and live as long as it
// does.  A leaf is a node, as the options may count None or whole containers as leaves.
template <typename T>
struct Flattened {
  std::vector<const Tree<T>*> leaves;
  Structure structure;
};

template <typename T>
struct FlattenedWithPath {
  std::vector<KeyPath> paths;  // of leaves[i]
  std::vector<const Tree<T>*> leaves;
  Structure structure;
};

// InvalidArgument when the tree is too deep.
template <typename T>
absl::StatusOr<Flattened<T>> Flatten(const Tree<T>& tree, const WalkOptions<T>& options = {}) {
  Flattened<T> flat;
  const auto note = [&](const KeyPathView&, const Tree<T>& node) {
    flat.leaves.push_back(&node);
    return Structure(LeafMark{});
  };
  TESSERA_ASSIGN_OR_RETURN(flat.structure, tree_internal::Rebuild<LeafMark>(tree, options, note));
  return flat;
}

template <typename T>
absl::StatusOr<FlattenedWithPath<T>> FlattenWithPath(const Tree<T>& tree,
                                                     const WalkOptions<T>& options = {}) {
  FlattenedWithPath<T> flat;
  const auto note = [&](const KeyPathView& path, const Tree<T>& node) {
    flat.paths.push_back(path.ToKeyPath());
    flat.leaves.push_back(&node);
    return Structure(LeafMark{});
  };
  TESSERA_ASSIGN_OR_RETURN(flat.structure, tree_internal::Rebuild<LeafMark>(tree, options, note));
  return flat;
}

// The leaves would point into a tree that is gone.
template <typename T>
absl::StatusOr<Flattened<T>> Flatten(const Tree<T>&& tree, const WalkOptions<T>& = {}) = delete;
template <typename T>
absl::StatusOr<FlattenedWithPath<T>> FlattenWithPath(const Tree<T>&& tree,
                                                     const WalkOptions<T>& = {}) = delete;

// The tree of `structure` with `leaves` in canonical order; a leaf that is a container is grafted
// as it is.  InvalidArgument unless there are as many leaves as the structure has.
template <typename U>
absl::StatusOr<Tree<U>> Unflatten(const Structure& structure, std::vector<Tree<U>> leaves,
                                  size_t max_depth = kDefaultMaxDepth) {
  WalkOptions<LeafMark> options;
  options.max_depth = max_depth;
  size_t used = 0;
  const auto next = [&](const KeyPathView&, const Structure&) {
    const size_t i = used++;
    return i < leaves.size() ? std::move(leaves[i]) : Tree<U>::None();
  };
  TESSERA_ASSIGN_OR_RETURN(Tree<U> tree, tree_internal::Rebuild<U>(structure, options, next));
  if (used != leaves.size()) {
    return InvalidArgument("the structure has ", used, " leaves, but ", leaves.size(),
                           " were given");
  }
  return tree;
}

template <typename U>
absl::StatusOr<Tree<U>> Unflatten(const Structure& structure, std::vector<U> leaves,
                                  size_t max_depth = kDefaultMaxDepth) {
  std::vector<Tree<U>> nodes;
  nodes.reserve(leaves.size());
  for (auto&& leaf : leaves) nodes.push_back(Tree<U>::Leaf(std::move(leaf)));
  return Unflatten(structure, std::move(nodes), max_depth);
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_FLATTEN_H_
