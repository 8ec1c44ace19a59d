#include "tessera/tree/flat_names.h"

#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/utf8.h"

namespace tessera::tree {
namespace {

void AppendOpened(const DictKey& key, std::string_view separator, bool& first, std::string& out) {
  if (const DictKey::TupleElements* elements = key.tuple()) {
    for (const DictKey& element : *elements) AppendOpened(element, separator, first, out);
    return;
  }
  if (!std::exchange(first, false)) out += separator;
  out += key.ToText();
}

}  // namespace

absl::Status CheckSeparator(std::string_view separator) {
  if (separator.empty()) return InvalidArgument("the separator is empty");
  if (!IsValidUtf8(separator)) return InvalidArgument("the separator is not UTF-8");
  return absl::OkStatus();
}

absl::StatusOr<std::string> JoinChecked(const KeyPathView& path, std::string_view separator) {
  std::string name;
  for (size_t i = 0; i < path.size(); ++i) {
    if (i > 0) name += separator;
    const size_t begin = name.size();
    path[i].AppendText(name);
    if (name.find(separator, begin) != std::string::npos) {
      return InvalidArgument("key ", DictKey(name.substr(begin)).ToRepr(), " of leaf ",
                             path.Diagnostic(), " contains the separator '", separator, "'");
    }
  }
  return name;
}

std::string JoinWithTuplesOpened(const KeyPathView& path, std::string_view separator) {
  std::string name;
  bool first = true;
  for (size_t i = 0; i < path.size(); ++i) {
    const KeyEntryRef entry = path[i];
    if (entry.key != nullptr) {
      AppendOpened(*entry.key, separator, first, name);
    } else {
      if (!std::exchange(first, false)) name += separator;
      entry.AppendText(name);
    }
  }
  return name;
}

std::vector<std::string_view> SplitName(std::string_view name, std::string_view separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t end; (end = name.find(separator, begin)) != std::string_view::npos;
       begin = end + separator.size()) {
    parts.push_back(name.substr(begin, end - begin));
  }
  parts.push_back(name.substr(begin));
  return parts;
}

std::string JoinParts(std::span<const std::string_view> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

absl::StatusOr<size_t> NameTrie::Descend(size_t node, std::string_view component,
                                         const std::string& name) {
  const auto [entry, inserted] =
      nodes_[node].position.try_emplace(std::string(component), nodes_[node].children.size());
  if (inserted) {
    nodes_[node].children.push_back({std::string(component), false, nodes_.size()});
    nodes_.push_back({{}, {}, name});
    return nodes_.size() - 1;
  }
  const Child& child = nodes_[node].children[entry->second];
  if (!child.is_value) return child.at;
  return InvalidArgument("key '", name, "' lies inside key '", name_of_value_[child.at],
                         "', which is a leaf");
}

absl::Status NameTrie::Add(const std::string& name, std::span<const std::string_view> parts,
                           size_t value) {
  if (parts.empty()) return InvalidArgument("a leaf at the root cannot stand beside others");
  if (parts.size() > kMaxComponents) {
    return InvalidArgument("a key of ", parts.size(), " components, '", name.substr(0, 32),
                           "...', nests deeper than ", kMaxComponents);
  }
  size_t node = 0;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(node, Descend(node, parts[i], name));
  }
  const auto [entry, inserted] =
      nodes_[node].position.try_emplace(std::string(parts.back()), nodes_[node].children.size());
  if (!inserted) {
    const Child& child = nodes_[node].children[entry->second];
    if (child.is_value) return InvalidArgument("key '", name, "' is given twice");
    return InvalidArgument("key '", nodes_[child.at].first_name, "' lies inside key '", name,
                           "', which is a leaf");
  }
  nodes_[node].children.push_back({std::string(parts.back()), true, value});
  if (name_of_value_.size() <= value) name_of_value_.resize(value + 1);
  name_of_value_[value] = name;
  return absl::OkStatus();
}

}  // namespace tessera::tree
