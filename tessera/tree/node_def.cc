#include "tessera/tree/node_def.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/utf8.h"

namespace tessera::tree {
namespace {

KeyEntryKind EntryKindOf(const NodeDef& def) {
  if (IsMapping(def.kind)) return KeyEntryKind::kDictKey;
  if (!def.keys.empty()) return KeyEntryKind::kField;
  return def.kind == NodeKind::kCustom ? KeyEntryKind::kFlatIndex : KeyEntryKind::kIndex;
}

absl::Status CheckText(std::string_view what, std::string_view text) {
  return IsValidUtf8(text) ? absl::OkStatus() : Prefixed(CheckUtf8(DictKey(text)), what);
}

absl::Status CheckTexts(const NodeDef& def) {
  const std::string_view kind = NodeKindName(def.kind);
  TESSERA_RETURN_IF_ERROR(CheckText(Concat(kind, " type name"), def.type_name));
  TESSERA_RETURN_IF_ERROR(CheckText(Concat(kind, " static data"), def.static_data));
  for (const auto& [name, value] : def.static_fields) {
    TESSERA_RETURN_IF_ERROR(CheckText(Concat(kind, " static field name"), name));
    TESSERA_RETURN_IF_ERROR(CheckText(Concat(kind, " static field ", name), value));
  }
  return absl::OkStatus();
}

// Sorts the keys of `def` and notes the order they were given in.
absl::Status SortKeys(NodeDef& def) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<size_t> order, SortedOrder(def.keys));
  if (std::is_sorted(order.begin(), order.end())) return absl::OkStatus();
  std::vector<DictKey> sorted;
  sorted.reserve(order.size());
  def.insertion.resize(order.size());
  for (size_t child = 0; child < order.size(); ++child) {
    sorted.push_back(std::move(def.keys[order[child]]));
    def.insertion[order[child]] = static_cast<uint32_t>(child);
  }
  def.keys = std::move(sorted);
  return absl::OkStatus();
}

const DictKey* FirstKeyMissingIn(const NodeDef& def, const NodeDef& other) {
  std::unordered_set<std::string> known;
  for (const DictKey& key : def.keys) known.insert(key.ToRepr());
  const auto missing = [&](const DictKey& key) { return known.count(key.ToRepr()) == 0; };
  const auto found = std::find_if(other.keys.begin(), other.keys.end(), missing);
  return found == other.keys.end() ? nullptr : &*found;
}

// REQUIRES: the keys differ.
std::string KeyDifference(const NodeDef& a, const NodeDef& b) {
  const DictKey* left_only = FirstKeyMissingIn(b, a);
  const DictKey* right_only = FirstKeyMissingIn(a, b);
  std::string text;
  if (left_only != nullptr) text = Concat("only the first has ", left_only->ToRepr());
  if (right_only != nullptr) {
    text += Concat(text.empty() ? "" : ", ", "only the second has ", right_only->ToRepr());
  }
  if (!text.empty()) return text;
  const auto [left, right] = std::mismatch(a.keys.begin(), a.keys.end(), b.keys.begin());
  return Concat("position ", left - a.keys.begin(), " is ", left->ToRepr(), " vs ",
                right->ToRepr());
}

std::string StaticDifference(const NodeDef& a, const NodeDef& b) {
  if (a.static_data != b.static_data) {
    return Concat("static data ", a.static_data, " vs ", b.static_data);
  }
  if (a.static_fields.size() != b.static_fields.size()) {
    return Concat(a.static_fields.size(), " static fields vs ", b.static_fields.size());
  }
  const auto [left, right] =
      std::mismatch(a.static_fields.begin(), a.static_fields.end(), b.static_fields.begin());
  return Concat("static field ", left->first, " = ", left->second, " vs ", right->first, " = ",
                right->second);
}

}  // namespace

std::string_view NodeKindName(NodeKind kind) {
  static constexpr std::string_view kNames[] = {"leaf",         "None",  "dict",  "ordered dict",
                                                "default dict", "list",  "tuple", "named tuple",
                                                "record",       "custom"};
  return kNames[static_cast<size_t>(kind)];
}

KeyEntryRef NodeDef::Entry(size_t child) const {
  if (keys.empty()) return {EntryKindOf(*this), nullptr, child};
  return {EntryKindOf(*this), &keys[child], 0};
}

bool operator==(const NodeDef& a, const NodeDef& b) {
  return a.kind == b.kind && a.arity == b.arity && a.keys == b.keys && a.type_name == b.type_name &&
         a.static_fields == b.static_fields && a.static_data == b.static_data;
}

KeyEntry SharedEntry(const NodeDefPtr& def, size_t child) {
  if (def->keys.empty()) return {EntryKindOf(*def), child};
  return {EntryKindOf(*def), std::shared_ptr<const DictKey>(def, &def->keys[child])};
}

NodeDefPtr MakeSequenceDef(NodeKind kind, size_t arity) {
  TESSERA_CHECK(kind == NodeKind::kList || kind == NodeKind::kTuple);
  auto def = std::make_shared<NodeDef>();
  def->kind = kind;
  def->arity = arity;
  return def;
}

absl::StatusOr<NodeDefPtr> MappingDef(NodeKind kind, std::vector<DictKey> keys,
                                      std::string factory) {
  TESSERA_CHECK(IsMapping(kind) && keys.size() <= UINT32_MAX);
  auto def = std::make_shared<NodeDef>();
  def->kind = kind;
  def->arity = keys.size();
  def->keys = std::move(keys);
  def->type_name = std::move(factory);
  TESSERA_RETURN_IF_ERROR(CheckTexts(*def));
  for (const DictKey& key : def->keys) {
    TESSERA_RETURN_IF_ERROR(Prefixed(CheckUtf8(key), NodeKindName(kind)));
  }
  TESSERA_RETURN_IF_ERROR(
      Prefixed(kind == NodeKind::kOrderedDict ? CheckDistinct(def->keys) : SortKeys(*def),
               NodeKindName(kind)));
  return def;
}

absl::StatusOr<NodeDefPtr> NamedDef(NodeDef def, std::vector<std::string> names) {
  TESSERA_RETURN_IF_ERROR(CheckTexts(def));
  const std::string what = Concat(NodeKindName(def.kind), " ", def.type_name);
  def.arity = names.size();
  def.keys.assign(std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
  for (const DictKey& key : def.keys) TESSERA_RETURN_IF_ERROR(Prefixed(CheckUtf8(key), what));
  TESSERA_RETURN_IF_ERROR(Prefixed(SortedOrder(def.keys).status(), what));
  return std::make_shared<const NodeDef>(std::move(def));
}

absl::StatusOr<NodeDefPtr> UnnamedCustomDef(std::string type_name, std::string static_data,
                                            size_t arity) {
  auto def = std::make_shared<NodeDef>();
  def->kind = NodeKind::kCustom;
  def->arity = arity;
  def->type_name = std::move(type_name);
  def->static_data = std::move(static_data);
  TESSERA_RETURN_IF_ERROR(CheckTexts(*def));
  return def;
}

std::string DescribeNode(NodeKind kind, const NodeDef* def) {
  const std::string_view name = NodeKindName(kind);
  if (def == nullptr) return std::string(name);
  if (def->type_name.empty()) return Concat(name, " of ", def->arity);
  return Concat(name, " ", def->type_name, " of ", def->arity);
}

std::optional<std::string> NodeDifference(NodeKind kind_a, const NodeDef* a, NodeKind kind_b,
                                          const NodeDef* b) {
  if (kind_a == kind_b && (a == b || *a == *b)) return std::nullopt;
  const std::string left = DescribeNode(kind_a, a);
  const std::string right = DescribeNode(kind_b, b);
  const std::string what = left == right ? left : Concat(left, " vs ", right);
  if (kind_a != kind_b || a->type_name != b->type_name) return what;
  if (a->keys != b->keys) return Concat(what, ": ", KeyDifference(*a, *b));
  if (a->arity != b->arity) return what;
  return Concat(what, ": ", StaticDifference(*a, *b));
}

}  // namespace tessera::tree
