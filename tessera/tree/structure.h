// The structure of a tree without its leaves, and the first place where two structures differ.
#ifndef TESSERA_TREE_STRUCTURE_H_
#define TESSERA_TREE_STRUCTURE_H_

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/tree/builder.h"
#include "tessera/tree/key_path_view.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/walk.h"

namespace tessera::tree {

// Stands where a leaf was.
struct LeafMark {
  friend bool operator==(const LeafMark&, const LeafMark&) = default;
};

// A tree's definition: equal when kinds, child counts, mapping keys, type names and static data
// agree at every node.
using Structure = Tree<LeafMark>;

// InvalidArgument when the tree is too deep.
template <typename T>
absl::StatusOr<Structure> StructureOf(const Tree<T>& tree, const WalkOptions<T>& options = {}) {
  return tree_internal::Rebuild<LeafMark>(
      tree, options, [](const KeyPathView&, const Tree<T>&) { return Structure(LeafMark{}); });
}

struct SameStructureOptions {
  // None counts as a leaf on both sides, so that it may stand against any leaf.
  bool null_is_leaf = false;
};

namespace tree_internal {

// Follows the walk over one tree through another and checks that each container that the walk
// enters has its like there.
template <typename A, typename B>
class Follower {
 public:
  explicit Follower(const Tree<B>& root) : root_(root) {}

  // The other tree's node at the path of the walk.
  const Tree<B>& NodeAt(const KeyPathView& path) const {
    return path.empty() ? root_ : open_.back()->children()[path.back().child];
  }

  absl::Status Enter(const KeyPathView& path, const Tree<A>& a) {
    const Tree<B>& b = NodeAt(path);
    TESSERA_RETURN_IF_ERROR(CheckSameNode(path, a, b));
    if (b.is_container()) open_.push_back(&b);
    return absl::OkStatus();
  }
  void Leave(const Tree<A>& a) {
    if (a.is_container()) open_.pop_back();
  }

  static absl::Status CheckSameNode(const KeyPathView& path, const Tree<A>& a, const Tree<B>& b) {
    const auto difference = NodeDifference(a.kind(), a.def_or_null(), b.kind(), b.def_or_null());
    if (!difference.has_value()) return absl::OkStatus();
    return InvalidArgument("at ", path.ForMessage(), ": ", *difference);
  }

 private:
  const Tree<B>& root_;
  std::vector<const Tree<B>*> open_;
};

// Leaves must stand against leaves.
template <typename A, typename B>
struct SameStructureVisitor : Follower<A, B> {
  SameStructureVisitor(const Tree<B>& root, SameStructureOptions options)
      : Follower<A, B>(root), options(options) {}

  absl::Status Leaf(const KeyPathView& path, const Tree<A>& a) {
    const Tree<B>& b = this->NodeAt(path);
    if (options.null_is_leaf && !b.is_container()) return absl::OkStatus();
    return Follower<A, B>::CheckSameNode(path, a, b);
  }

  SameStructureOptions options;
};

}  // namespace tree_internal

// OK, or InvalidArgument with the first difference: "at layers.0: list of 2 vs tuple of 2".  The
// values of leaves do not matter.  Works at any depth.
template <typename A, typename B>
absl::Status CheckSameStructure(const Tree<A>& a, const Tree<B>& b,
                                SameStructureOptions options = {}) {
  WalkOptions<A> walk;
  walk.none_is_leaf = options.null_is_leaf;
  walk.max_depth = std::numeric_limits<size_t>::max();
  tree_internal::SameStructureVisitor<A, B> visitor(b, options);
  return tree_internal::Walk(a, walk, visitor);
}

// The first difference as above, or nullopt.
template <typename A, typename B>
std::optional<std::string> FirstDifference(const Tree<A>& a, const Tree<B>& b,
                                           SameStructureOptions options = {}) {
  const absl::Status status = CheckSameStructure(a, b, options);
  if (status.ok()) return std::nullopt;
  return std::string(status.message());
}

template <typename A, typename B>
bool SameStructure(const Tree<A>& a, const Tree<B>& b, SameStructureOptions options = {}) {
  return CheckSameStructure(a, b, options).ok();
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_STRUCTURE_H_
