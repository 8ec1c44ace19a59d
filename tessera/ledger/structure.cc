#include "tessera/ledger/structure.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/ledger/json_writer.h"
#include "tessera/ledger/structure_json.h"
#include "tessera/tree/walk.h"

namespace tessera::ledger {
namespace {

using tree::DictKey;
using tree::NodeDef;
using tree::NodeKind;

// The shortest text that reads back as `value`, with what makes a float of it in any reader.
void WriteFinite(double value, JsonWriter& out) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  std::string text(std::begin(digits), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  out.Token(text);
}

// JSON has no number for the others: their bits as 16 digits.
void WriteFloat(double value, JsonWriter& out) {
  if (std::isfinite(value)) return WriteFinite(value, out);
  out.String(Hash128{0, std::bit_cast<uint64_t>(value)}.Hex().substr(16));
}

struct ScalarWriter {
  void operator()(bool value) const { out.Bool(value); }
  void operator()(int64_t value) const { out.Integer(value); }
  void operator()(double value) const { WriteFloat(value, out); }
  void operator()(const std::complex<double>& value) const {
    out.BeginArray();
    WriteFloat(value.real(), out);
    WriteFloat(value.imag(), out);
    out.EndArray();
  }
  void operator()(const std::string& value) const { out.String(value); }

  JsonWriter& out;
};

struct LeafWriter {
  void operator()(const ArrayLeaf& leaf) const { out.Integer(leaf.record); }
  void operator()(const tree::Scalar& scalar) const {
    out.BeginObject();
    out.Key(tree::ScalarTypeName(scalar));
    std::visit(ScalarWriter{out}, scalar);
    out.EndObject();
  }
  void operator()(const OpaqueLeaf& leaf) const {
    out.BeginObject();
    out.Key("opaque");
    out.String(leaf.type_name);
    out.EndObject();
  }

  JsonWriter& out;
};

// Keys nest at most DictKey::kMaxTupleDepth deep.
void WriteKey(const DictKey& key, JsonWriter& out) {
  if (key.text() != nullptr) return out.String(*key.text());
  if (key.number() != nullptr) return out.Integer(*key.number());
  if (key.truth() != nullptr) return out.Bool(*key.truth());
  out.BeginArray();
  for (const DictKey& element : *key.tuple()) WriteKey(element, out);
  out.EndArray();
}

// What tells the children apart: their keys in the order given, or how many they are.
void WriteChildren(const NodeDef& def, JsonWriter& out) {
  const bool keyed = tree::IsMapping(def.kind) || def.kind == NodeKind::kNamedTuple ||
                     def.kind == NodeKind::kRecord || !def.keys.empty();
  if (!keyed) return out.Unsigned(def.arity);
  out.BeginArray();
  for (size_t i = 0; i < def.arity; ++i) WriteKey(def.keys[def.GivenAt(i)], out);
  out.EndArray();
}

void WriteStatics(const NodeDef& def, JsonWriter& out) {
  if (!def.static_data.empty()) {
    out.Key("static");
    out.String(def.static_data);
  }
  if (def.static_fields.empty()) return;
  out.Key("fields");
  out.BeginArray();
  for (const auto& [name, value] : def.static_fields) {
    out.String(name);
    out.String(value);
  }
  out.EndArray();
}

void WriteContainer(const NodeDef& def, JsonWriter& out) {
  out.BeginObject();
  out.Key(tree::NodeKindName(def.kind));
  WriteChildren(def, out);
  if (!def.type_name.empty()) {
    out.Key("type");
    out.String(def.type_name);
  }
  WriteStatics(def, out);
  out.EndObject();
}

void WriteNode(const SavedTree& node, JsonWriter& out) {
  if (node.is_leaf()) return std::visit(LeafWriter{out}, node.leaf());
  if (node.is_none()) return out.Null();
  WriteContainer(*node.def(), out);
}

}  // namespace

absl::Status CheckDepth(const SavedTree& tree) {
  return tree::ForEachLeaf(tree, [](const tree::KeyPathView&, const SavedLeaf&) {});
}

void WriteStructure(const SavedTree& tree, JsonWriter& out) {
  out.BeginArray();
  std::vector<const SavedTree*> left{&tree};
  while (!left.empty()) {
    const SavedTree& node = *left.back();
    left.pop_back();
    WriteNode(node, out);
    for (size_t i = node.children().size(); i > 0; --i) {
      left.push_back(&node.children()[node.def()->GivenAt(i - 1)]);
    }
  }
  out.EndArray();
}

absl::Status CheckNumbering(const SavedTree& tree, int64_t records) {
  int64_t next = 0;
  const auto check = [&](const tree::KeyPathView& path, const SavedLeaf& leaf) -> absl::Status {
    const auto* array = std::get_if<ArrayLeaf>(&leaf);
    if (array == nullptr || array->record == next++) return absl::OkStatus();
    return InvalidArgument("structure: ", path.ForMessage(), " is array ", array->record,
                           " of the list; by its place it is ", next - 1);
  };
  TESSERA_RETURN_IF_ERROR(tree::ForEachLeaf(tree, check));
  if (next == records) return absl::OkStatus();
  return InvalidArgument("structure: it has ", next, " arrays, the list ", records);
}

absl::StatusOr<std::string> EncodeStructure(const SavedTree& tree) {
  TESSERA_RETURN_IF_ERROR(Prefixed(CheckDepth(tree), "structure"));
  JsonWriter out(JsonStyle::kCompact);
  WriteStructure(tree, out);
  absl::StatusOr<std::string> text = out.Finish();
  if (!text.ok()) return Prefixed(text.status(), "structure");
  return text;
}

absl::StatusOr<SavedTree> DecodeStructure(std::string_view text, int64_t records) {
  absl::StatusOr<JsonDocument> json = JsonDocument::Scan(text);
  if (!json.ok()) return Prefixed(json.status(), "structure");
  absl::StatusOr<SavedTree> tree = ReadStructure(json->root());
  if (!tree.ok()) return Inside(tree.status(), "structure");
  TESSERA_RETURN_IF_ERROR(CheckNumbering(*tree, records));
  return tree;
}

}  // namespace tessera::ledger
