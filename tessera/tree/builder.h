// Builds a tree bottom-up from the events of a walk over a tree of the same structure.
#ifndef TESSERA_TREE_BUILDER_H_
#define TESSERA_TREE_BUILDER_H_

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/tree/key_path_view.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/walk.h"

namespace tessera::tree::tree_internal {

template <typename U>
class Builder {
 public:
  void Add(Tree<U> node) { done_.push_back(std::move(node)); }

  // Takes the last def->arity nodes as the children of a new one.
  void Close(const NodeDefPtr& def) {
    const auto first = done_.end() - static_cast<std::ptrdiff_t>(def->arity);
    std::vector<Tree<U>> children(std::make_move_iterator(first),
                                  std::make_move_iterator(done_.end()));
    done_.erase(first, done_.end());
    Add(Tree<U>::FromDef(def, std::move(children)));
  }

  Tree<U> Finish() {
    TESSERA_CHECK(done_.size() == 1);
    return std::move(done_.back());
  }

 private:
  std::vector<Tree<U>> done_;
};

template <typename T, typename U, typename Fn>
struct RebuildVisitor {
  absl::Status Leaf(const KeyPathView& path, const Tree<T>& node) {
    TESSERA_ASSIGN_OR_RETURN(Tree<U> replacement, (absl::StatusOr<Tree<U>>(fn(path, node))));
    builder.Add(std::move(replacement));
    return absl::OkStatus();
  }
  absl::Status Enter(const KeyPathView&, const Tree<T>&) { return absl::OkStatus(); }
  void Leave(const Tree<T>& node) {
    if (node.is_none()) {
      builder.Add(Tree<U>::None());
    } else {
      builder.Close(node.def());
    }
  }

  Fn& fn;
  Builder<U> builder;
};

// `tree` with each leaf replaced by what fn(const KeyPathView&, const Tree<T>&) returns: a
// Tree<U> or a StatusOr<Tree<U>>.
template <typename U, typename T, typename Fn>
absl::StatusOr<Tree<U>> Rebuild(const Tree<T>& tree, WalkOptions<T> options, Fn&& fn) {
  options.insertion_order = false;  // children are stored, and so built, in canonical order
  RebuildVisitor<T, U, Fn> visitor{fn, {}};
  TESSERA_RETURN_IF_ERROR(Walk(tree, options, visitor));
  return visitor.builder.Finish();
}

}  // namespace tessera::tree::tree_internal

#endif  // TESSERA_TREE_BUILDER_H_
