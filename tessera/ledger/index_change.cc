#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/index_json.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/ledger/paths.h"
#include "tessera/ledger/stored_record_json.h"
#include "tessera/ledger/structure_json.h"
#include "tessera/tree/stored_path.h"

namespace tessera::ledger {
namespace {

// Whether readers find the key in the path.
bool KeyIsInPath(const ArrayRecord& record) {
  if (record.path == ".") return record.key->empty();
  return *record.key == tree::SplitLegacyPath(record.path);
}

void WriteRecord(const ArrayRecord& record, JsonWriter& out) {
  out.BeginObject();
  out.Key("path");
  out.String(record.path);
  out.Key("shape");
  out.Integers(record.shape);
  out.Key("dtype");
  out.String(record.dtype);
  if (record.key.has_value() && !KeyIsInPath(record)) {
    out.Key("key");
    out.Strings(*record.key);
  }
  out.EndObject();
}

// A member of an object that is to be replaced, or added at its end.
struct Member {
  std::string_view key;
  std::function<void(std::optional<JsonValue> before)> write;
};

// `before` with these members instead of its own of the same keys.
void WriteObjectWith(std::optional<JsonValue> before, std::span<const Member> members,
                     JsonWriter& out) {
  std::vector<bool> written(members.size());
  out.BeginObject();
  if (before.has_value()) {
    const JsonValue::Range items = before->items();
    for (auto at = items.begin(); at != items.end(); ++at) {
      const std::string key = *(*at).Text();
      ++at;
      out.Key(key);
      const auto found = std::find_if(members.begin(), members.end(),
                                      [&](const Member& member) { return member.key == key; });
      if (found == members.end()) {
        out.Copy(*at);
      } else {
        found->write(*at);
        written[static_cast<size_t>(found - members.begin())] = true;
      }
    }
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (written[i]) continue;
    out.Key(members[i].key);
    members[i].write(std::nullopt);
  }
  out.EndObject();
}

std::vector<StoredRecord> MergedFiles(std::vector<StoredRecord> files,
                                      const std::vector<StoredRecord>& changed) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < files.size(); ++i) places.emplace(files[i].name, i);
  for (const StoredRecord& file : changed) {
    const auto [found, is_new] = places.emplace(file.name, files.size());
    if (is_new) {
      files.push_back(file);
    } else {
      files[found->second] = file;
    }
  }
  return files;
}

void WriteFiles(const std::vector<StoredRecord>& files, JsonWriter& out) {
  out.BeginArray();
  for (const StoredRecord& file : files) WriteStoredRow(file, out);
  out.EndArray();
}

// The new index.  `root` and `index` are the one before.
class ChangeWriter {
 public:
  ChangeWriter(const IndexChange& change, const TensorstoreIndex& index, JsonWriter& out)
      : change_(change), index_(index), out_(out) {}

  void Write(std::optional<JsonValue> root) {
    std::vector<Member> members;
    if (!root.has_value()) {
      members.push_back({"format", [this](auto) { out_.String("tensorstore"); }});
      members.push_back({"version", [this](auto) { out_.String(WriterVersion()); }});
    }
    // A new file has the table in any case, as eformer's have.
    if (!change_.prefix.empty() || !root.has_value()) {
      members.push_back({"prefixes", [this](auto before) { WritePrefixes(before); }});
    }
    if (change_.prefix.empty()) {
      members.push_back({"arrays", [this](auto) { WriteRecords(change_.arrays, out_); }});
    }
    members.push_back({"tessera", [this](auto before) { WriteOwn(before); }});
    WriteObjectWith(root, members, out_);
  }

 private:
  void WritePrefixes(std::optional<JsonValue> before) {
    if (change_.prefix.empty()) return WriteObjectWith(before, {}, out_);
    const Member list{change_.prefix, [this](auto) { WriteRecords(change_.arrays, out_); }};
    WriteObjectWith(before, {&list, 1}, out_);
  }

  void WriteOwn(std::optional<JsonValue> before) {
    const auto note = [this](auto) { WriteNote(change_.note, out_); };
    const auto notes = [&](std::optional<JsonValue> table) {
      const Member member{change_.prefix, note};
      WriteObjectWith(table, {&member, 1}, out_);
    };
    const Member members[] = {
        {"schema", [this](auto) { out_.Integer(kIndexSchema); }},
        {"files", [this](auto) { WriteFiles(MergedFiles(index_.files, change_.files), out_); }},
        change_.prefix.empty() ? Member{"arrays", note} : Member{"prefixes", notes},
    };
    WriteObjectWith(before, members, out_);
  }

  const IndexChange& change_;
  const TensorstoreIndex& index_;
  JsonWriter& out_;
};

// The paths of all lists but the one that is replaced, and whose they are.
struct OtherPaths {
  std::vector<std::string_view> paths;
  std::vector<std::string_view> prefixes;

  void Add(std::string_view prefix, const std::vector<ArrayRecord>& records) {
    for (const ArrayRecord& record : records) {
      paths.push_back(record.path);
      prefixes.push_back(prefix);
    }
  }
};

OtherPaths PathsBeside(const TensorstoreIndex& index, std::string_view prefix) {
  OtherPaths others;
  if (index.arrays.has_value() && !prefix.empty()) others.Add("", *index.arrays);
  if (!index.prefixes.has_value()) return others;
  for (const auto& [name, records] : *index.prefixes) {
    if (name != prefix || prefix.empty()) others.Add(name, records);
  }
  return others;
}

std::string OwnerText(std::string_view prefix) {
  return prefix.empty() ? "the list without a prefix" : Concat("prefix ", Quoted(prefix));
}

absl::Status CheckFree(const TensorstoreIndex& index, const IndexChange& change) {
  TESSERA_RETURN_IF_ERROR(CheckRecords(change.arrays));
  std::vector<std::string_view> ours;
  for (const ArrayRecord& record : change.arrays) ours.push_back(record.path);
  const OtherPaths others = PathsBeside(index, change.prefix);
  const std::optional<Encounter> met = FindEncounter(ours, others.paths);
  if (!met.has_value()) return absl::OkStatus();
  return InvalidArgument("index: paths collide: ", Quoted(ours[met->ours]), " of ",
                         OwnerText(change.prefix), " and ", Quoted(others.paths[met->theirs]),
                         " of ", OwnerText(others.prefixes[met->theirs]));
}

absl::Status CheckWritable(const IndexChange& change) {
  if (!change.note.structure.has_value()) return absl::OkStatus();
  TESSERA_RETURN_IF_ERROR(Prefixed(CheckDepth(*change.note.structure), "structure"));
  return CheckNumbering(*change.note.structure, static_cast<int64_t>(change.arrays.size()));
}

absl::StatusOr<std::string> Apply(std::optional<JsonValue> root, const TensorstoreIndex& index,
                                  const IndexChange& change) {
  TESSERA_RETURN_IF_ERROR(CheckWritable(change));
  TESSERA_RETURN_IF_ERROR(CheckFree(index, change));
  JsonWriter out(JsonStyle::kIndented);
  ChangeWriter(change, index, out).Write(root);
  absl::StatusOr<std::string> text = out.Finish();
  if (!text.ok()) return Prefixed(text.status(), "index");
  return text;
}

const std::vector<ArrayRecord>* FindList(const TensorstoreIndex& index, std::string_view prefix) {
  if (prefix.empty() || !index.prefixes.has_value()) {
    return index.arrays.has_value() ? &*index.arrays : nullptr;
  }
  for (const auto& [name, records] : *index.prefixes) {
    if (name == prefix) return &records;
  }
  return nullptr;
}

const PrefixNote* FindNote(const TensorstoreIndex& index, std::string_view prefix) {
  for (const auto& [name, note] : index.notes) {
    if (name == prefix) return &note;
  }
  return nullptr;
}

absl::StatusOr<IndexChange> ReadChange(JsonValue root) {
  IndexChange change;
  TESSERA_ASSIGN_OR_RETURN(change.prefix, TextField(root, "prefix"));
  TESSERA_ASSIGN_OR_RETURN(const JsonValue list, Field(root, "arrays"));
  absl::StatusOr<std::vector<ArrayRecord>> records = ReadRecords(list);
  if (!records.ok()) return Inside(records.status(), "arrays");
  change.arrays = *std::move(records);
  TESSERA_ASSIGN_OR_RETURN(const JsonValue json, Field(root, "note"));
  absl::StatusOr<PrefixNote> note = ReadNote(json);
  if (!note.ok()) return Inside(note.status(), "note");
  change.note = *std::move(note);
  TESSERA_ASSIGN_OR_RETURN(const JsonValue rows, Field(root, "files"));
  absl::StatusOr<std::vector<StoredRecord>> files = ReadStoredRows(rows);
  if (!files.ok()) return Inside(files.status(), "files");
  change.files = *std::move(files);
  return change;
}

}  // namespace

void WriteRecords(std::span<const ArrayRecord> records, JsonWriter& out) {
  out.BeginArray();
  for (const ArrayRecord& record : records) WriteRecord(record, out);
  out.EndArray();
}

void WriteNote(const PrefixNote& note, JsonWriter& out) {
  out.BeginObject();
  if (!note.manifest.empty()) {
    out.Key("manifest");
    out.String(note.manifest);
  }
  out.Key("nbytes");
  out.Integer(note.nbytes);
  if (note.structure.has_value()) {
    out.Key("structure");
    WriteStructure(*note.structure, out);
  }
  out.EndObject();
}

absl::StatusOr<std::string> ApplyIndexChange(std::optional<std::string_view> before,
                                             const IndexChange& change) {
  if (!before.has_value()) return Apply(std::nullopt, TensorstoreIndex(), change);
  TESSERA_ASSIGN_OR_RETURN(const JsonDocument json,
                           JsonDocument::Scan(*before, NanTokens::kAccept));
  TESSERA_ASSIGN_OR_RETURN(const TensorstoreIndex index, ReadIndex(json.root()));
  return Apply(json.root(), index, change);
}

absl::StatusOr<std::string> EncodeIndexChange(const IndexChange& change) {
  TESSERA_RETURN_IF_ERROR(CheckWritable(change));
  JsonWriter out(JsonStyle::kCompact);
  out.BeginObject();
  out.Key("prefix");
  out.String(change.prefix);
  out.Key("arrays");
  WriteRecords(change.arrays, out);
  out.Key("note");
  WriteNote(change.note, out);
  out.Key("files");
  WriteFiles(change.files, out);
  out.EndObject();
  absl::StatusOr<std::string> text = out.Finish();
  if (!text.ok()) return Prefixed(text.status(), "index change");
  return text;
}

absl::StatusOr<IndexChange> DecodeIndexChange(std::string_view text) {
  TESSERA_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::Scan(text));
  TESSERA_ASSIGN_OR_RETURN(IndexChange change, ReadChange(json.root()));
  if (change.note.structure.has_value()) {
    TESSERA_RETURN_IF_ERROR(
        CheckNumbering(*change.note.structure, static_cast<int64_t>(change.arrays.size())));
  }
  return change;
}

Hash128 IndexDigest(const TensorstoreIndex& index, std::string_view prefix) {
  const std::vector<ArrayRecord>* list = FindList(index, prefix);
  const PrefixNote* note = FindNote(index, prefix);
  if (list == nullptr && note == nullptr) return {};
  JsonWriter out(JsonStyle::kCompact);
  out.BeginArray();
  out.String("tensorstore");
  out.String(index.version);
  list == nullptr ? out.Null() : WriteRecords(*list, out);
  note == nullptr ? out.Null() : WriteNote(*note, out);
  out.EndArray();
  return HashOf(out.text());
}

}  // namespace tessera::ledger
