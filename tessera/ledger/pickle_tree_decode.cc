#include <limits>
#include <string>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/utf8.h"
#include "tessera/ledger/pickle.h"
#include "tessera/ledger/pickle_opcodes.h"
#include "tessera/ledger/pickle_tree_def.h"
#include "tessera/ledger/pickle_tree_nodes.h"

namespace tessera::ledger {
namespace {

using tree::DictKey;
using tree::NodeDef;
using tree::NodeDefPtr;
using tree::NodeKind;
using tree::Structure;

// One shared text may be the key of every dict, so what the keys come to is counted.
constexpr size_t kMaxKeyBytes = size_t{64} << 20;

// A subtree that is done.
struct Done {
  Structure tree;
  int64_t leaves = 0;
  int64_t nodes = 0;
  size_t depth = 0;  // containers inside one another
};

// The members of a node's tuple.
struct NodeRecord {
  int64_t kind = 0;
  int64_t arity = 0;
  PickleValue data;
  PickleValue type;
  int64_t leaves = 0;
  int64_t nodes = 0;
};

class TreeDefReader {
 public:
  explicit TreeDefReader(const Pickle& pickle) : pickle_(pickle) {}

  absl::StatusOr<Structure> Read(const PickleValue& nodes) {
    for (const PickleValue& node : pickle_.Items(nodes)) {
      if (absl::Status status = AddNode(node); !status.ok()) {
        return Prefixed(status, Concat("node ", position_, " of the tree definition"));
      }
      ++position_;
    }
    if (done_.size() != 1) {
      return DataLoss("the tree definition has ", done_.size(), " roots, expected one");
    }
    return std::move(done_.back().tree);
  }

 private:
  absl::Status AddNode(const PickleValue& value) {
    TESSERA_ASSIGN_OR_RETURN(const NodeRecord record, RecordOf(value));
    if (record.arity < 0 || static_cast<uint64_t>(record.arity) > done_.size()) {
      return DataLoss("it has ", record.arity, " children, but ", done_.size(),
                      " nodes stand before it");
    }
    const auto arity = static_cast<size_t>(record.arity);
    TESSERA_ASSIGN_OR_RETURN(const NodeDefPtr def, DefOf(record, arity));
    Done node{{}, 0, 1, 0};
    std::vector<Structure> children = TakeChildren(arity, node);
    if (def != nullptr) {
      if (++node.depth > tree::kDefaultMaxDepth) {
        return DataLoss("the tree is nested deeper than ", tree::kDefaultMaxDepth, " containers");
      }
      node.tree = Structure::FromDef(def, std::move(children));
    } else if (record.kind == static_cast<int64_t>(JaxNode::kLeaf)) {
      node.tree = Structure(tree::LeafMark{});
      node.leaves = 1;
    }
    if (node.leaves != record.leaves || node.nodes != record.nodes) {
      return DataLoss("it says that it has ", record.leaves, " leaves and ", record.nodes,
                      " nodes, but there are ", node.leaves, " and ", node.nodes);
    }
    done_.push_back(std::move(node));
    return absl::OkStatus();
  }

  // The last `arity` subtrees, whose counts are added to `parent`.
  std::vector<Structure> TakeChildren(size_t arity, Done& parent) {
    std::vector<Structure> children;
    children.reserve(arity);
    for (size_t i = done_.size() - arity; i < done_.size(); ++i) {
      parent.leaves += done_[i].leaves;
      parent.nodes += done_[i].nodes;
      parent.depth = std::max(parent.depth, done_[i].depth);
      children.push_back(std::move(done_[i].tree));
    }
    done_.erase(done_.end() - static_cast<std::ptrdiff_t>(arity), done_.end());
    return children;
  }

  absl::StatusOr<NodeRecord> RecordOf(const PickleValue& value) const {
    if (value.kind != PickleKind::kTuple || value.size != 6) {
      return DataLoss("expected a tuple of 6, found a ", PickleKindName(value.kind), " of ",
                      value.size);
    }
    const auto items = pickle_.Items(value);
    for (const size_t i : {0, 1, 4, 5}) {
      if (items[i].kind != PickleKind::kInteger) {
        return DataLoss("member ", i, ": expected an int, found ", PickleKindName(items[i].kind));
      }
    }
    return NodeRecord{pickle_.Integer(items[0]), pickle_.Integer(items[1]), items[2], items[3],
                      pickle_.Integer(items[4]), pickle_.Integer(items[5])};
  }

  // Null for leaves and None.
  absl::StatusOr<NodeDefPtr> DefOf(const NodeRecord& record, size_t arity) {
    switch (static_cast<JaxNode>(record.kind)) {
      case JaxNode::kLeaf:
      case JaxNode::kNone:
        if (arity != 0) return DataLoss("a leaf or None with ", arity, " children");
        TESSERA_RETURN_IF_ERROR(ExpectNothing(record));
        return NodeDefPtr();
      case JaxNode::kTuple:
      case JaxNode::kList:
        TESSERA_RETURN_IF_ERROR(ExpectNothing(record));
        return tree::MakeSequenceDef(record.kind == static_cast<int64_t>(JaxNode::kList)
                                         ? NodeKind::kList
                                         : NodeKind::kTuple,
                                     arity);
      case JaxNode::kDict:
        return DictDef(NodeKind::kDict, record.data, PickleKind::kList, arity);
      case JaxNode::kNamedTuple:
        return TypedDef(NodeKind::kNamedTuple, record.data, arity);
      case JaxNode::kCustom:
        return CustomDef(record, arity);
      case JaxNode::kDataclass:
        return RecordDef(record, arity);
    }
    return Unimplemented("nodes of kind ", record.kind, " are not known");
  }

  static absl::Status ExpectNothing(const NodeRecord& record) {
    if (record.data.kind == PickleKind::kNone && record.type.kind == PickleKind::kNone) {
      return absl::OkStatus();
    }
    return DataLoss("a node of kind ", record.kind, " has data or a type");
  }

  absl::StatusOr<NodeDefPtr> DictDef(NodeKind kind, const PickleValue& keys, PickleKind holder,
                                     size_t arity, std::string factory = "") {
    if (keys.kind != holder || pickle_.Items(keys).size() != arity) {
      return DataLoss("expected a ", PickleKindName(holder), " of ", arity, " keys, found a ",
                      PickleKindName(keys.kind));
    }
    std::vector<DictKey> converted;
    converted.reserve(arity);
    for (const PickleValue& key : pickle_.Items(keys)) {
      TESSERA_ASSIGN_OR_RETURN(DictKey one, KeyOf(key, 0));
      converted.push_back(std::move(one));
    }
    auto def = tree::MappingDef(kind, std::move(converted), std::move(factory));
    if (!def.ok()) return DataLoss(std::string(def.status().message()));
    // The children stand in the order of the keys, so another order would exchange them.
    if (!(*def)->insertion.empty()) return DataLoss("its keys are not sorted");
    return def;
  }

  absl::StatusOr<DictKey> KeyOf(const PickleValue& key, int depth) {
    TESSERA_RETURN_IF_ERROR(CountKey(key));
    switch (key.kind) {
      case PickleKind::kText:
        if (!IsValidUtf8(pickle_.Text(key))) return Unimplemented("a key that is no UTF-8");
        return DictKey(pickle_.Text(key));
      case PickleKind::kInteger:
        return DictKey(pickle_.Integer(key));
      case PickleKind::kBool:
        return DictKey(pickle_.Truth(key));
      case PickleKind::kTuple:
        return TupleKeyOf(key, depth);
      default:
        return Unimplemented("a ", PickleKindName(key.kind), " as the key of a dict");
    }
  }

  absl::StatusOr<DictKey> TupleKeyOf(const PickleValue& key, int depth) {
    if (depth >= DictKey::kMaxTupleDepth) {
      return Unimplemented("a key of tuples nested deeper than ", DictKey::kMaxTupleDepth);
    }
    DictKey::TupleElements elements;
    for (const PickleValue& item : pickle_.Items(key)) {
      TESSERA_ASSIGN_OR_RETURN(DictKey element, KeyOf(item, depth + 1));
      elements.push_back(std::move(element));
    }
    return DictKey::Tuple(std::move(elements));
  }

  absl::Status CountKey(const PickleValue& key) {
    const size_t bytes = sizeof(DictKey) + (key.kind == PickleKind::kText ? key.size : 0);
    if (bytes > kMaxKeyBytes - key_bytes_) {
      return Unimplemented("the keys of the tree take more than ", kMaxKeyBytes, " bytes");
    }
    key_bytes_ += bytes;
    return absl::OkStatus();
  }

  // The type as the text that messages and definitions have.
  std::string TypeName(const PickleValue& type) const {
    if (type.kind != PickleKind::kGlobal) return std::string(PickleKindName(type.kind));
    return Concat(pickle_.Global(type).module, ":", pickle_.Global(type).name);
  }

  absl::StatusOr<NodeDefPtr> TypedDef(NodeKind kind, const PickleValue& type, size_t arity) {
    if (type.kind != PickleKind::kGlobal) {
      return DataLoss("expected a type, found a ", PickleKindName(type.kind));
    }
    NodeDef def;
    def.kind = kind;
    def.type_name = TypeName(type);
    std::vector<std::string> names;
    for (size_t i = 0; i < arity; ++i) names.push_back(Concat(i));
    auto made = tree::NamedDef(std::move(def), std::move(names));
    if (!made.ok()) return DataLoss(std::string(made.status().message()));
    return made;
  }

  absl::StatusOr<NodeDefPtr> RecordDef(const NodeRecord& record, size_t arity) {
    if (record.data.kind != PickleKind::kTuple) {
      return DataLoss("expected a tuple of static values, found a ",
                      PickleKindName(record.data.kind));
    }
    if (record.data.size != 0) {
      return Unimplemented("the record ", TypeName(record.type),
                           " has static fields, which are objects of Python");
    }
    return TypedDef(NodeKind::kRecord, record.type, arity);
  }

  absl::StatusOr<NodeDefPtr> CustomDef(const NodeRecord& record, size_t arity) {
    const bool is_global = record.type.kind == PickleKind::kGlobal;
    if (is_global && pickle_.Global(record.type) == kOrderedDictType) {
      return DictDef(NodeKind::kOrderedDict, record.data, PickleKind::kTuple, arity);
    }
    if (is_global && pickle_.Global(record.type) == kDefaultDictType) {
      return DefaultDictDef(record.data, arity);
    }
    return Unimplemented("nodes of the custom type ", TypeName(record.type), " are not known");
  }

  absl::StatusOr<NodeDefPtr> DefaultDictDef(const PickleValue& data, size_t arity) {
    if (data.kind != PickleKind::kTuple || data.size != 2) {
      return DataLoss("expected a factory and keys, found a ", PickleKindName(data.kind));
    }
    const auto items = pickle_.Items(data);
    std::string factory;
    if (items[0].kind != PickleKind::kNone) {
      if (items[0].kind != PickleKind::kGlobal ||
          pickle_.Global(items[0]).module != kFactoryModule ||
          !IsKnownFactory(pickle_.Global(items[0]).name)) {
        return Unimplemented("the factory ", TypeName(items[0]),
                             " of a default dict is no builtin type");
      }
      factory = pickle_.Global(items[0]).name;
    }
    return DictDef(NodeKind::kDefaultDict, items[1], PickleKind::kTuple, arity, std::move(factory));
  }

  const Pickle& pickle_;
  std::vector<Done> done_;
  size_t position_ = 0;
  size_t key_bytes_ = 0;
};

bool IsRegistry(const Pickle& pickle, const PickleValue& value) {
  return value.kind == PickleKind::kGlobal &&
         std::find(kRegistryNames.begin(), kRegistryNames.end(), pickle.Global(value)) !=
             kRegistryNames.end();
}

}  // namespace

absl::StatusOr<Structure> DecodeTreeDef(std::span<const std::byte> bytes) {
  TESSERA_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Decode(bytes));
  if (pickle.root().kind != PickleKind::kTreeDef) {
    return Unimplemented("expected a pickled PyTreeDef, found a ",
                         PickleKindName(pickle.root().kind));
  }
  const PickleValue* state = pickle.tree_def_state();
  if (state == nullptr || state->kind != PickleKind::kTuple || state->size != 2) {
    return DataLoss("the tree definition's state is no pair of registry and nodes");
  }
  const auto parts = pickle.Items(*state);
  if (!IsRegistry(pickle, parts[0])) {
    return Unimplemented("the tree definition's registry is not JAX's default one");
  }
  if (parts[1].kind != PickleKind::kList) {
    return DataLoss("expected a list of nodes, found a ", PickleKindName(parts[1].kind));
  }
  return TreeDefReader(pickle).Read(parts[1]);
}

}  // namespace tessera::ledger
