#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/ledger/pickle.h"
#include "tessera/ledger/pickle_opcodes.h"
#include "tessera/ledger/pickle_tree_def.h"
#include "tessera/ledger/pickle_tree_nodes.h"
#include "tessera/ledger/pickle_writer.h"

namespace tessera::ledger {
namespace {

using tree::DictKey;
using tree::KeyPathView;
using tree::NodeDef;
using tree::NodeKind;
using tree::Structure;

bool IsIdentifier(std::string_view name) {
  const auto starts = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  };
  if (name.empty() || !starts(name[0])) return false;
  for (const char c : name) {
    if (!starts(c) && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

bool AreDottedIdentifiers(std::string_view names) {
  size_t begin = 0;
  while (true) {
    const size_t dot = names.find('.', begin);
    if (!IsIdentifier(names.substr(begin, dot - begin))) return false;
    if (dot == std::string_view::npos) return true;
    begin = dot + 1;
  }
}

std::optional<PickleGlobal> GlobalOf(std::string_view type_name) {
  const size_t colon = type_name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const PickleGlobal global{type_name.substr(0, colon), type_name.substr(colon + 1)};
  if (!AreDottedIdentifiers(global.module) || !AreDottedIdentifiers(global.name)) {
    return std::nullopt;
  }
  return global;
}

// A visitor of tree_internal::Walk that writes each node after its children.
class TreeDefWriter {
 public:
  absl::Status Leaf(const KeyPathView&, const Structure&) {
    WriteNode(JaxNode::kLeaf, 0, [this] { Nothing(); }, {1, 1});
    return absl::OkStatus();
  }

  // Everything that can be refused is refused here, as Leave cannot fail.
  absl::Status Enter(const KeyPathView& path, const Structure& node) {
    open_.push_back({0, 1});
    if (!node.is_container()) return absl::OkStatus();
    const absl::Status status = Check(*node.def());
    return status.ok() ? status : Prefixed(status, Concat("at ", path.ForMessage()));
  }

  void Leave(const Structure& node) {
    const Counts counts = open_.back();
    open_.pop_back();
    if (node.is_none())
      return WriteNode(
          JaxNode::kNone, 0, [this] { Nothing(); }, counts);
    const NodeDef& def = *node.def();
    WriteNode(
        KindOf(def.kind), def.arity, [&] { DataAndType(def); }, counts);
  }

  std::vector<std::byte> Finish() && { return std::move(writer_).Finish(); }

  void Begin() {
    writer_.Global(kTreeDefNames.back());
    writer_.Op(pickle_op::kEmptyTuple);
    writer_.Op(pickle_op::kNewObj);
    writer_.Global(kRegistryNames.back());
    writer_.Op(pickle_op::kEmptyList);
    writer_.Op(pickle_op::kMark);
  }
  void End() {
    for (const uint8_t opcode : {pickle_op::kAppends, pickle_op::kTuple2, pickle_op::kBuild}) {
      writer_.Op(opcode);
    }
  }

 private:
  struct Counts {
    int64_t leaves = 0;
    int64_t nodes = 0;
  };

  static JaxNode KindOf(NodeKind kind) {
    switch (kind) {
      case NodeKind::kDict:
        return JaxNode::kDict;
      case NodeKind::kList:
        return JaxNode::kList;
      case NodeKind::kTuple:
        return JaxNode::kTuple;
      case NodeKind::kNamedTuple:
        return JaxNode::kNamedTuple;
      case NodeKind::kRecord:
        return JaxNode::kDataclass;
      default:
        return JaxNode::kCustom;
    }
  }

  static absl::Status Check(const NodeDef& def) {
    if (def.kind == NodeKind::kCustom || !def.static_fields.empty()) {
      return Unimplemented("a ", tree::DescribeNode(def.kind, &def),
                           " holds static data that cannot be written for Python");
    }
    if (def.kind == NodeKind::kDefaultDict && !def.type_name.empty() &&
        !IsKnownFactory(def.type_name)) {
      return Unimplemented("the factory '", def.type_name, "' is no builtin type of Python");
    }
    const bool typed = def.kind == NodeKind::kNamedTuple || def.kind == NodeKind::kRecord;
    if (typed && !GlobalOf(def.type_name).has_value()) {
      return Unimplemented("the type '", def.type_name,
                           "' is not of the form module:qualified name, so that Python would not "
                           "find it");
    }
    return absl::OkStatus();
  }

  template <typename Fn>
  void WriteNode(JaxNode kind, size_t arity, Fn data_and_type, Counts counts) {
    writer_.Op(pickle_op::kMark);
    writer_.Integer(static_cast<int64_t>(kind));
    writer_.Integer(static_cast<int64_t>(arity));
    data_and_type();
    writer_.Integer(counts.leaves);
    writer_.Integer(counts.nodes);
    writer_.Op(pickle_op::kTuple);
    if (open_.empty()) return;
    open_.back().leaves += counts.leaves;
    open_.back().nodes += counts.nodes;
  }

  void Nothing() {
    writer_.Op(pickle_op::kNone);
    writer_.Op(pickle_op::kNone);
  }

  void DataAndType(const NodeDef& def) {
    switch (def.kind) {
      case NodeKind::kDict:
        writer_.Op(pickle_op::kEmptyList);
        writer_.Op(pickle_op::kMark);
        for (const DictKey& key : def.keys) Key(key);
        writer_.Op(pickle_op::kAppends);
        return writer_.Op(pickle_op::kNone);
      case NodeKind::kOrderedDict:
        TupleOfKeys(def.keys);
        return writer_.Global(kOrderedDictType);
      case NodeKind::kDefaultDict:
        Factory(def.type_name);
        TupleOfKeys(def.keys);
        writer_.Op(pickle_op::kTuple2);
        return writer_.Global(kDefaultDictType);
      case NodeKind::kNamedTuple:
        writer_.Global(*GlobalOf(def.type_name));
        return writer_.Op(pickle_op::kNone);
      case NodeKind::kRecord:
        writer_.Op(pickle_op::kEmptyTuple);
        return writer_.Global(*GlobalOf(def.type_name));
      default:
        return Nothing();
    }
  }

  void Factory(std::string_view name) {
    if (name.empty()) return writer_.Op(pickle_op::kNone);
    writer_.Global({kFactoryModule, name});
  }

  void TupleOfKeys(std::span<const DictKey> keys) {
    writer_.Op(pickle_op::kMark);
    for (const DictKey& key : keys) Key(key);
    writer_.Op(pickle_op::kTuple);
  }

  // Recurses as deep as tuples nest in a key, which is bounded.
  void Key(const DictKey& key) {
    if (key.text() != nullptr) return writer_.Text(*key.text());
    if (key.number() != nullptr) return writer_.Integer(*key.number());
    if (key.tuple() != nullptr) return TupleOfKeys(*key.tuple());
    writer_.Op(*key.truth() ? pickle_op::kNewTrue : pickle_op::kNewFalse);
  }

  PickleWriter writer_;
  std::vector<Counts> open_;  // of the containers around, without their later children
};

}  // namespace

absl::StatusOr<std::vector<std::byte>> EncodeTreeDef(const Structure& structure) {
  TreeDefWriter writer;
  writer.Begin();
  TESSERA_RETURN_IF_ERROR(
      tree::tree_internal::Walk(structure, tree::WalkOptions<tree::LeafMark>{}, writer));
  writer.End();
  return std::move(writer).Finish();
}

}  // namespace tessera::ledger
