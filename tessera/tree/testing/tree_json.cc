#include "tessera/tree/testing/tree_json.h"

#include <utility>
#include <vector>

#include "tessera/core/status.h"

namespace tessera::tree::testing {
namespace {

using Json = nlohmann::ordered_json;
using TextTree = Tree<std::string>;

absl::StatusOr<TextTree> Parse(const Json& json, int depth);

absl::StatusOr<TextTree> ParseObject(const std::string& kind, const Json& body, int depth) {
  std::vector<std::pair<std::string, TextTree>> fields;
  for (const auto& [key, value] : body.items()) {
    TESSERA_ASSIGN_OR_RETURN(TextTree child, Parse(value, depth));
    fields.emplace_back(key, std::move(child));
  }
  if (kind == "namedtuple") return TextTree::NamedTuple(kind, std::move(fields));
  return TextTree::Dict(TextTree::Items(fields.begin(), fields.end()));
}

absl::StatusOr<TextTree> ParseArray(const std::string& kind, const Json& body, int depth) {
  std::vector<TextTree> children;
  for (const Json& value : body) {
    TESSERA_ASSIGN_OR_RETURN(TextTree child, Parse(value, depth));
    children.push_back(std::move(child));
  }
  return kind == "list" ? TextTree::List(std::move(children))
                        : TextTree::Tuple(std::move(children));
}

absl::StatusOr<TextTree> Parse(const Json& json, int depth) {
  if (depth > kMaxParseDepth) {
    return InvalidArgument("the JSON tree is nested deeper than ", kMaxParseDepth, " containers");
  }
  if (json.is_null()) return TextTree::None();
  if (json.is_string()) return TextTree::Leaf(json.get<std::string>());
  if (json.is_primitive()) return TextTree::Leaf(json.dump());
  if (!json.is_object() || json.size() != 1) {
    return InvalidArgument("a node must be a scalar or an object of one kind, not ", json.dump());
  }
  const std::string kind = json.begin().key();
  const Json& body = json.begin().value();
  if ((kind == "dict" || kind == "namedtuple") && body.is_object()) {
    return ParseObject(kind, body, depth + 1);
  }
  if ((kind == "list" || kind == "tuple") && body.is_array()) {
    return ParseArray(kind, body, depth + 1);
  }
  return InvalidArgument("unknown kind of node: ", json.dump());
}

}  // namespace

absl::StatusOr<TextTree> ParseTree(const Json& json) { return Parse(json, 0); }

TextTree MakeTree(const std::string& json_text) {
  absl::StatusOr<TextTree> tree = ParseTree(Json::parse(json_text));
  TESSERA_CHECK(tree.ok());
  return *std::move(tree);
}

}  // namespace tessera::tree::testing
