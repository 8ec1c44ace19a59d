#include "tessera/ledger/manifest.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tessera/core/reserve_large.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/json_document.h"
#include "tessera/ledger/json_writer.h"
#include "tessera/ledger/paths.h"
#include "tessera/ledger/stored_record_json.h"

namespace tessera::ledger {
namespace {

constexpr int64_t kSchema = 1;
constexpr std::string_view kHead = R"({"digest":")";
constexpr std::string_view kHeadEnd = "\",\n";
constexpr size_t kDigitCount = 32;

// The documents that arrays have, each once.
class DocumentTable {
 public:
  size_t Add(std::string_view document) {
    const auto [found, is_new] = numbers_.emplace(document, documents_.size());
    if (is_new) documents_.push_back(document);
    return found->second;
  }
  const std::vector<std::string_view>& documents() const { return documents_; }

 private:
  std::unordered_map<std::string_view, size_t> numbers_;
  std::vector<std::string_view> documents_;
};

void WriteArray(const ArrayManifest& array, size_t document, JsonWriter& out) {
  out.BreakLine();
  out.BeginArray();
  out.String(array.path);
  out.String(array.metadata_name);
  out.Unsigned(document);
  out.BeginArray();
  for (const StoredRecord& chunk : array.chunks) WriteStoredRow(chunk, out);
  out.EndArray();
  out.EndArray();
}

void WriteHead(const Manifest& manifest, JsonWriter& out) {
  out.Key("schema");
  out.Integer(kSchema);
  out.Key("id");
  out.String(manifest.id);
  out.Key("prefix");
  out.String(manifest.prefix);
  out.Key("index");
  out.Hash(manifest.index_digest);
  if (manifest.replaces.empty()) return;
  out.Key("replaces");
  out.String(manifest.replaces);
}

void WriteArrays(const Manifest& manifest, JsonWriter& out) {
  DocumentTable table;
  std::vector<size_t> numbers;
  for (const ArrayManifest& array : manifest.arrays) numbers.push_back(table.Add(array.metadata));
  out.Key("metadata");
  out.BeginArray();
  for (const std::string_view document : table.documents()) out.String(document);
  out.EndArray();
  out.Key("arrays");
  out.BeginArray();
  for (size_t i = 0; i < manifest.arrays.size(); ++i) {
    WriteArray(manifest.arrays[i], numbers[i], out);
  }
  out.EndArray();
}

// What the first line says of the rest.
absl::StatusOr<std::string_view> CheckedRest(std::string_view text) {
  const size_t head = kHead.size() + kDigitCount + kHeadEnd.size();
  const std::string_view line = text.substr(0, head);
  if (line.size() < head || !line.starts_with(kHead) || !line.ends_with(kHeadEnd)) {
    return DataLoss("it does not begin like a manifest: ", Quoted(text.substr(0, 40)));
  }
  const std::string_view digits = line.substr(kHead.size(), kDigitCount);
  const std::string_view rest = text.substr(head);
  if (const std::string found = HashOf(rest).Hex(); found != digits) {
    return DataLoss("the manifest is damaged: its digest is ", found, ", its first line says ",
                    Quoted(digits));
  }
  return rest;
}

absl::Status CheckSchema(JsonValue root) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t schema, SizeField(root, "schema"));
  if (schema == kSchema) return absl::OkStatus();
  return InvalidArgument("schema: found ", schema, ", this version reads ", kSchema);
}

absl::StatusOr<std::vector<std::string>> ReadDocuments(JsonValue root) {
  TESSERA_ASSIGN_OR_RETURN(const JsonValue list, Field(root, "metadata", JsonKind::kArray));
  absl::StatusOr<std::vector<std::string>> documents = ToTexts(list);
  if (!documents.ok()) return Inside(documents.status(), "metadata");
  return documents;
}

absl::Status CheckMetadataName(std::string_view name) {
  if (name == ".zarray" || name == "zarr.json" || name == "tensor.json") return absl::OkStatus();
  return InvalidArgument("[1]: expected '.zarray', 'zarr.json' or 'tensor.json', found ",
                         Quoted(name));
}

absl::Status ReadArray(JsonValue value, const std::vector<std::string>& documents,
                       ArrayManifest& array) {
  if (!IsListOf(value, 4)) return InvalidArgument(": expected a list of 4 values");
  const JsonValue path = *value.items().begin();
  const JsonValue name = path.Next();
  const JsonValue number = name.Next();
  TESSERA_RETURN_IF_ERROR(ReadText(path, array.path));
  TESSERA_RETURN_IF_ERROR(Prefixed(CheckSafeArray(array.path), ""));
  TESSERA_RETURN_IF_ERROR(ReadText(name, array.metadata_name));
  TESSERA_RETURN_IF_ERROR(CheckMetadataName(array.metadata_name));
  TESSERA_ASSIGN_OR_RETURN(const int64_t document, ToSize(number));
  if (static_cast<uint64_t>(document) >= documents.size()) {
    return InvalidArgument("[2]: document ", document, " of ", documents.size());
  }
  array.metadata = documents[static_cast<size_t>(document)];
  absl::StatusOr<std::vector<StoredRecord>> chunks = ReadStoredRows(number.Next());
  if (!chunks.ok()) return Inside(chunks.status(), "[3]");
  array.chunks = *std::move(chunks);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ArrayManifest>> ReadArrays(JsonValue root) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> documents, ReadDocuments(root));
  TESSERA_ASSIGN_OR_RETURN(const JsonValue list, Field(root, "arrays", JsonKind::kArray));
  std::vector<ArrayManifest> arrays;
  // An array with one chunk has so many: a list and its four values, a row and its three.
  constexpr size_t kValuesPerArray = 9;
  ReserveLarge(arrays, list.value_count() / kValuesPerArray);
  for (const JsonValue item : list.items()) {
    const absl::Status status = ReadArray(item, documents, arrays.emplace_back());
    if (!status.ok()) return Inside(status, Concat("arrays[", arrays.size() - 1, "]"));
  }
  return arrays;
}

absl::Status CheckApart(const std::vector<ArrayManifest>& arrays) {
  std::vector<std::string_view> paths;
  for (const ArrayManifest& array : arrays) paths.push_back(array.path);
  if (const std::optional<Collision> nested = FindNested(paths)) {
    return InvalidArgument("arrays: paths collide: ", Quoted(paths[nested->inner]), " lies inside ",
                           Quoted(paths[nested->outer]));
  }
  if (!std::is_sorted(paths.begin(), paths.end())) std::sort(paths.begin(), paths.end());
  const auto twice = std::adjacent_find(paths.begin(), paths.end());
  if (twice == paths.end()) return absl::OkStatus();
  return InvalidArgument("arrays: the path ", Quoted(*twice), " stands twice");
}

absl::StatusOr<Manifest> ReadManifest(JsonValue root) {
  Manifest manifest;
  TESSERA_RETURN_IF_ERROR(CheckSchema(root));
  TESSERA_ASSIGN_OR_RETURN(manifest.id, TextField(root, "id"));
  TESSERA_ASSIGN_OR_RETURN(manifest.prefix, TextField(root, "prefix"));
  TESSERA_ASSIGN_OR_RETURN(manifest.index_digest, HashField(root, "index"));
  if (root.Find("replaces").has_value()) {
    TESSERA_ASSIGN_OR_RETURN(manifest.replaces, TextField(root, "replaces"));
  }
  TESSERA_ASSIGN_OR_RETURN(manifest.arrays, ReadArrays(root));
  TESSERA_RETURN_IF_ERROR(CheckApart(manifest.arrays));
  TESSERA_ASSIGN_OR_RETURN(const JsonValue files, Field(root, "files", JsonKind::kArray));
  absl::StatusOr<std::vector<StoredRecord>> records = ReadStoredRows(files);
  if (!records.ok()) return Inside(records.status(), "files");
  manifest.files = *std::move(records);
  return manifest;
}

}  // namespace

absl::StatusOr<std::string> EncodeManifest(const Manifest& manifest) {
  JsonWriter out(JsonStyle::kCompact);
  out.BeginObject();
  WriteHead(manifest, out);
  WriteArrays(manifest, out);
  out.Key("files");
  out.BeginArray();
  for (const StoredRecord& file : manifest.files) WriteStoredRow(file, out);
  out.EndArray();
  out.EndObject();
  absl::StatusOr<std::string> text = out.Finish();
  if (!text.ok()) return Prefixed(text.status(), "manifest");
  text->erase(0, 1);
  return Concat(kHead, HashOf(*text).Hex(), kHeadEnd, *text);
}

absl::StatusOr<Manifest> DecodeManifest(std::string_view text) {
  TESSERA_RETURN_IF_ERROR(CheckedRest(text));
  TESSERA_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::Scan(text));
  return ReadManifest(json.root());
}

}  // namespace tessera::ledger
