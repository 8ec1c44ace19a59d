#include "tessera/mesh/rules_file.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/core/yaml.h"

namespace tessera::mesh {
namespace {

struct Document {
  Json value;
  std::vector<int64_t> item_lines;  // of the items of a list
};

constexpr std::string_view kSpace = " \t\r\n";

// The line of each item of the list that a JSON text is.  REQUIRES: `text` is JSON.
std::vector<int64_t> ItemLines(std::string_view text) {
  std::vector<int64_t> lines;
  int64_t line = 1;
  int depth = 0;
  bool expects_item = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (kSpace.find(c) != std::string_view::npos) continue;
    if (depth == 1 && expects_item && c != ']') lines.push_back(line);
    expects_item = false;
    if (c == '[' || c == '{') {
      expects_item = ++depth == 1;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',') {
      expects_item = depth == 1;
    } else if (c == '"') {
      for (++i; text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    }
  }
  return lines;
}

// JSON's errors tell a byte; people look for a line.
std::string LineOf(const absl::Status& status, std::string_view text) {
  constexpr std::string_view kAtByte = "bad JSON at byte ";
  const std::string message(status.message());
  if (!message.starts_with(kAtByte)) return message;
  const size_t byte = std::min(std::stoul(message.substr(kAtByte.size())), text.size() + 1);
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const size_t newline = before.rfind('\n');
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  return Concat("bad JSON at line ", std::count(before.begin(), before.end(), '\n') + 1,
                ", column ", before.size() - begin + 1);
}

absl::StatusOr<Document> AsJson(std::string_view text) {
  auto value = ParseJson(text);
  if (!value.ok()) return InvalidArgument(LineOf(value.status(), text));
  return Document{*std::move(value), ItemLines(text)};
}

absl::StatusOr<Document> AsYaml(std::string_view text) {
  Document document;
  TESSERA_ASSIGN_OR_RETURN(document.value, ParseYaml(text, &document.item_lines));
  return document;
}

// Whether what is neither was meant as JSON: its first text stands in double quotes.
bool MeantAsJson(std::string_view text) {
  const size_t first = text.find_first_not_of(Concat(kSpace, "[{"));
  return first == std::string_view::npos || text[first] == '"';
}

absl::StatusOr<Document> Parse(std::string_view text, std::string_view name) {
  if (name.ends_with(".json")) return AsJson(text);
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos || (text[first] != '[' && text[first] != '{')) {
    return AsYaml(text);
  }
  auto json = AsJson(text);
  if (json.ok()) return json;
  auto yaml = AsYaml(text);
  const bool says_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
  return yaml.ok() || says_yaml || !MeantAsJson(text) ? std::move(yaml) : std::move(json);
}

// Python's word is a text to YAML, and would be taken for an axis.
absl::Status CheckAxisNames(const PartitionSpec& spec, std::string_view path) {
  for (const SpecEntry& entry : spec.entries()) {
    for (const std::string& axis : entry.axes()) {
      if (axis != "None") continue;
      return InvalidArgument(path, ": the spec ", spec.Text(),
                             " names an axis 'None'; write null for a dimension that is not split");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PartitionRule>> RulesOf(const Document& document,
                                                   std::string_view name) {
  if (!document.value.is_array()) {
    return InvalidArgument(name, ": expected a list of [pattern, spec], found ",
                           document.value.is_null() ? "nothing" : document.value.type_name());
  }
  std::vector<PartitionRule> rules;
  for (size_t i = 0; i < document.value.size(); ++i) {
    const std::string path = Concat(name, ": line ", document.item_lines[i], ": rule ", i);
    TESSERA_ASSIGN_OR_RETURN(PartitionRule rule, PartitionRuleFromJson(document.value[i], path));
    TESSERA_RETURN_IF_ERROR(CheckAxisNames(rule.spec, path));
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

absl::StatusOr<std::vector<PartitionRule>> ParseRulesFile(std::string_view text,
                                                          std::string_view name) {
  const auto document = Parse(text, name);
  if (!document.ok()) return Prefixed(document.status(), name);
  return RulesOf(*document, name);
}

}  // namespace tessera::mesh
