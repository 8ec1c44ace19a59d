// The bodies of Tree's longer members.  Include tree.h instead.
#ifndef TESSERA_TREE_TREE_INL_H_
#define TESSERA_TREE_TREE_INL_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tessera/tree/tree.h"

namespace tessera::tree {

template <typename T>
Tree<T> Tree<T>::FromDef(NodeDefPtr def, std::vector<Tree> children) {
  TESSERA_CHECK(def != nullptr && def->arity == children.size());
  return Tree(BranchRef(new Branch(std::move(def), std::move(children))));
}

template <typename T>
Tree<T> Tree<T>::List(std::vector<Tree> children) {
  NodeDefPtr def = MakeSequenceDef(NodeKind::kList, children.size());
  return FromDef(std::move(def), std::move(children));
}

template <typename T>
Tree<T> Tree<T>::Tuple(std::vector<Tree> children) {
  NodeDefPtr def = MakeSequenceDef(NodeKind::kTuple, children.size());
  return FromDef(std::move(def), std::move(children));
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::Mapping(NodeKind kind, Items items, std::string factory) {
  std::vector<DictKey> keys;
  keys.reserve(items.size());
  for (auto& item : items) keys.push_back(std::move(item.first));
  TESSERA_ASSIGN_OR_RETURN(NodeDefPtr def, MappingDef(kind, std::move(keys), std::move(factory)));
  std::vector<Tree> children(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    children[def->GivenAt(i)] = std::move(items[i].second);
  }
  return FromDef(std::move(def), std::move(children));
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::Dict(Items items) {
  return Mapping(NodeKind::kDict, std::move(items), "");
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::OrderedDict(Items items) {
  return Mapping(NodeKind::kOrderedDict, std::move(items), "");
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::DefaultDict(std::string factory, Items items) {
  return Mapping(NodeKind::kDefaultDict, std::move(items), std::move(factory));
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::Named(NodeDef def, Fields fields) {
  std::vector<std::string> names;
  std::vector<Tree> children;
  names.reserve(fields.size());
  children.reserve(fields.size());
  for (auto& [name, child] : fields) {
    names.push_back(std::move(name));
    children.push_back(std::move(child));
  }
  TESSERA_ASSIGN_OR_RETURN(NodeDefPtr named, NamedDef(std::move(def), std::move(names)));
  return FromDef(std::move(named), std::move(children));
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::NamedTuple(std::string type, Fields fields) {
  NodeDef def;
  def.kind = NodeKind::kNamedTuple;
  def.type_name = std::move(type);
  return Named(std::move(def), std::move(fields));
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::Record(std::string type, Fields fields, StaticFields statics) {
  NodeDef def;
  def.kind = NodeKind::kRecord;
  def.type_name = std::move(type);
  def.static_fields = std::move(statics);
  return Named(std::move(def), std::move(fields));
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::Custom(std::string type, std::string static_data,
                                        std::vector<Tree> children) {
  TESSERA_ASSIGN_OR_RETURN(
      NodeDefPtr def, UnnamedCustomDef(std::move(type), std::move(static_data), children.size()));
  return FromDef(std::move(def), std::move(children));
}

template <typename T>
absl::StatusOr<Tree<T>> Tree<T>::CustomWithNames(std::string type, std::string static_data,
                                                 Fields children) {
  NodeDef def;
  def.kind = NodeKind::kCustom;
  def.type_name = std::move(type);
  def.static_data = std::move(static_data);
  return Named(std::move(def), std::move(children));
}

template <typename T>
const Tree<T>* Tree<T>::Find(const DictKey& key) const {
  if (!is_container()) return nullptr;
  const std::vector<DictKey>& keys = branch()->def->keys;
  const bool sorted = kind() == NodeKind::kDict || kind() == NodeKind::kDefaultDict;
  const auto found = sorted ? std::lower_bound(keys.begin(), keys.end(), key)
                            : std::find(keys.begin(), keys.end(), key);
  if (found == keys.end() || *found != key) return nullptr;
  return &branch()->children[static_cast<size_t>(found - keys.begin())];
}

template <typename T>
bool Tree<T>::Equal(const Tree& a, const Tree& b) {
  std::vector<std::pair<const Tree*, const Tree*>> pending = {{&a, &b}};
  while (!pending.empty()) {
    const auto [left, right] = pending.back();
    pending.pop_back();
    if (left->node_.index() != right->node_.index()) return false;
    if (left->is_leaf() && !(left->leaf() == right->leaf())) return false;
    if (!left->is_container() || left->branch() == right->branch()) continue;
    if (left->def() != right->def() && *left->def() != *right->def()) return false;
    for (size_t i = 0; i < left->children().size(); ++i) {
      pending.emplace_back(&left->children()[i], &right->children()[i]);
    }
  }
  return true;
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_TREE_INL_H_
