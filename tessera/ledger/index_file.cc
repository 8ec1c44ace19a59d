#include "tessera/ledger/index_file.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/tree/stored_path.h"

namespace tessera::ledger {
namespace {

absl::StatusOr<std::vector<std::string>> KeyFromJson(const OrderedObjectReader& record) {
  TESSERA_ASSIGN_OR_RETURN(const OrderedJson* list, record.Array("key"));
  std::vector<std::string> key;
  for (const OrderedJson& component : *list) {
    if (!component.is_string()) {
      return InvalidArgument(record.PathOf("key"), ": expected a list of strings, found ",
                             list->dump());
    }
    key.push_back(component.get<std::string>());
  }
  return key;
}

absl::StatusOr<ArrayRecord> RecordFromJson(const OrderedJson& value, std::string path) {
  TESSERA_ASSIGN_OR_RETURN(const auto reader, OrderedObjectReader::Make(value, std::move(path)));
  ArrayRecord record;
  TESSERA_ASSIGN_OR_RETURN(record.path, reader.String("path"));
  TESSERA_ASSIGN_OR_RETURN(record.shape, reader.Shape("shape"));
  TESSERA_ASSIGN_OR_RETURN(record.dtype, reader.String("dtype"));
  if (reader.Has("key")) {
    TESSERA_ASSIGN_OR_RETURN(record.key, KeyFromJson(reader));
  }
  return record;
}

absl::StatusOr<std::vector<ArrayRecord>> ListFromJson(const OrderedObjectReader& parent,
                                                      const char* field) {
  TESSERA_ASSIGN_OR_RETURN(const OrderedJson* list, parent.Array(field));
  std::vector<ArrayRecord> records;
  for (size_t i = 0; i < list->size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(ArrayRecord record,
                             RecordFromJson((*list)[i], Concat(parent.PathOf(field), "[", i, "]")));
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<std::string> PrefixComponents(std::string_view prefix) {
  std::string slashed(prefix);
  std::replace(slashed.begin(), slashed.end(), '.', '/');
  return tree::SplitLegacyPath(slashed);
}

std::string KnownPrefixes(const TensorstoreIndex& index) {
  std::string text;
  for (const auto& [prefix, arrays] : *index.prefixes) {
    text += Concat(text.empty() ? "" : ", ", "'", prefix, "'");
  }
  return text.empty() ? "none" : text;
}

}  // namespace

absl::StatusOr<TensorstoreIndex> DecodeIndexFile(std::string_view text) {
  TESSERA_ASSIGN_OR_RETURN(const OrderedJson json, ParseOrderedJson(text));
  TESSERA_ASSIGN_OR_RETURN(const auto reader, OrderedObjectReader::Make(json));
  TESSERA_ASSIGN_OR_RETURN(const std::string format, reader.String("format"));
  if (format != "tensorstore") {
    return InvalidArgument("format: expected 'tensorstore', found '", format, "'");
  }
  TensorstoreIndex index;
  if (reader.Has("version")) {
    TESSERA_ASSIGN_OR_RETURN(index.version, reader.String("version"));
  }
  if (reader.Has("prefixes")) {
    TESSERA_ASSIGN_OR_RETURN(const auto table, reader.Object("prefixes"));
    index.prefixes.emplace();
    for (const auto& [prefix, list] : table.json().items()) {
      TESSERA_ASSIGN_OR_RETURN(auto records, ListFromJson(table, prefix.c_str()));
      index.prefixes->emplace_back(prefix, std::move(records));
    }
  }
  if (reader.Has("arrays")) {
    TESSERA_ASSIGN_OR_RETURN(index.arrays, ListFromJson(reader, "arrays"));
  }
  return index;
}

absl::StatusOr<SelectedArrays> SelectArrays(const TensorstoreIndex& index,
                                            std::string_view prefix) {
  if (!index.prefixes.has_value()) {
    return SelectedArrays{std::string(prefix), index.arrays.value_or(std::vector<ArrayRecord>())};
  }
  if (prefix.empty()) {
    if (index.arrays.has_value()) return SelectedArrays{"", *index.arrays};
    if (index.prefixes->empty()) return SelectedArrays{};
    if (index.prefixes->size() == 1) {
      return SelectedArrays{index.prefixes->front().first, index.prefixes->front().second};
    }
    return InvalidArgument("the index has several prefixes, so one must be chosen: ",
                           KnownPrefixes(index));
  }
  for (const auto& [name, arrays] : *index.prefixes) {
    if (name == prefix) return SelectedArrays{name, arrays};
  }
  return InvalidArgument("the index has no prefix '", prefix, "'; known are ",
                         KnownPrefixes(index));
}

std::vector<std::string> KeyWithoutPrefix(const ArrayRecord& record, std::string_view prefix) {
  std::vector<std::string> key =
      record.key.has_value() ? *record.key : tree::SplitLegacyPath(record.path);
  // A leaf at the root, saved without a prefix, is stored as the folder itself.
  if (!record.key.has_value() && record.path == ".") key.clear();
  if (prefix.empty()) return key;
  const std::vector<std::string> whole{std::string(prefix)};
  for (const auto& start : {whole, PrefixComponents(prefix)}) {
    if (start.size() <= key.size() && std::equal(start.begin(), start.end(), key.begin())) {
      return {key.begin() + static_cast<ptrdiff_t>(start.size()), key.end()};
    }
  }
  return key;
}

}  // namespace tessera::ledger
