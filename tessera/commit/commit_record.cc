#include "tessera/commit/commit_record.h"

#include <nlohmann/json.hpp>

#include "tessera/commit/checked_text.h"
#include "tessera/commit/paths.h"
#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/store/key.h"

namespace tessera::commit {
namespace {

absl::StatusOr<Json> ToJson(const CommittedSave& save) {
  Json json = {{"id", save.id},
               {"paths", save.paths},
               {"side_files", save.side_files},
               {"obsolete_keys", save.obsolete_keys},
               {"obsolete_folders", save.obsolete_folders},
               {"placement", PlacementName(save.placement)}};
  if (save.is_files) json["last_files"] = save.last_files;
  if (save.index.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(json["index"], ledger::EncodeIndexChange(*save.index));
  }
  if (save.index_before.has_value()) json["index_before"] = *save.index_before;
  return json;
}

absl::Status ReadIndexFields(const ObjectReader& reader, CommittedSave& save) {
  if (reader.Has("index")) {
    TESSERA_ASSIGN_OR_RETURN(const std::string text, reader.String("index"));
    auto change = ledger::DecodeIndexChange(text);
    if (!change.ok()) return Prefixed(change.status(), reader.PathOf("index"));
    save.index = *std::move(change);
  }
  if (reader.Has("index_before")) {
    TESSERA_ASSIGN_OR_RETURN(save.index_before, reader.String("index_before"));
  }
  return absl::OkStatus();
}

absl::StatusOr<CommittedSave> SaveFromJson(const ObjectReader& reader) {
  CommittedSave save;
  TESSERA_ASSIGN_OR_RETURN(save.id, IdFromJson(reader, "id"));
  TESSERA_ASSIGN_OR_RETURN(save.paths, PathsFromJson(reader, "paths"));
  TESSERA_ASSIGN_OR_RETURN(save.side_files, TextsFromJson(reader, "side_files"));
  for (const std::string& name : save.side_files) {
    const absl::Status status = ValidateSideFile(name);
    if (!status.ok()) return Prefixed(status, reader.PathOf("side_files"));
  }
  save.is_files = reader.Has("last_files");
  if (save.is_files) {
    TESSERA_ASSIGN_OR_RETURN(save.last_files, PathsFromJson(reader, "last_files"));
  }
  TESSERA_ASSIGN_OR_RETURN(save.obsolete_keys, TextsFromJson(reader, "obsolete_keys"));
  for (const std::string& key : save.obsolete_keys) {
    const absl::Status status = ValidateObsoleteKey(key);
    if (!status.ok()) return Prefixed(status, reader.PathOf("obsolete_keys"));
  }
  TESSERA_ASSIGN_OR_RETURN(save.obsolete_folders, PathsFromJson(reader, "obsolete_folders"));
  TESSERA_ASSIGN_OR_RETURN(save.placement, PlacementFromJson(reader));
  TESSERA_RETURN_IF_ERROR(ReadIndexFields(reader, save));
  return save;
}

}  // namespace

absl::Status ValidateSideFile(std::string_view name) {
  const bool seal = name.starts_with(kSealsFolder);
  const absl::Status status = seal ? store::ValidateKey(name) : ValidatePath(name);
  if (status.ok()) return status;
  return Prefixed(status, Concat("side file ", Quoted(name)));
}

absl::Status ValidateObsoleteKey(std::string_view key) {
  const bool own = key.starts_with(kManifestsFolder) || key.starts_with(kSealsFolder);
  return own ? store::ValidateKey(key) : ValidatePath(key);
}

absl::StatusOr<std::string> EncodeCommitRecord(const CommitRecord& record) {
  Json json = {{"schema", 1},
               {"state", record.save.has_value() ? "committed" : "locked"},
               {"holder", record.holder},
               {"owner", ToJson(record.owner)},
               {"since", record.since}};
  if (record.save.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(json["save"], ToJson(*record.save));
  }
  return AddHash(json.dump() + "\n");
}

absl::StatusOr<CommitRecord> DecodeCommitRecord(std::string_view text) {
  TESSERA_ASSIGN_OR_RETURN(const std::string_view document, RemoveHash(text));
  TESSERA_ASSIGN_OR_RETURN(const Json json, ParseJson(document));
  TESSERA_ASSIGN_OR_RETURN(const auto reader, ObjectReader::Make(json));
  TESSERA_RETURN_IF_ERROR(CheckSchema(reader));
  CommitRecord record;
  TESSERA_ASSIGN_OR_RETURN(record.holder, IdFromJson(reader, "holder"));
  TESSERA_ASSIGN_OR_RETURN(const auto owner, reader.Object("owner"));
  TESSERA_ASSIGN_OR_RETURN(record.owner, OwnerFromJson(owner));
  TESSERA_ASSIGN_OR_RETURN(record.since, reader.Integer("since"));
  TESSERA_ASSIGN_OR_RETURN(const std::string state, reader.String("state"));
  if (state == "locked") return record;
  if (state != "committed") {
    return InvalidArgument("state: expected 'locked' or 'committed', found ", Quoted(state));
  }
  TESSERA_ASSIGN_OR_RETURN(const auto save, reader.Object("save"));
  TESSERA_ASSIGN_OR_RETURN(record.save, SaveFromJson(save));
  return record;
}

}  // namespace tessera::commit
