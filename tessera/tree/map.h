// New trees from old ones, leaf by leaf.  A dict keeps the order that its items were given in.
#ifndef TESSERA_TREE_MAP_H_
#define TESSERA_TREE_MAP_H_

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/tree/builder.h"
#include "tessera/tree/key_path_view.h"
#include "tessera/tree/structure.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/walk.h"

namespace tessera::tree {

namespace tree_internal {

// The leaf type of the tree that a function makes whose result is U, Tree<U>, StatusOr<U> or
// StatusOr<Tree<U>>.
template <typename R>
struct LeafTypeOf {
  using type = R;
};
template <typename R>
struct LeafTypeOf<absl::StatusOr<R>> : LeafTypeOf<R> {};
template <typename U>
struct LeafTypeOf<Tree<U>> {
  using type = U;
};
template <typename Fn, typename... Args>
using MappedLeaf =
    typename LeafTypeOf<std::remove_cvref_t<std::invoke_result_t<Fn&, Args...>>>::type;

template <typename U>
absl::StatusOr<Tree<U>> ToNode(Tree<U> node) {
  return node;
}
template <typename U>
absl::StatusOr<Tree<U>> ToNode(U value) {
  return Tree<U>::Leaf(std::move(value));
}
template <typename U>
absl::StatusOr<Tree<U>> ToNode(absl::StatusOr<Tree<U>> node) {
  return node;
}
template <typename U>
absl::StatusOr<Tree<U>> ToNode(absl::StatusOr<U> value) {
  if (!value.ok()) return std::move(value).status();
  return Tree<U>::Leaf(*std::move(value));
}

// Gathers the other tree's node at every leaf of the walked one.
template <typename A, typename B>
struct GatherVisitor : Follower<A, B> {
  using Follower<A, B>::Follower;
  absl::Status Leaf(const KeyPathView& path, const Tree<A>&) {
    nodes.push_back(&this->NodeAt(path));
    return absl::OkStatus();
  }
  std::vector<const Tree<B>*> nodes;
};

template <typename A, typename B>
absl::Status Gather(const Tree<A>& first, const Tree<B>& other, size_t number,
                    std::vector<const Tree<B>*>& nodes) {
  GatherVisitor<A, B> visitor(other);
  const absl::Status status = Walk(first, WalkOptions<A>{}, visitor);
  nodes = std::move(visitor.nodes);
  return status.ok() ? status : Prefixed(status, Concat("tree 1 against tree ", number));
}

}  // namespace tree_internal

// Each node that counts as a leaf becomes what fn(const KeyPathView&, const Tree<T>&) returns: a
// value, a Tree to graft, or a StatusOr of either.  The first error ends the walk and is returned.
// InvalidArgument when the tree is too deep.
template <typename T, typename Fn>
auto MapNodes(const Tree<T>& tree, const WalkOptions<T>& options, Fn&& fn)
    -> absl::StatusOr<Tree<tree_internal::MappedLeaf<Fn, const KeyPathView&, const Tree<T>&>>> {
  using U = tree_internal::MappedLeaf<Fn, const KeyPathView&, const Tree<T>&>;
  return tree_internal::Rebuild<U>(
      tree, options, [&](const KeyPathView& path, const Tree<T>& node) -> absl::StatusOr<Tree<U>> {
        return tree_internal::ToNode<U>(fn(path, node));
      });
}

// Each leaf becomes fn(const KeyPathView&, const T&); None stays.  Else as MapNodes.
template <typename T, typename Fn>
auto MapWithPath(const Tree<T>& tree, Fn&& fn) {
  return MapNodes(tree, WalkOptions<T>{}, [&](const KeyPathView& path, const Tree<T>& node) {
    return fn(path, node.leaf());
  });
}

// Each leaf becomes fn(const T&); None stays.  Else as MapNodes.
template <typename T, typename Fn>
auto Map(const Tree<T>& tree, Fn&& fn) {
  return MapNodes(tree, WalkOptions<T>{},
                  [&](const KeyPathView&, const Tree<T>& node) { return fn(node.leaf()); });
}

// Each leaf of `first` becomes fn(const T&, const Tree<Us>&...), where the other arguments are
// what the other trees hold at the same path: any subtree, passed whole.  InvalidArgument with the
// first differing path where `first` has a container or None and another tree has not the same.
template <typename Fn, typename T, typename... Us>
auto MapTrees(Fn&& fn, const Tree<T>& first, const Tree<Us>&... others)
    -> absl::StatusOr<Tree<tree_internal::MappedLeaf<Fn, const T&, const Tree<Us>&...>>> {
  std::tuple<std::vector<const Tree<Us>*>...> gathered;
  absl::Status status;
  const auto gather = [&](auto&... nodes) {
    size_t number = 1;
    ((status.ok() ? status.Update(tree_internal::Gather(first, others, ++number, nodes)) : void()),
     ...);
  };
  std::apply(gather, gathered);
  TESSERA_RETURN_IF_ERROR(status);
  size_t i = 0;
  return Map(first, [&](const T& leaf) {
    const size_t at = i++;
    return std::apply([&](const auto&... nodes) { return fn(leaf, *nodes[at]...); }, gathered);
  });
}

// Pairs the leaves of two trees of the same structure.  InvalidArgument with the first difference.
template <typename A, typename B>
absl::StatusOr<Tree<std::pair<A, B>>> Zip(const Tree<A>& a, const Tree<B>& b) {
  TESSERA_RETURN_IF_ERROR(CheckSameStructure(a, b));
  return MapTrees([](const A& left, const Tree<B>& right) { return std::pair(left, right.leaf()); },
                  a, b);
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_MAP_H_
