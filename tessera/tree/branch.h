// The shared, immutable containers that a Tree is made of.  Only tree.h uses this.
//
// A tree's children lie in one block of memory per container, so a leaf costs no allocation of its
// own, and copying a tree of any size copies one pointer.  Nothing here recurses: the chain of
// containers that die with the last reference is walked as a list, however deep it is.
#ifndef TESSERA_TREE_BRANCH_H_
#define TESSERA_TREE_BRANCH_H_

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/tree/node_def.h"

namespace tessera::tree {

template <typename T>
class Tree;

namespace tree_internal {

template <typename T>
struct Branch {
  Branch(NodeDefPtr def, std::vector<Tree<T>> children)
      : def(std::move(def)), children(std::move(children)) {}

  NodeDefPtr def;
  std::vector<Tree<T>> children;  // in canonical order
  std::atomic<size_t> references{1};
  Branch* next_dead = nullptr;
};

// A counted reference to a branch, or to nothing.
template <typename T>
class BranchRef {
 public:
  BranchRef() = default;
  explicit BranchRef(Branch<T>* branch) : branch_(branch) {}
  BranchRef(const BranchRef& other) noexcept : branch_(other.branch_) {
    if (branch_ != nullptr) branch_->references.fetch_add(1, std::memory_order_relaxed);
  }
  BranchRef(BranchRef&& other) noexcept : branch_(std::exchange(other.branch_, nullptr)) {}
  BranchRef& operator=(BranchRef other) noexcept {
    std::swap(branch_, other.branch_);
    return *this;
  }
  ~BranchRef() {
    if (Branch<T>* dead = Release()) DeleteAll(dead);
  }

  const Branch<T>* get() const { return branch_; }

 private:
  // Lets go of the branch; returns it if this was its last reference.
  Branch<T>* Release() {
    Branch<T>* branch = std::exchange(branch_, nullptr);
    if (branch == nullptr) return nullptr;
    return branch->references.fetch_sub(1, std::memory_order_acq_rel) == 1 ? branch : nullptr;
  }

  static void DeleteAll(Branch<T>* dead) {
    while (dead != nullptr) {
      Branch<T>* branch = std::exchange(dead, dead->next_dead);
      for (Tree<T>& child : branch->children) {
        BranchRef* inner = child.branch_ref();
        Branch<T>* orphan = inner == nullptr ? nullptr : inner->Release();
        if (orphan == nullptr) continue;
        orphan->next_dead = std::exchange(dead, orphan);
      }
      delete branch;
    }
  }

  Branch<T>* branch_ = nullptr;
};

}  // namespace tree_internal
}  // namespace tessera::tree

#endif  // TESSERA_TREE_BRANCH_H_
