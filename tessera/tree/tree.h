// A tree of nested containers with values of one type at its leaves: JAX's pytree without Python.
//
// A tree is an immutable value.  Copies share their containers and cost a pointer; threads may
// read and copy the same tree.  No operation recurses, so depth is bounded by memory alone.  A tree
// that was moved from may only be assigned to or dropped.
#ifndef TESSERA_TREE_TREE_H_
#define TESSERA_TREE_TREE_H_

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/tree/branch.h"
#include "tessera/tree/dict_key.h"
#include "tessera/tree/node_def.h"

namespace tessera::tree {

namespace tree_internal {

// What a leaf of Tree<T> can be made from.
template <typename U, typename T>
concept LeafValueOf = !std::same_as<std::remove_cvref_t<U>, Tree<T>> && std::convertible_to<U, T>;

}  // namespace tree_internal

template <typename T>
class Tree {
 public:
  using value_type = T;
  using Items = std::vector<std::pair<DictKey, Tree>>;
  using Fields = std::vector<std::pair<std::string, Tree>>;

  // None.
  Tree() = default;
  // A leaf.  Implicit, so that a tree can be written down as a literal.
  template <tree_internal::LeafValueOf<T> U>
  Tree(U&& value) : node_(std::in_place_index<kLeafIndex>, std::forward<U>(value)) {}

  static Tree Leaf(T value) { return Tree(std::in_place, std::move(value)); }
  static Tree None() { return Tree(); }
  static Tree List(std::vector<Tree> children);
  static Tree Tuple(std::vector<Tree> children);

  // Mappings.  InvalidArgument for a key that is not UTF-8 or given twice and, in Dict and
  // DefaultDict, for keys that cannot be sorted.
  static absl::StatusOr<Tree> Dict(Items items);
  static absl::StatusOr<Tree> OrderedDict(Items items);
  static absl::StatusOr<Tree> DefaultDict(std::string factory, Items items);

  // Containers with a type.  InvalidArgument for text that is not UTF-8 or a field given twice.
  static absl::StatusOr<Tree> NamedTuple(std::string type, Fields fields);
  static absl::StatusOr<Tree> Record(std::string type, Fields fields, StaticFields statics = {});
  static absl::StatusOr<Tree> Custom(std::string type, std::string static_data,
                                     std::vector<Tree> children);
  static absl::StatusOr<Tree> CustomWithNames(std::string type, std::string static_data,
                                              Fields children);

  // For literals: these stop the program where the ones above would fail.
  static Tree MakeDict(Items items) { return Checked(Dict(std::move(items))); }
  static Tree MakeOrderedDict(Items items) { return Checked(OrderedDict(std::move(items))); }
  static Tree MakeNamedTuple(std::string type, Fields fields) {
    return Checked(NamedTuple(std::move(type), std::move(fields)));
  }

  // A container of a known definition.  REQUIRES: def->arity children, in canonical order.
  static Tree FromDef(NodeDefPtr def, std::vector<Tree> children);

  NodeKind kind() const {
    if (is_leaf()) return NodeKind::kLeaf;
    return is_none() ? NodeKind::kNone : branch()->def->kind;
  }
  bool is_leaf() const { return node_.index() == kLeafIndex; }
  bool is_none() const { return node_.index() == kNoneIndex; }
  bool is_container() const { return node_.index() == kBranchIndex; }
  bool is_mapping() const { return is_container() && IsMapping(branch()->def->kind); }

  // REQUIRES: is_leaf().
  const T& leaf() const {
    TESSERA_CHECK(is_leaf());
    return *std::get_if<kLeafIndex>(&node_);
  }
  // The children in canonical order; none for leaves and None.
  std::span<const Tree> children() const {
    return is_container() ? std::span<const Tree>(branch()->children) : std::span<const Tree>();
  }
  // REQUIRES: is_container().
  const NodeDefPtr& def() const {
    TESSERA_CHECK(is_container());
    return branch()->def;
  }
  const NodeDef* def_or_null() const { return is_container() ? branch()->def.get() : nullptr; }

  // The child under a mapping's key or a field's name, or nullptr.
  const Tree* Find(const DictKey& key) const;

  // Same structure and equal leaves.  The order that a dict's items were given in is no matter.
  friend bool operator==(const Tree& a, const Tree& b) requires std::equality_comparable<T> {
    return Equal(a, b);
  }

 private:
  friend class tree_internal::BranchRef<T>;
  using Branch = tree_internal::Branch<T>;
  using BranchRef = tree_internal::BranchRef<T>;
  static constexpr size_t kNoneIndex = 0;
  static constexpr size_t kLeafIndex = 1;
  static constexpr size_t kBranchIndex = 2;

  Tree(std::in_place_t, T value) : node_(std::in_place_index<kLeafIndex>, std::move(value)) {}
  explicit Tree(BranchRef branch) : node_(std::in_place_index<kBranchIndex>, std::move(branch)) {}

  const Branch* branch() const { return std::get_if<kBranchIndex>(&node_)->get(); }
  BranchRef* branch_ref() { return std::get_if<kBranchIndex>(&node_); }

  static Tree Checked(absl::StatusOr<Tree> tree) {
    TESSERA_CHECK(tree.ok());
    return *std::move(tree);
  }
  static absl::StatusOr<Tree> Mapping(NodeKind kind, Items items, std::string factory);
  static absl::StatusOr<Tree> Named(NodeDef def, Fields fields);
  static bool Equal(const Tree& a, const Tree& b);

  std::variant<std::monostate, T, BranchRef> node_;
};

}  // namespace tessera::tree

#include "tessera/tree/tree_inl.h"

#endif  // TESSERA_TREE_TREE_H_
