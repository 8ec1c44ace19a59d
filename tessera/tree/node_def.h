// What a node of a tree is, apart from its children: its kind, keys, type and static data.
//
// Two trees have the same structure when their nodes' definitions are equal.  A definition knows
// nothing of leaves, so trees with other leaves share it.
#ifndef TESSERA_TREE_NODE_DEF_H_
#define TESSERA_TREE_NODE_DEF_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/tree/dict_key.h"
#include "tessera/tree/key_path.h"

namespace tessera::tree {

enum class NodeKind : uint8_t {
  kLeaf,
  kNone,         // Python's None: a node without children
  kDict,         // children sorted by key, whatever order they were given in
  kOrderedDict,  // children in the order given
  kDefaultDict,  // sorted like kDict
  kList,
  kTuple,
  kNamedTuple,
  kRecord,  // a dataclass: some fields are children, the others static
  kCustom,
};

// "leaf", "None", "dict", "ordered dict", ...
std::string_view NodeKindName(NodeKind kind);

inline bool IsMapping(NodeKind kind) {
  return kind == NodeKind::kDict || kind == NodeKind::kOrderedDict ||
         kind == NodeKind::kDefaultDict;
}

// Fields that are no children, each with its value as text.
using StaticFields = std::vector<std::pair<std::string, std::string>>;

// The definition of a container.  Leaves and None have none.
struct NodeDef {
  NodeKind kind = NodeKind::kTuple;
  size_t arity = 0;
  // A mapping's keys or the names of fields, one per child; empty where children have positions.
  std::vector<DictKey> keys;
  // Named tuple, record, custom: the type.  Default dict: the factory.
  std::string type_name;
  StaticFields static_fields;  // of a record
  std::string static_data;     // of a custom node
  // For sorted mappings, insertion[i] is the child given as the i-th.  Empty when the children
  // were given in sorted order.  Not part of equality.
  std::vector<uint32_t> insertion;

  size_t GivenAt(size_t i) const { return insertion.empty() ? i : insertion[i]; }
  KeyEntryRef Entry(size_t child) const;

  friend bool operator==(const NodeDef& a, const NodeDef& b);
};

using NodeDefPtr = std::shared_ptr<const NodeDef>;

// The entry of one child; it keeps `def` alive.
KeyEntry SharedEntry(const NodeDefPtr& def, size_t child);

NodeDefPtr MakeSequenceDef(NodeKind kind, size_t arity);

// `kind` is a mapping.  InvalidArgument for a key that is not UTF-8 or given twice and, unless the
// mapping is an ordered one, for keys that cannot be sorted.
absl::StatusOr<NodeDefPtr> MappingDef(NodeKind kind, std::vector<DictKey> keys,
                                      std::string factory = "");

// A named tuple, record or custom node with named children: `def` with everything but arity and
// keys.  InvalidArgument for a name that is not UTF-8 or given twice.
absl::StatusOr<NodeDefPtr> NamedDef(NodeDef def, std::vector<std::string> names);

// A custom node whose children have no names.  InvalidArgument for text that is not UTF-8.
absl::StatusOr<NodeDefPtr> UnnamedCustomDef(std::string type_name, std::string static_data,
                                            size_t arity);

// "leaf", "None", "list of 2", "named tuple Point of 2".  `def` is null for leaves and None.
std::string DescribeNode(NodeKind kind, const NodeDef* def);

// How two nodes differ, for instance "list of 2 vs tuple of 2"; nullopt when they do not.
std::optional<std::string> NodeDifference(NodeKind kind_a, const NodeDef* a, NodeKind kind_b,
                                          const NodeDef* b);

}  // namespace tessera::tree

#endif  // TESSERA_TREE_NODE_DEF_H_
