#include "tessera/ledger/index_file.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_map>

#include "tessera/core/reserve_large.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/index_json.h"
#include "tessera/ledger/paths.h"
#include "tessera/ledger/stored_record_json.h"
#include "tessera/ledger/structure_json.h"

namespace tessera::ledger {
namespace {

// On Windows eformer separates with backslashes.
void UseSlashes(std::string& path) {
  if (path.find('/') == std::string::npos) std::replace(path.begin(), path.end(), '\\', '/');
}

absl::Status ReadRecord(JsonValue object, ArrayRecord& record) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(object, JsonKind::kObject));
  const auto [path, shape, dtype, key] = object.FindEach({"path", "shape", "dtype", "key"});
  TESSERA_RETURN_IF_ERROR(ReadText(path, "path", record.path));
  UseSlashes(record.path);
  TESSERA_RETURN_IF_ERROR(ReadShape(shape, "shape", record.shape));
  TESSERA_RETURN_IF_ERROR(ReadText(dtype, "dtype", record.dtype));
  if (!key.has_value()) return absl::OkStatus();
  absl::StatusOr<std::vector<std::string>> components = ToTexts(*key);
  if (!components.ok()) return Inside(components.status(), "key");
  record.key = *std::move(components);
  return absl::OkStatus();
}

// Calls fn(key, value), which returns a status, for each member of `object`.
template <typename Fn>
absl::Status ForEachMember(JsonValue object, Fn&& fn) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(object, JsonKind::kObject));
  const JsonValue::Range items = object.items();
  for (auto at = items.begin(); at != items.end(); ++at) {
    std::string key = *(*at).Text();
    ++at;
    if (const absl::Status status = fn(key, *at); !status.ok()) return Inside(status, key);
  }
  return absl::OkStatus();
}

// A schema's fields are known: another name is a damaged one, and what it held must not be missed.
absl::Status ExpectOnly(JsonValue object, std::initializer_list<std::string_view> known) {
  return ForEachMember(object, [&](const std::string& key, JsonValue) {
    const bool found = std::find(known.begin(), known.end(), key) != known.end();
    return found ? absl::OkStatus() : InvalidArgument(": no such field is known");
  });
}

absl::Status ReadPrefixes(JsonValue table, TensorstoreIndex& index) {
  index.prefixes.emplace();
  return ForEachMember(table, [&](const std::string& prefix, JsonValue list) -> absl::Status {
    TESSERA_ASSIGN_OR_RETURN(std::vector<ArrayRecord> records, ReadRecords(list));
    index.prefixes->emplace_back(prefix, std::move(records));
    return absl::OkStatus();
  });
}

absl::Status ReadNotes(JsonValue table, TensorstoreIndex& index) {
  return ForEachMember(table, [&](const std::string& prefix, JsonValue json) -> absl::Status {
    if (prefix.empty()) return InvalidArgument(": a note with an empty prefix");
    TESSERA_ASSIGN_OR_RETURN(PrefixNote note, ReadNote(json));
    index.notes.emplace_back(prefix, std::move(note));
    return absl::OkStatus();
  });
}

absl::Status CheckIndexSchema(JsonValue json) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t schema, SizeField(json, "schema"));
  if (schema == kIndexSchema) return absl::OkStatus();
  return InvalidArgument("schema: found ", schema, ", this version reads ", kIndexSchema);
}

// Member "tessera".
absl::Status ReadOwn(JsonValue json, TensorstoreIndex& index) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(json, JsonKind::kObject));
  TESSERA_RETURN_IF_ERROR(CheckIndexSchema(json));
  TESSERA_RETURN_IF_ERROR(ExpectOnly(json, {"schema", "files", "prefixes", "arrays"}));
  if (const auto files = json.Find("files")) {
    absl::StatusOr<std::vector<StoredRecord>> records = ReadStoredRows(*files);
    if (!records.ok()) return Inside(records.status(), "files");
    index.files = *std::move(records);
  }
  if (const auto list = json.Find("arrays")) {
    absl::StatusOr<PrefixNote> note = ReadNote(*list);
    if (!note.ok()) return Inside(note.status(), "arrays");
    index.notes.emplace_back("", *std::move(note));
  }
  if (const auto table = json.Find("prefixes")) {
    if (const auto status = ReadNotes(*table, index); !status.ok()) {
      return Inside(status, "prefixes");
    }
  }
  return absl::OkStatus();
}

// Other programs replace a list and leave our note of it behind, whose structure then fits no more.
// None takes a list away: a note without one has a damaged name, and its list would pass for one
// that nobody vouches for.
absl::Status FitNotes(TensorstoreIndex& index) {
  std::unordered_map<std::string_view, size_t> counts;
  if (index.arrays.has_value()) counts[""] = index.arrays->size();
  if (index.prefixes.has_value()) {
    for (const auto& [prefix, records] : *index.prefixes) {
      if (!prefix.empty()) counts[prefix] = records.size();
    }
  }
  for (auto& [prefix, note] : index.notes) {
    const auto found = counts.find(prefix);
    if (found == counts.end()) {
      return InvalidArgument("tessera: a note of prefix ", Quoted(prefix),
                             ", of which the index has no list");
    }
    if (!note.structure.has_value()) continue;
    const auto records = static_cast<int64_t>(found->second);
    if (!CheckNumbering(*note.structure, records).ok()) note.structure.reset();
  }
  return absl::OkStatus();
}

template <typename Predicate>
KeyView SplitWhere(std::string_view text, Predicate is_separator) {
  KeyView parts;
  while (true) {
    const auto end = std::find_if(text.begin(), text.end(), is_separator);
    const auto size = static_cast<size_t>(end - text.begin());
    parts.push_back(text.substr(0, size));
    if (end == text.end()) return parts;
    text.remove_prefix(size + 1);
  }
}

KeyView WholeKey(const ArrayRecord& record) {
  if (record.key.has_value()) return {record.key->begin(), record.key->end()};
  // A leaf at the root, saved without a prefix, is stored as the folder itself.
  if (record.path == ".") return {};
  return SplitWhere(record.path, [](char c) { return c == '/'; });
}

std::string KnownPrefixes(const TensorstoreIndex& index) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < std::min(index.prefixes->size(), kMost); ++i) {
    text += Concat(i == 0 ? "" : ", ", Quoted((*index.prefixes)[i].first));
  }
  if (index.prefixes->size() > kMost) text += ", ...";
  return text.empty() ? "none" : text;
}

}  // namespace

absl::StatusOr<std::vector<ArrayRecord>> ReadRecords(JsonValue list) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(list, JsonKind::kArray));
  std::vector<ArrayRecord> records;
  // A record has at least so many: itself, three names, path, shape and dtype.
  constexpr size_t kValuesPerRecord = 7;
  ReserveLarge(records, list.value_count() / kValuesPerRecord);
  for (const JsonValue item : list.items()) {
    const absl::Status status = ReadRecord(item, records.emplace_back());
    if (!status.ok()) return Inside(status, Concat("[", records.size() - 1, "]"));
  }
  return records;
}

absl::StatusOr<PrefixNote> ReadNote(JsonValue object) {
  PrefixNote note;
  TESSERA_RETURN_IF_ERROR(ExpectOnly(object, {"manifest", "nbytes", "structure"}));
  if (object.Find("manifest").has_value()) {
    TESSERA_ASSIGN_OR_RETURN(note.manifest, TextField(object, "manifest"));
    const absl::Status safe = Prefixed(CheckSafeFile(note.manifest), "");
    if (!safe.ok()) return Inside(safe, "manifest");
  }
  TESSERA_ASSIGN_OR_RETURN(note.nbytes, SizeField(object, "nbytes"));
  if (const auto json = object.Find("structure")) {
    absl::StatusOr<SavedTree> structure = ReadStructure(*json);
    if (!structure.ok()) return Inside(structure.status(), "structure");
    note.structure = *std::move(structure);
  }
  return note;
}

absl::StatusOr<TensorstoreIndex> ReadIndex(JsonValue root) {
  if (const auto status = ExpectKind(root, JsonKind::kObject); !status.ok()) {
    return Inside(status, "document");
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string format, TextField(root, "format"));
  if (format != "tensorstore") {
    return InvalidArgument("format: expected 'tensorstore', found ", Quoted(format));
  }
  TensorstoreIndex index;
  if (root.Find("version").has_value()) {
    TESSERA_ASSIGN_OR_RETURN(index.version, TextField(root, "version"));
  }
  if (const auto table = root.Find("prefixes")) {
    const absl::Status status = ReadPrefixes(*table, index);
    if (!status.ok()) return Inside(status, "prefixes");
  }
  if (const auto list = root.Find("arrays")) {
    absl::StatusOr<std::vector<ArrayRecord>> records = ReadRecords(*list);
    if (!records.ok()) return Inside(records.status(), "arrays");
    index.arrays = *std::move(records);
  }
  if (const auto own = root.Find("tessera")) {
    const absl::Status status = ReadOwn(*own, index);
    if (!status.ok()) return Inside(status, "tessera");
  }
  TESSERA_RETURN_IF_ERROR(FitNotes(index));
  return index;
}

absl::StatusOr<TensorstoreIndex> DecodeIndexFile(std::string_view text) {
  TESSERA_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::Scan(text, NanTokens::kAccept));
  return ReadIndex(json.root());
}

absl::Status CheckRecords(std::span<const ArrayRecord> records) {
  std::vector<std::string_view> paths;
  paths.reserve(records.size());
  for (const ArrayRecord& record : records) {
    TESSERA_RETURN_IF_ERROR(
        Prefixed(CheckSafeArray(record.path), Concat("index entry ", paths.size())));
    paths.push_back(record.path);
  }
  const std::optional<Collision> nested = FindNested(paths);
  if (!nested.has_value()) return absl::OkStatus();
  return InvalidArgument("index: paths collide: entry ", nested->inner, ", ",
                         Quoted(paths[nested->inner]), ", lies inside entry ", nested->outer, ", ",
                         Quoted(paths[nested->outer]));
}

absl::StatusOr<SelectedArrays> SelectArrays(const TensorstoreIndex& index,
                                            std::string_view prefix) {
  if (!index.prefixes.has_value()) {
    if (!index.arrays.has_value()) return SelectedArrays{std::string(prefix), {}};
    return SelectedArrays{std::string(prefix), *index.arrays};
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
  return InvalidArgument("the index has no prefix ", Quoted(prefix), "; known are ",
                         KnownPrefixes(index));
}

KeyView ViewKeyWithoutPrefix(const ArrayRecord& record, std::string_view prefix) {
  KeyView key = WholeKey(record);
  if (prefix.empty()) return key;
  const KeyView components = SplitWhere(prefix, [](char c) { return c == '.' || c == '/'; });
  for (const KeyView& start : {KeyView{prefix}, components}) {
    if (start.size() <= key.size() && std::equal(start.begin(), start.end(), key.begin())) {
      return {key.begin() + static_cast<ptrdiff_t>(start.size()), key.end()};
    }
  }
  return key;
}

std::vector<std::string> KeyWithoutPrefix(const ArrayRecord& record, std::string_view prefix) {
  const KeyView key = ViewKeyWithoutPrefix(record, prefix);
  return {key.begin(), key.end()};
}

}  // namespace tessera::ledger
