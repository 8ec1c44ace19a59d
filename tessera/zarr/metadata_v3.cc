#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/zarr/codec_json.h"
#include "tessera/zarr/fill_value.h"
#include "tessera/zarr/json_members.h"
#include "tessera/zarr/metadata_json.h"

namespace tessera::zarr {
namespace {

// `attributes` is not here: it changes nothing, so it goes with the other members.
constexpr std::string_view kMembersOfV3[] = {
    "chunk_grid",           "chunk_key_encoding", "codecs",    "data_type",
    "dimension_names",      "fill_value",         "node_type", "shape",
    "storage_transformers", "zarr_format"};

absl::Status CheckKind(const ObjectReader& document) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t version, document.Integer("zarr_format"));
  if (version != 3) {
    return Unimplemented("zarr_format: ", version, " is not supported here; expected 3");
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string type, document.String("node_type"));
  if (type == "array") return absl::OkStatus();
  return Unimplemented("node_type: ", Quoted(type), " is not supported here; expected array");
}

// "r16", "raw_bytes" and the two names of types with fields.
bool IsRawName(std::string_view name) {
  if (name == "raw_bytes" || name == "struct" || name == "structured") return true;
  return name.size() > 1 && name[0] == 'r' &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

absl::StatusOr<DType> TypeFromJson(const Json& value) {
  if (value.is_array()) {
    return Unimplemented("data_type: structured or raw element type ", Quoted(value.dump()));
  }
  // The name alone first, as the configuration of a type that is not supported tells nothing.
  if (value.is_object() && value.contains("name") && value["name"].is_string() &&
      IsRawName(value["name"].get_ref<const std::string&>())) {
    return TypeFromJson(value["name"]);
  }
  TESSERA_ASSIGN_OR_RETURN(const NamedJson named, NamedFromJson(value, "data_type"));
  if (IsRawName(named.name)) {
    return Unimplemented("data_type: structured or raw element type ", Quoted(named.name));
  }
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.zarr3.empty() || info.zarr3 != named.name) continue;
    TESSERA_RETURN_IF_ERROR(RefuseOthers(named.configuration, {}));
    return info.dtype;
  }
  return Unimplemented("data_type: element type ", Quoted(named.name), " is not supported");
}

absl::StatusOr<Dims> GridFromJson(const Json& value) {
  TESSERA_ASSIGN_OR_RETURN(const NamedJson named, NamedFromJson(value, "chunk_grid"));
  if (named.name != "regular") {
    return Unimplemented("chunk_grid: chunk grid ", Quoted(named.name),
                         " is not supported; expected regular");
  }
  TESSERA_RETURN_IF_ERROR(RefuseOthers(named.configuration, {"chunk_shape"}));
  return named.configuration.Shape("chunk_shape");
}

char DefaultSeparator(ChunkKeys::Style style) {
  return style == ChunkKeys::Style::kPrefix ? '/' : '.';
}

absl::StatusOr<ChunkKeys> KeysFromJson(const Json& value) {
  TESSERA_ASSIGN_OR_RETURN(const NamedJson named, NamedFromJson(value, "chunk_key_encoding"));
  if (named.name != "default" && named.name != "v2") {
    return Unimplemented("chunk_key_encoding: key encoding ", Quoted(named.name),
                         " is not supported; expected default or v2");
  }
  TESSERA_RETURN_IF_ERROR(RefuseOthers(named.configuration, {"separator"}));
  ChunkKeys keys;
  keys.style = named.name == "default" ? ChunkKeys::Style::kPrefix : ChunkKeys::Style::kBare;
  keys.separator = DefaultSeparator(keys.style);
  if (!named.configuration.Has("separator")) return keys;
  TESSERA_ASSIGN_OR_RETURN(const std::string separator, named.configuration.String("separator"));
  if (separator != "." && separator != "/") {
    return InvalidArgument(named.configuration.PathOf("separator"), ": ", Quoted(separator),
                           "; expected '.' or '/'");
  }
  keys.separator = separator[0];
  return keys;
}

Json KeysToJson(const ChunkKeys& keys) {
  Json configuration = Json::object();
  if (keys.separator != DefaultSeparator(keys.style)) {
    configuration["separator"] = std::string(1, keys.separator);
  }
  return NamedToJson(keys.style == ChunkKeys::Style::kPrefix ? "default" : "v2", configuration);
}

absl::Status CheckTransformers(const ObjectReader& document) {
  if (!document.Has("storage_transformers")) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const Json* list, document.Array("storage_transformers"));
  if (list->empty()) return absl::OkStatus();
  return Unimplemented("storage_transformers: storage transformers are not supported");
}

using Names = std::vector<std::optional<std::string>>;

absl::StatusOr<Names> NamesFromJson(const ObjectReader& document, size_t rank) {
  if (!document.Has("dimension_names")) return Names();
  TESSERA_ASSIGN_OR_RETURN(const Json* list, document.Array("dimension_names"));
  if (list->size() != rank) {
    return InvalidArgument("dimension_names: ", list->size(), " names for ", rank, " dimensions");
  }
  Names names;
  for (size_t i = 0; i < rank; ++i) {
    const Json& name = (*list)[i];
    if (!name.is_string() && !name.is_null()) {
      return InvalidArgument("dimension_names[", i, "]: expected a string or null, found ",
                             name.type_name());
    }
    names.push_back(name.is_null() ? std::nullopt : std::optional(name.get<std::string>()));
  }
  const bool none =
      std::count(names.begin(), names.end(), std::nullopt) == static_cast<ptrdiff_t>(names.size());
  return none ? Names() : names;
}

Json NamesToJson(const Names& names) {
  Json list = Json::array();
  for (const auto& name : names) list.push_back(name.has_value() ? Json(*name) : Json());
  return list;
}

}  // namespace

std::span<const std::string_view> MembersOfV3() { return kMembersOfV3; }

absl::StatusOr<Metadata> MetadataFromV3(const Json& document) {
  TESSERA_ASSIGN_OR_RETURN(const ObjectReader reader, ObjectReader::Make(document));
  TESSERA_RETURN_IF_ERROR(CheckKind(reader));
  TESSERA_RETURN_IF_ERROR(CheckTransformers(reader));
  Metadata metadata;
  metadata.format = Format::kV3;
  TESSERA_ASSIGN_OR_RETURN(metadata.shape, reader.Shape("shape"));
  TESSERA_ASSIGN_OR_RETURN(const Json* type, reader.Any("data_type"));
  TESSERA_ASSIGN_OR_RETURN(metadata.dtype, TypeFromJson(*type));
  TESSERA_ASSIGN_OR_RETURN(const Json* grid, reader.Any("chunk_grid"));
  TESSERA_ASSIGN_OR_RETURN(metadata.chunk_shape, GridFromJson(*grid));
  TESSERA_ASSIGN_OR_RETURN(const Json* keys, reader.Any("chunk_key_encoding"));
  TESSERA_ASSIGN_OR_RETURN(metadata.chunk_keys, KeysFromJson(*keys));
  TESSERA_ASSIGN_OR_RETURN(const Json* fill, reader.Any("fill_value"));
  TESSERA_ASSIGN_OR_RETURN(metadata.fill_value, FillValueFromJson(Format::kV3, metadata.dtype,
                                                                  codec::Endian::kLittle, *fill));
  TESSERA_ASSIGN_OR_RETURN(const Json* codecs, reader.Any("codecs"));
  const Elements elements = {metadata.chunk_shape.size(), DTypeBytes(metadata.dtype)};
  TESSERA_ASSIGN_OR_RETURN(metadata.codecs, CodecsFromJson(*codecs, "codecs", elements));
  TESSERA_ASSIGN_OR_RETURN(metadata.dimension_names, NamesFromJson(reader, metadata.shape.size()));
  for (const auto& [member, value] : document.items()) {
    const bool known = std::binary_search(std::begin(kMembersOfV3), std::end(kMembersOfV3), member);
    const bool says_nothing = member == "attributes" && value.is_object() && value.empty();
    if (!known && !says_nothing) metadata.other_members.emplace(member, value.dump());
  }
  return metadata;
}

Json MetadataToV3(const Metadata& metadata) {
  Json document = {
      {"chunk_grid", NamedToJson("regular", {{"chunk_shape", DimsToJson(metadata.chunk_shape)}})},
      {"chunk_key_encoding", KeysToJson(metadata.chunk_keys)},
      {"codecs", CodecsToJson(metadata.codecs, DTypeBytes(metadata.dtype))},
      {"data_type", InfoOf(metadata.dtype).zarr3},
      {"fill_value", FillValueToJson(Format::kV3, metadata.dtype, metadata.fill_value)},
      {"node_type", "array"},
      {"shape", DimsToJson(metadata.shape)},
      {"zarr_format", 3}};
  if (!metadata.dimension_names.empty()) {
    document["dimension_names"] = NamesToJson(metadata.dimension_names);
  }
  return document;
}

}  // namespace tessera::zarr
