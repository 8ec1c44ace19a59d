#include "tessera/zarr/metadata.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/zarr/codec_rules.h"
#include "tessera/zarr/fill_value.h"
#include "tessera/zarr/json_members.h"
#include "tessera/zarr/metadata_json.h"

namespace tessera::zarr {
namespace {

std::span<const std::string_view> MembersOf(Format format) {
  return format == Format::kV2 ? MembersOfV2() : MembersOfV3();
}

Json ToJson(const Metadata& metadata) {
  return metadata.format == Format::kV2 ? MetadataToV2(metadata) : MetadataToV3(metadata);
}

absl::Status CheckShape(const Metadata& metadata) {
  if (const absl::Status valid = ValidateShape(metadata.shape); !valid.ok()) {
    return Prefixed(valid, "shape");
  }
  for (const int64_t size : metadata.shape) {
    if (size == std::numeric_limits<int64_t>::max()) {
      return InvalidArgument("shape: a size of ", size, "; expected at most ", size - 1);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckChunkShape(const Metadata& metadata) {
  const std::string_view member =
      metadata.format == Format::kV2 ? "chunks" : "chunk_grid.configuration.chunk_shape";
  const Dims& chunks = metadata.chunk_shape;
  if (chunks.size() != metadata.shape.size()) {
    return InvalidArgument(member, ": ", ShapeText(chunks), " has ", chunks.size(),
                           " dimensions, the shape ", ShapeText(metadata.shape), " has ",
                           metadata.shape.size());
  }
  for (const int64_t size : chunks) {
    if (size < 1) {
      return InvalidArgument(member, ": ", ShapeText(chunks), ": sizes must be at least 1");
    }
  }
  const auto bytes = NumBytes(metadata.dtype, chunks);
  return bytes.ok() ? absl::OkStatus()
                    : Prefixed(bytes.status(), Concat(member, ": chunk too large"));
}

absl::Status CheckType(const Metadata& metadata) {
  const DTypeInfo& info = InfoOf(metadata.dtype);
  const bool v2 = metadata.format == Format::kV2;
  if (!(v2 ? info.zarr2 : info.zarr3).empty()) return absl::OkStatus();
  return Unimplemented(v2 ? "dtype" : "data_type", ": element type ", info.name,
                       " is not supported by zarr v", v2 ? 2 : 3);
}

absl::Status CheckKeys(const Metadata& metadata) {
  const ChunkKeys& keys = metadata.chunk_keys;
  const bool v2 = metadata.format == Format::kV2;
  if (v2 && keys.style != ChunkKeys::Style::kBare) {
    return Unimplemented("dimension_separator: zarr v2 has no prefix before chunk keys");
  }
  if (keys.separator == '.' || keys.separator == '/') return absl::OkStatus();
  return InvalidArgument(v2 ? "dimension_separator" : "chunk_key_encoding.configuration.separator",
                         ": ", Quoted(std::string_view(&keys.separator, 1)),
                         "; expected '.' or '/'");
}

absl::Status CheckNames(const Metadata& metadata) {
  const auto& names = metadata.dimension_names;
  if (names.empty()) return absl::OkStatus();
  if (metadata.format == Format::kV2) {
    return Unimplemented("dimension_names: zarr v2 has no names of dimensions");
  }
  if (names.size() != metadata.shape.size()) {
    return InvalidArgument("dimension_names: ", names.size(), " names for ", metadata.shape.size(),
                           " dimensions");
  }
  for (const auto& name : names) {
    if (name.has_value() && !IsValidUtf8(*name)) {
      return InvalidArgument("dimension_names: ", Quoted(*name), " is not UTF-8");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAttributes(const Json& value, size_t rank) {
  if (!value.is_object()) {
    return InvalidArgument("attributes: expected an object, found ", value.type_name());
  }
  const auto units = value.find("dimension_units");
  if (units == value.end()) return absl::OkStatus();
  if (!units->is_array() || units->size() != rank) {
    return InvalidArgument("attributes.dimension_units: expected a list of ", rank,
                           " units, one for each dimension");
  }
  return absl::OkStatus();
}

bool MayBeIgnored(const Json& value) {
  if (!value.is_object()) return false;
  const auto must = value.find("must_understand");
  return must != value.end() && *must == false;
}

absl::Status CheckOtherMember(const Metadata& metadata, const std::string& member,
                              const std::string& text) {
  const auto members = MembersOf(metadata.format);
  if (std::find(members.begin(), members.end(), member) != members.end() || !IsValidUtf8(member)) {
    return InvalidArgument("other_members: ", Quoted(member), " cannot stand there");
  }
  const auto value = ParseJson(text);
  if (!value.ok() || value->dump() != text) {
    return InvalidArgument(MemberText(member), ": ", Quoted(text), " is not compact JSON");
  }
  if (metadata.format == Format::kV2) return absl::OkStatus();
  if (member == "attributes") return CheckAttributes(*value, metadata.shape.size());
  if (MayBeIgnored(*value)) return absl::OkStatus();
  return Unimplemented(MemberText(member), ": extension member must be understood");
}

absl::Status CheckOtherMembers(const Metadata& metadata) {
  for (const auto& [member, text] : metadata.other_members) {
    TESSERA_RETURN_IF_ERROR(CheckOtherMember(metadata, member, text));
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> ParseDocument(std::string_view text) {
  if (text.size() > kMaxMetadataBytes) {
    return InvalidArgument(text.size(), " bytes; expected at most ", kMaxMetadataBytes);
  }
  TESSERA_ASSIGN_OR_RETURN(Json document, ParseJson(text));
  if (!document.is_object()) {
    return InvalidArgument("expected an object, found ", document.type_name());
  }
  return document;
}

std::string ValueText(const Json& document, std::string_view member) {
  const auto found = document.find(member);
  return found == document.end() ? "none" : found->dump();
}

}  // namespace

std::string_view MetadataName(Format format) {
  return format == Format::kV2 ? ".zarray" : "zarr.json";
}

bool operator==(const ChunkCodecs& a, const ChunkCodecs& b) {
  const bool same_shard =
      a.shard == nullptr || b.shard == nullptr ? a.shard == b.shard : *a.shard == *b.shard;
  return same_shard && a.transposes == b.transposes && a.endian == b.endian &&
         a.compression == b.compression;
}

Metadata JaxMetadata(const ShapeDtype& array, DimsView chunk_shape) {
  Metadata metadata;
  metadata.shape = array.shape;
  metadata.dtype = array.dtype;
  for (const int64_t size : chunk_shape) {
    metadata.chunk_shape.push_back(std::max<int64_t>(size, 1));
  }
  metadata.codecs.compression = {codec::ZstdSpec{.level = 1}};
  return metadata;
}

absl::StatusOr<Metadata> ParseMetadata(Format format, std::string_view text) {
  const auto document = ParseDocument(text);
  if (!document.ok()) return Prefixed(document.status(), "not a valid metadata document");
  TESSERA_ASSIGN_OR_RETURN(Metadata metadata, format == Format::kV2 ? MetadataFromV2(*document)
                                                                    : MetadataFromV3(*document));
  TESSERA_RETURN_IF_ERROR(Validate(metadata));
  return metadata;
}

std::string MetadataText(const Metadata& metadata) {
  Json document = ToJson(metadata);
  for (const auto& [member, text] : metadata.other_members) {
    auto value = ParseJson(text);
    TESSERA_CHECK(value.ok());
    document[member] = *std::move(value);
  }
  return document.dump();
}

absl::Status Validate(const Metadata& metadata) {
  TESSERA_RETURN_IF_ERROR(CheckShape(metadata));
  TESSERA_RETURN_IF_ERROR(CheckType(metadata));
  TESSERA_RETURN_IF_ERROR(CheckChunkShape(metadata));
  TESSERA_RETURN_IF_ERROR(CheckKeys(metadata));
  TESSERA_RETURN_IF_ERROR(CheckFillValue(metadata.format, metadata.dtype, metadata.fill_value));
  TESSERA_RETURN_IF_ERROR(CheckCodecs(metadata));
  TESSERA_RETURN_IF_ERROR(CheckNames(metadata));
  return CheckOtherMembers(metadata);
}

std::string Difference(const Metadata& a, const Metadata& b) {
  if (a.format != b.format) {
    return a.format == Format::kV2 ? "zarr_format: 2 and 3" : "zarr_format: 3 and 2";
  }
  const Json left = ToJson(a);
  const Json right = ToJson(b);
  std::string text;
  for (const std::string_view member : MembersOf(a.format)) {
    const std::string mine = ValueText(left, member);
    const std::string theirs = ValueText(right, member);
    if (mine == theirs) continue;
    if (!text.empty()) text += "; ";
    text += Concat(member, ": ", mine, " and ", theirs);
  }
  return text;
}

}  // namespace tessera::zarr
