#include <bit>
#include <iterator>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/ledger/structure_json.h"
#include "tessera/tree/walk.h"

namespace tessera::ledger {
namespace {

using tree::DictKey;
using tree::NodeDef;
using tree::NodeKind;

absl::StatusOr<double> ReadFloat(JsonValue value) {
  if (!value.is(JsonKind::kString)) return ToDouble(value);
  TESSERA_ASSIGN_OR_RETURN(const std::string digits, ToText(value));
  const absl::StatusOr<Hash128> bits = Hash128::FromHex(Concat("0000000000000000", digits));
  if (!bits.ok()) return InvalidArgument(": expected a number or 16 digits, found ", value.raw());
  return std::bit_cast<double>(bits->low);
}

absl::StatusOr<std::complex<double>> ReadComplex(JsonValue value) {
  std::vector<double> parts;
  for (const JsonValue item : value.items()) {
    TESSERA_ASSIGN_OR_RETURN(const double part, ReadFloat(item));
    parts.push_back(part);
  }
  if (!value.is(JsonKind::kArray) || parts.size() != 2) {
    return InvalidArgument(": expected a list of two floats, found ", value.raw().substr(0, 80));
  }
  return std::complex<double>(parts[0], parts[1]);
}

// A leaf made of what reading its value gave.
template <typename T>
absl::StatusOr<SavedTree> ScalarLeaf(absl::StatusOr<T> value) {
  TESSERA_RETURN_IF_ERROR(value);
  return SavedTree::Leaf(tree::Scalar(*std::move(value)));
}

absl::StatusOr<SavedTree> OpaqueOf(absl::StatusOr<std::string> type_name) {
  TESSERA_RETURN_IF_ERROR(type_name);
  return SavedTree::Leaf(OpaqueLeaf{*std::move(type_name)});
}

// The leaf that an object with the only member `what` stands for; nullopt when it is none.
std::optional<absl::StatusOr<SavedTree>> ReadLeaf(std::string_view what, JsonValue value) {
  if (what == "bool") return ScalarLeaf(ToBool(value));
  if (what == "int") return ScalarLeaf(ToInteger(value));
  if (what == "float") return ScalarLeaf(ReadFloat(value));
  if (what == "complex") return ScalarLeaf(ReadComplex(value));
  if (what == "str") return ScalarLeaf(ToText(value));
  if (what == "opaque") return OpaqueOf(ToText(value));
  return std::nullopt;
}

absl::StatusOr<DictKey> ReadKey(JsonValue value, int depth) {
  if (value.is(JsonKind::kNumber)) return ToInteger(value);
  if (value.is(JsonKind::kBool)) return ToBool(value);
  if (!value.is(JsonKind::kArray)) return ToText(value);
  if (depth == DictKey::kMaxTupleDepth) {
    return InvalidArgument(": tuples nested deeper than ", depth, " in a key");
  }
  DictKey::TupleElements elements;
  for (const JsonValue item : value.items()) {
    TESSERA_ASSIGN_OR_RETURN(DictKey element, ReadKey(item, depth + 1));
    elements.push_back(std::move(element));
  }
  return DictKey::Tuple(std::move(elements));
}

// A container whose children are still to come, in the order they were given in.
struct Open {
  NodeKind kind;
  uint64_t arity = 0;
  bool keyed = false;
  std::vector<DictKey> keys = {};
  std::string type_name = {};
  std::string static_data = {};
  tree::StaticFields static_fields = {};
  std::vector<SavedTree> children = {};
};

absl::Status ReadStaticFields(JsonValue value, Open& node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<std::string> texts, ToTexts(value));
  if (texts.size() % 2 != 0) return InvalidArgument(": expected names and values by turns");
  for (size_t i = 0; i < texts.size(); i += 2) {
    node.static_fields.emplace_back(std::move(texts[i]), std::move(texts[i + 1]));
  }
  return absl::OkStatus();
}

absl::Status ReadChildren(JsonValue value, Open& node) {
  node.keyed = value.is(JsonKind::kArray);
  if (!node.keyed) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t arity, ToSize(value));
    node.arity = static_cast<uint64_t>(arity);
    return absl::OkStatus();
  }
  for (const JsonValue item : value.items()) {
    TESSERA_ASSIGN_OR_RETURN(DictKey key, ReadKey(item, 0));
    node.keys.push_back(std::move(key));
  }
  node.arity = node.keys.size();
  return absl::OkStatus();
}

std::optional<NodeKind> KindOf(std::string_view name) {
  for (auto kind = NodeKind::kDict; kind <= NodeKind::kCustom;
       kind = static_cast<NodeKind>(static_cast<int>(kind) + 1)) {
    if (tree::NodeKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

bool HasTypeName(NodeKind kind) {
  return kind == NodeKind::kDefaultDict || kind == NodeKind::kNamedTuple ||
         kind == NodeKind::kRecord || kind == NodeKind::kCustom;
}

absl::Status ReadMember(std::string_view name, JsonValue value, Open& node) {
  if (name == "type" && HasTypeName(node.kind)) {
    TESSERA_ASSIGN_OR_RETURN(node.type_name, ToText(value));
    return absl::OkStatus();
  }
  if (name == "static" && node.kind == NodeKind::kCustom) {
    TESSERA_ASSIGN_OR_RETURN(node.static_data, ToText(value));
    return absl::OkStatus();
  }
  if (name == "fields" && node.kind == NodeKind::kRecord) return ReadStaticFields(value, node);
  return InvalidArgument(": a ", tree::NodeKindName(node.kind), " has no such member");
}

// The first member says what the node is, the others what belongs to it.
absl::StatusOr<Open> ReadContainer(NodeKind kind, JsonValue object) {
  Open node{kind};
  const JsonValue::Range items = object.items();
  for (auto at = items.begin(); at != items.end(); ++at) {
    const bool first = at == items.begin();
    const std::string name = *(*at).Text();
    ++at;
    const absl::Status status = first ? ReadChildren(*at, node) : ReadMember(name, *at, node);
    if (!status.ok()) return Inside(status, name);
  }
  const bool positions = kind == NodeKind::kList || kind == NodeKind::kTuple;
  if (positions ? node.keyed : kind != NodeKind::kCustom && !node.keyed) {
    return InvalidArgument(tree::NodeKindName(kind), ": expected ",
                           positions ? "the number of children" : "a list of keys");
  }
  return node;
}

absl::StatusOr<std::vector<std::string>> FieldNames(std::vector<DictKey> keys) {
  std::vector<std::string> names;
  for (const DictKey& key : keys) {
    if (key.text() == nullptr) {
      return InvalidArgument("the name of a field is ", key.ToRepr(), ", no text");
    }
    names.push_back(*key.text());
  }
  return names;
}

SavedTree::Items Zip(Open& node) {
  SavedTree::Items items;
  for (size_t i = 0; i < node.children.size(); ++i) {
    items.emplace_back(std::move(node.keys[i]), std::move(node.children[i]));
  }
  return items;
}

absl::StatusOr<SavedTree::Fields> ZipFields(Open& node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<std::string> names, FieldNames(std::move(node.keys)));
  SavedTree::Fields fields;
  for (size_t i = 0; i < node.children.size(); ++i) {
    fields.emplace_back(std::move(names[i]), std::move(node.children[i]));
  }
  return fields;
}

absl::StatusOr<SavedTree> FinishNamed(Open node) {
  TESSERA_ASSIGN_OR_RETURN(SavedTree::Fields fields, ZipFields(node));
  if (node.kind == NodeKind::kNamedTuple) {
    return SavedTree::NamedTuple(std::move(node.type_name), std::move(fields));
  }
  if (node.kind == NodeKind::kRecord) {
    return SavedTree::Record(std::move(node.type_name), std::move(fields),
                             std::move(node.static_fields));
  }
  return SavedTree::CustomWithNames(std::move(node.type_name), std::move(node.static_data),
                                    std::move(fields));
}

absl::StatusOr<SavedTree> Finish(Open node) {
  switch (node.kind) {
    case NodeKind::kList:
      return SavedTree::List(std::move(node.children));
    case NodeKind::kTuple:
      return SavedTree::Tuple(std::move(node.children));
    case NodeKind::kDict:
      return SavedTree::Dict(Zip(node));
    case NodeKind::kOrderedDict:
      return SavedTree::OrderedDict(Zip(node));
    case NodeKind::kDefaultDict:
      return SavedTree::DefaultDict(node.type_name, Zip(node));
    default:
      break;
  }
  if (node.keyed) return FinishNamed(std::move(node));
  return SavedTree::Custom(std::move(node.type_name), std::move(node.static_data),
                           std::move(node.children));
}

// Takes the nodes in the order of the text: a container, then its children.
class Reader {
 public:
  absl::Status Take(JsonValue json) {
    if (done_) return InvalidArgument(": the tree is complete before it");
    if (json.is(JsonKind::kNull)) return Add(SavedTree::None());
    if (json.is(JsonKind::kNumber)) {
      TESSERA_ASSIGN_OR_RETURN(const int64_t record, ToSize(json));
      return Add(SavedTree::Leaf(ArrayLeaf{record}));
    }
    TESSERA_RETURN_IF_ERROR(ExpectKind(json, JsonKind::kObject));
    if (json.items().empty()) return InvalidArgument(": an object without members");
    return TakeObject(json);
  }

  absl::StatusOr<SavedTree> Finish() {
    if (!done_) return InvalidArgument(": it ends before the tree is complete");
    return std::move(root_);
  }

 private:
  absl::Status TakeObject(JsonValue json) {
    const JsonValue key = *json.items().begin();
    const std::string what = *key.Text();
    if (auto leaf = ReadLeaf(what, key.Next())) {
      if (!leaf->ok()) return Inside(leaf->status(), what);
      return Add(**std::move(leaf));
    }
    const std::optional<NodeKind> kind = KindOf(what);
    if (!kind.has_value()) return InvalidArgument(what, ": no such kind of node is known");
    if (open_.size() == tree::kDefaultMaxDepth) {
      return InvalidArgument(": the tree is nested deeper than ", open_.size(), " containers");
    }
    TESSERA_ASSIGN_OR_RETURN(Open node, ReadContainer(*kind, json));
    open_.push_back(std::move(node));
    return CloseFull();
  }

  absl::Status Add(SavedTree node) {
    if (open_.empty()) {
      root_ = std::move(node);
      done_ = true;
      return absl::OkStatus();
    }
    open_.back().children.push_back(std::move(node));
    return CloseFull();
  }

  // Makes nodes of the containers that have all their children.
  absl::Status CloseFull() {
    while (!open_.empty() && open_.back().children.size() == open_.back().arity) {
      Open full = std::move(open_.back());
      open_.pop_back();
      absl::StatusOr<SavedTree> node = ledger::Finish(std::move(full));
      if (!node.ok()) return Prefixed(node.status(), "");
      if (open_.empty()) return Add(*std::move(node));
      open_.back().children.push_back(*std::move(node));
    }
    return absl::OkStatus();
  }

  std::vector<Open> open_;
  SavedTree root_;
  bool done_ = false;
};

}  // namespace

absl::StatusOr<SavedTree> ReadStructure(JsonValue json) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(json, JsonKind::kArray));
  Reader reader;
  size_t position = 0;
  for (const JsonValue item : json.items()) {
    const absl::Status status = reader.Take(item);
    if (!status.ok()) return Inside(status, Concat("[", position, "]"));
    ++position;
  }
  return reader.Finish();
}

}  // namespace tessera::ledger
