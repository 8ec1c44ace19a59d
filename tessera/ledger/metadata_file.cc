#include "tessera/ledger/metadata_file.h"

#include <algorithm>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/json_document.h"
#include "tessera/ledger/json_writer.h"

namespace tessera::ledger {
namespace {

constexpr size_t kSha256Digits = 64;

absl::Status ExpectDocument(JsonValue root) {
  const absl::Status status = ExpectKind(root, JsonKind::kObject);
  return status.ok() ? status : Inside(status, "document");
}

absl::StatusOr<std::string> ReadChecksum(JsonValue value) {
  TESSERA_ASSIGN_OR_RETURN(std::string digits, ToText(value));
  if (digits.size() != kSha256Digits ||
      digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return InvalidArgument(": expected 64 hexadecimal digits, found ", Quoted(digits));
  }
  return digits;
}

absl::StatusOr<SavedArrayType> ReadArrayType(JsonValue object) {
  SavedArrayType type;
  TESSERA_ASSIGN_OR_RETURN(type.dtype, TextField(object, "dtype"));
  TESSERA_ASSIGN_OR_RETURN(const JsonValue sizes, Field(object, "shape"));
  absl::StatusOr<Dims> shape = ToShape(sizes);
  if (!shape.ok()) return Inside(shape.status(), "shape");
  type.shape = *std::move(shape);
  return type;
}

// The object `name`, if it is there, with every value read by `read`.
template <typename T>
absl::Status ReadTable(JsonValue root, std::string_view name, absl::StatusOr<T> (*read)(JsonValue),
                       std::map<std::string, T>& table) {
  if (!root.Find(name).has_value()) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const JsonValue object, Field(root, name, JsonKind::kObject));
  const JsonValue::Range items = object.items();
  for (auto at = items.begin(); at != items.end(); ++at) {
    std::string key = *(*at).Text();
    ++at;
    absl::StatusOr<T> value = read(*at);
    if (!value.ok()) return Inside(Inside(value.status(), Concat("[", Quoted(key), "]")), name);
    table.emplace(std::move(key), *std::move(value));
  }
  return absl::OkStatus();
}

absl::Status ReadOptionalText(JsonValue root, std::string_view name, std::string& text) {
  if (!root.Find(name).has_value()) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(text, TextField(root, name));
  return absl::OkStatus();
}

void WriteArrayTypes(const std::map<std::string, SavedArrayType>& types, JsonWriter& out) {
  out.BeginObject();
  for (const auto& [key, type] : types) {
    out.Key(key);
    out.BeginObject();
    out.Key("dtype");
    out.String(type.dtype);
    out.Key("shape");
    out.Integers(type.shape);
    out.EndObject();
  }
  out.EndObject();
}

void WriteChecksums(const std::map<std::string, std::string>& checksums, JsonWriter& out) {
  out.BeginObject();
  for (const auto& [key, digits] : checksums) {
    out.Key(key);
    out.String(digits);
  }
  out.EndObject();
}

absl::Status WriteCustom(std::string_view text, JsonWriter& out) {
  const absl::StatusOr<JsonDocument> json = JsonDocument::Scan(text, NanTokens::kAccept);
  if (!json.ok()) return Prefixed(json.status(), "custom_metadata");
  out.Copy(json->root());
  return absl::OkStatus();
}

}  // namespace

std::string_view WriterVersion() { return "tessera-" TESSERA_VERSION; }

absl::StatusOr<std::string> EncodeCheckpointMetadata(const CheckpointMetadata& metadata) {
  JsonWriter out(JsonStyle::kOneLine);
  out.BeginObject();
  out.Key("version");
  out.String(metadata.version);
  out.Key("timestamp");
  out.String(metadata.timestamp);
  out.Key("checksum");
  WriteChecksums(metadata.checksum, out);
  out.Key("array_metadata");
  WriteArrayTypes(metadata.array_metadata, out);
  out.Key("framework_version");
  metadata.framework_version.has_value() ? out.String(*metadata.framework_version) : out.Null();
  out.Key("custom_metadata");
  TESSERA_RETURN_IF_ERROR(WriteCustom(metadata.custom_metadata, out));
  out.EndObject();
  return out.Finish();
}

absl::StatusOr<CheckpointMetadata> DecodeCheckpointMetadata(std::string_view text) {
  TESSERA_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::Scan(text, NanTokens::kAccept));
  const JsonValue root = json.root();
  TESSERA_RETURN_IF_ERROR(ExpectDocument(root));
  CheckpointMetadata metadata;
  TESSERA_RETURN_IF_ERROR(ReadOptionalText(root, "version", metadata.version));
  TESSERA_RETURN_IF_ERROR(ReadOptionalText(root, "timestamp", metadata.timestamp));
  TESSERA_RETURN_IF_ERROR(ReadTable(root, "checksum", &ReadChecksum, metadata.checksum));
  TESSERA_RETURN_IF_ERROR(
      ReadTable(root, "array_metadata", &ReadArrayType, metadata.array_metadata));
  const std::optional<JsonValue> framework = root.Find("framework_version");
  if (framework.has_value() && !framework->is(JsonKind::kNull)) {
    TESSERA_ASSIGN_OR_RETURN(metadata.framework_version, TextField(root, "framework_version"));
  }
  if (const auto custom = root.Find("custom_metadata")) {
    JsonWriter out(JsonStyle::kOneLine);
    out.Copy(*custom);
    metadata.custom_metadata = out.text();
  }
  return metadata;
}

absl::StatusOr<std::string> EncodeRunMetadata(const RunMetadata& metadata) {
  JsonWriter out(JsonStyle::kOneLine);
  out.BeginObject();
  out.Key("step");
  out.Integer(metadata.step);
  out.Key("timestamp");
  out.String(metadata.timestamp);
  out.Key("is_temporary");
  out.Bool(metadata.is_temporary);
  out.EndObject();
  return out.Finish();
}

absl::StatusOr<RunMetadata> DecodeRunMetadata(std::string_view text) {
  TESSERA_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::Scan(text, NanTokens::kAccept));
  const JsonValue root = json.root();
  TESSERA_RETURN_IF_ERROR(ExpectDocument(root));
  RunMetadata metadata;
  TESSERA_ASSIGN_OR_RETURN(const JsonValue number, Field(root, "step"));
  const absl::StatusOr<int64_t> step = ToInteger(number);
  if (!step.ok()) return Inside(step.status(), "step");
  metadata.step = *step;
  TESSERA_ASSIGN_OR_RETURN(metadata.timestamp, TextField(root, "timestamp"));
  const absl::StatusOr<Timestamp> time = ParseTimestamp(metadata.timestamp);
  if (!time.ok()) return Prefixed(time.status(), "timestamp");
  metadata.time = *time;
  if (root.Find("is_temporary").has_value()) {
    TESSERA_ASSIGN_OR_RETURN(const JsonValue flag, Field(root, "is_temporary", JsonKind::kBool));
    metadata.is_temporary = flag.raw() == "true";
  }
  return metadata;
}

}  // namespace tessera::ledger
