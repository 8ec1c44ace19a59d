// Visits the leaves of a tree in canonical order, each with its key path.
#ifndef TESSERA_TREE_WALK_H_
#define TESSERA_TREE_WALK_H_

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tessera/core/status.h"
#include "tessera/tree/key_path_view.h"
#include "tessera/tree/tree.h"

namespace tessera::tree {

inline constexpr size_t kDefaultMaxDepth = 1000;

template <typename T>
struct WalkOptions {
  // Asked before anything else at every node, the root included.  Where it says yes, the node
  // counts as a leaf whatever it holds.
  std::function<bool(const Tree<T>&)> is_leaf;
  // Counts None as a leaf.
  bool none_is_leaf = false;
  // The most containers that may stand inside one another.
  size_t max_depth = kDefaultMaxDepth;
  // Visits a dict's items in the order they were given in instead of the sorted one.
  bool insertion_order = false;
};

namespace tree_internal {

template <typename T>
bool CountsAsLeaf(const Tree<T>& node, const WalkOptions<T>& options) {
  if (options.is_leaf && options.is_leaf(node)) return true;
  return node.is_leaf() || (options.none_is_leaf && node.is_none());
}

// Calls, in depth-first order,
//   absl::Status visitor.Leaf(KeyPathView, node)   for what counts as a leaf,
//   absl::Status visitor.Enter(KeyPathView, node)  for None and containers, before their children,
//   void visitor.Leave(node)                       for the same, after their children.
// Stops at the first error.
template <typename T, typename Visitor>
class Walker {
 public:
  Walker(const WalkOptions<T>& options, Visitor& visitor) : options_(options), visitor_(visitor) {}

  absl::Status Walk(const Tree<T>& root) {
    TESSERA_RETURN_IF_ERROR(Visit(root));
    while (!open_.empty()) {
      Open& top = open_.back();
      if (top.next == top.node->children().size()) {
        visitor_.Leave(*top.node);
        open_.pop_back();
        steps_.pop_back();
        continue;
      }
      const size_t position = top.next++;
      const size_t child = options_.insertion_order ? top.node->def()->GivenAt(position) : position;
      steps_.back().child = child;
      TESSERA_RETURN_IF_ERROR(Visit(top.node->children()[child]));
    }
    return absl::OkStatus();
  }

 private:
  // A container whose children are being visited.
  struct Open {
    const Tree<T>* node;
    size_t next;
  };

  absl::Status Visit(const Tree<T>& node) {
    const KeyPathView path(steps_);
    if (CountsAsLeaf(node, options_)) return visitor_.Leaf(path, node);
    if (node.is_container() && open_.size() >= options_.max_depth) {
      return InvalidArgument("the tree is nested deeper than ", options_.max_depth,
                             " containers, at ", path.ForMessage());
    }
    TESSERA_RETURN_IF_ERROR(visitor_.Enter(path, node));
    if (node.is_container()) {
      open_.push_back({&node, 0});
      steps_.push_back({&node.def(), 0});
    } else {
      visitor_.Leave(node);
    }
    return absl::OkStatus();
  }

  const WalkOptions<T>& options_;
  Visitor& visitor_;
  // Always of one size; steps_ is the path of the node that is being visited.
  std::vector<Open> open_;
  std::vector<KeyStep> steps_;
};

template <typename T, typename Visitor>
absl::Status Walk(const Tree<T>& root, const WalkOptions<T>& options, Visitor& visitor) {
  return Walker<T, Visitor>(options, visitor).Walk(root);
}

// `fn` may return absl::Status, to stop the walk, or nothing.
template <typename Fn, typename... Args>
absl::Status CallForStatus(Fn& fn, Args&&... args) {
  if constexpr (std::same_as<std::invoke_result_t<Fn&, Args...>, void>) {
    fn(std::forward<Args>(args)...);
    return absl::OkStatus();
  } else {
    return fn(std::forward<Args>(args)...);
  }
}

template <typename T, typename Fn>
struct LeafVisitor {
  absl::Status Leaf(const KeyPathView& path, const Tree<T>& node) {
    return CallForStatus(fn, path, node);
  }
  absl::Status Enter(const KeyPathView&, const Tree<T>&) { return absl::OkStatus(); }
  void Leave(const Tree<T>&) {}

  Fn& fn;
};

}  // namespace tree_internal

// Calls fn(const KeyPathView&, const Tree<T>&) for every node that counts as a leaf.  `fn` returns
// nothing, or an absl::Status whose error ends the walk and is returned.  InvalidArgument when the
// tree is too deep.  Nothing is allocated per leaf.
template <typename T, typename Fn>
absl::Status ForEachLeafNode(const Tree<T>& tree, const WalkOptions<T>& options, Fn&& fn) {
  tree_internal::LeafVisitor<T, Fn> visitor{fn};
  return tree_internal::Walk(tree, options, visitor);
}

// Calls fn(const KeyPathView&, const T&) for every leaf; else as ForEachLeafNode.
template <typename T, typename Fn>
absl::Status ForEachLeaf(const Tree<T>& tree, Fn&& fn, size_t max_depth = kDefaultMaxDepth) {
  WalkOptions<T> options;
  options.max_depth = max_depth;
  return ForEachLeafNode(tree, options, [&](const KeyPathView& path, const Tree<T>& node) {
    return tree_internal::CallForStatus(fn, path, node.leaf());
  });
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_WALK_H_
