#include "tessera/commit/save_record.h"

#include <nlohmann/json.hpp>

#include "tessera/commit/checked_text.h"
#include "tessera/commit/paths.h"
#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::commit {
namespace {

constexpr int64_t kSchema = 1;
constexpr std::string_view kEnding = ".json";

}  // namespace

std::string SaveKey(std::string_view id) { return Concat(kSavesFolder, id, kEnding); }

std::string_view IdOfSaveKey(std::string_view key) {
  if (!key.starts_with(kSavesFolder) || !key.ends_with(kEnding)) return {};
  key.remove_prefix(kSavesFolder.size());
  if (key.size() < kEnding.size()) return {};
  key.remove_suffix(kEnding.size());
  return IsId(key) ? key : std::string_view();
}

std::string DataFolder(std::string_view id) { return Concat(".tessera/data/", id, "/"); }

std::string LastFolder(std::string_view id) { return Concat(".tessera/last/", id, "/"); }

std::string OwnFileStart(std::string_view id) { return Concat(kManifestsFolder, id, "."); }

std::string_view PlacementName(Placement placement) {
  return placement == Placement::kStaged ? "staged" : "in_place";
}

absl::StatusOr<Placement> PlacementFromJson(const ObjectReader& reader) {
  TESSERA_ASSIGN_OR_RETURN(const std::string name, reader.String("placement"));
  for (const Placement placement : {Placement::kStaged, Placement::kInPlace}) {
    if (name == PlacementName(placement)) return placement;
  }
  return InvalidArgument(reader.PathOf("placement"), ": expected 'staged' or 'in_place', found ",
                         Quoted(name));
}

absl::Status CheckSchema(const ObjectReader& reader) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t schema, reader.Integer("schema"));
  if (schema == kSchema) return absl::OkStatus();
  return Unimplemented(reader.PathOf("schema"), ": expected ", kSchema, ", found ", schema,
                       ": a later version of tessera is at work here");
}

absl::StatusOr<std::string> IdFromJson(const ObjectReader& reader, const char* field) {
  TESSERA_ASSIGN_OR_RETURN(std::string id, reader.String(field));
  if (IsId(id)) return id;
  return InvalidArgument(reader.PathOf(field), ": expected an id, found ", Quoted(id));
}

absl::StatusOr<std::vector<std::string>> TextsFromJson(const ObjectReader& reader,
                                                       const char* field) {
  TESSERA_ASSIGN_OR_RETURN(const Json* list, reader.Array(field));
  std::vector<std::string> texts;
  for (const Json& text : *list) {
    if (!text.is_string()) {
      return InvalidArgument(reader.PathOf(field), ": expected a list of texts");
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

absl::StatusOr<std::vector<std::string>> PathsFromJson(const ObjectReader& reader,
                                                       const char* field) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<std::string> paths, TextsFromJson(reader, field));
  for (const std::string& path : paths) {
    const absl::Status status = ValidatePath(path);
    if (!status.ok()) return Prefixed(status, reader.PathOf(field));
  }
  return paths;
}

std::string EncodeSaveRecord(const SaveRecord& record) {
  const Json json = {{"schema", kSchema},
                     {"id", record.id},
                     {"prefix", record.prefix},
                     {"paths", record.paths},
                     {"placement", PlacementName(record.placement)},
                     {"sweeping", record.sweeping},
                     {"holder", record.holder},
                     {"owner", ToJson(record.owner)},
                     {"started", record.started}};
  return AddHash(json.dump() + "\n");
}

absl::StatusOr<SaveRecord> DecodeSaveRecord(std::string_view text) {
  TESSERA_ASSIGN_OR_RETURN(const std::string_view document, RemoveHash(text));
  TESSERA_ASSIGN_OR_RETURN(const Json json, ParseJson(document));
  TESSERA_ASSIGN_OR_RETURN(const auto reader, ObjectReader::Make(json));
  TESSERA_RETURN_IF_ERROR(CheckSchema(reader));
  SaveRecord record;
  TESSERA_ASSIGN_OR_RETURN(record.id, IdFromJson(reader, "id"));
  TESSERA_ASSIGN_OR_RETURN(record.prefix, reader.String("prefix"));
  TESSERA_ASSIGN_OR_RETURN(record.paths, PathsFromJson(reader, "paths"));
  TESSERA_ASSIGN_OR_RETURN(record.placement, PlacementFromJson(reader));
  TESSERA_ASSIGN_OR_RETURN(record.sweeping, reader.Bool("sweeping"));
  TESSERA_ASSIGN_OR_RETURN(record.holder, IdFromJson(reader, "holder"));
  TESSERA_ASSIGN_OR_RETURN(const auto owner, reader.Object("owner"));
  TESSERA_ASSIGN_OR_RETURN(record.owner, OwnerFromJson(owner));
  TESSERA_ASSIGN_OR_RETURN(record.started, reader.Integer("started"));
  return record;
}

}  // namespace tessera::commit
