#include "tessera/ledger/testing/tree_def_cases.h"

#include <fstream>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/ledger/pickle_base64.h"

namespace tessera::ledger::testing {
namespace {

using nlohmann::json;
using tree::DictKey;
using tree::Structure;

DictKey KeyOf(const json& key) {
  if (key.is_string()) return DictKey(key.get<std::string>());
  if (key.is_boolean()) return DictKey(key.get<bool>());
  if (key.is_number()) return DictKey(key.get<int64_t>());
  DictKey::TupleElements elements;
  for (const json& element : key.at("tuple")) elements.push_back(KeyOf(element));
  return DictKey::MakeTuple(std::move(elements));
}

Structure StructureOf(const json& tree);

Structure::Items ItemsOf(const json& list) {
  Structure::Items items;
  for (const json& item : list) items.emplace_back(KeyOf(item[0]), StructureOf(item[1]));
  return items;
}

std::vector<Structure> ChildrenOf(const json& list) {
  std::vector<Structure> children;
  for (const json& child : list) children.push_back(StructureOf(child));
  return children;
}

Structure::Fields FieldsOf(const json& list) {
  Structure::Fields fields;
  for (const json& child : list) fields.emplace_back(Concat(fields.size()), StructureOf(child));
  return fields;
}

Structure StructureOf(const json& tree) {
  if (tree.is_null()) return Structure::None();
  if (tree.is_string()) return Structure(tree::LeafMark{});
  const std::string kind = tree.begin().key();
  const json& data = tree.begin().value();
  if (kind == "dict") return Structure::MakeDict(ItemsOf(data));
  if (kind == "ordered") return Structure::MakeOrderedDict(ItemsOf(data));
  if (kind == "default") return *Structure::DefaultDict(data[0], ItemsOf(data[1]));
  if (kind == "list") return Structure::List(ChildrenOf(data));
  if (kind == "tuple") return Structure::Tuple(ChildrenOf(data));
  if (kind == "named") return Structure::MakeNamedTuple(data[0], FieldsOf(data[1]));
  return *Structure::Record(data[0], FieldsOf(data[1]));
}

json ReadCases() {
  std::ifstream file(TESSERA_TESTDATA "/treedefs/cases.json");
  return json::parse(file);
}

}  // namespace

const json& RecordedCases() {
  static const json& cases = *new json(ReadCases());
  return cases;
}

std::vector<TreeDefCase> RecordedTrees() {
  std::vector<TreeDefCase> trees;
  for (const json& tree : RecordedCases().at("trees")) {
    trees.push_back({FromBase64(tree[0]), StructureOf(tree[1])});
  }
  return trees;
}

std::vector<std::byte> FromBase64(const json& text) {
  auto bytes = DecodeBase64(text.get<std::string>());
  TESSERA_CHECK(bytes.ok());
  return *std::move(bytes);
}

}  // namespace tessera::ledger::testing
