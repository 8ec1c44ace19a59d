#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/zarr/compression_json.h"
#include "tessera/zarr/fill_value.h"
#include "tessera/zarr/json_members.h"
#include "tessera/zarr/metadata_json.h"

namespace tessera::zarr {
namespace {

constexpr std::string_view kMembersOfV2[] = {"chunks", "compressor", "dimension_separator",
                                             "dtype",  "fill_value", "filters",
                                             "order",  "shape",      "zarr_format"};

struct StoredType {
  DType dtype = DType::kFloat32;
  codec::Endian endian = codec::Endian::kLittle;
};

// "|S8" and "|V8": NumPy's text and bytes of a fixed length.
bool IsRawTypestr(std::string_view text) {
  return text.size() > 2 && std::string_view("<>|").find(text[0]) != std::string_view::npos &&
         (text[1] == 'S' || text[1] == 'V') &&
         text.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

// Whether `text` is `name` with another byte order; an order of one byte means nothing.
bool IsOtherOrder(std::string_view text, std::string_view name) {
  if (text.size() < 3 || text.substr(1) != name.substr(1)) return false;
  return text[0] == '>' ? name[0] == '<' || name[0] == '|' : text[0] == '<' && name[0] == '|';
}

absl::StatusOr<StoredType> TypeFromJson(const ObjectReader& document) {
  TESSERA_ASSIGN_OR_RETURN(const Json* value, document.Any("dtype"));
  if (value->is_array()) {
    return Unimplemented("dtype: structured or raw element type ", Quoted(value->dump()));
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string text, document.String("dtype"));
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.zarr2.empty()) continue;
    if (text == info.zarr2) return StoredType{info.dtype, codec::Endian::kLittle};
    if (IsOtherOrder(text, info.zarr2)) {
      return StoredType{info.dtype, info.bytes > 1 ? codec::Endian::kBig : codec::Endian::kLittle};
    }
  }
  if (IsRawTypestr(text))
    return Unimplemented("dtype: structured or raw element type ", Quoted(text));
  return Unimplemented("dtype: element type ", Quoted(text), " is not supported");
}

std::string TypeName(DType dtype, codec::Endian endian) {
  std::string name(InfoOf(dtype).zarr2);
  if (endian == codec::Endian::kBig && name[0] == '<') name[0] = '>';
  return name;
}

absl::Status CheckVersion(const ObjectReader& document) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t version, document.Integer("zarr_format"));
  if (version == 2) return absl::OkStatus();
  return Unimplemented("zarr_format: ", version, " is not supported here; expected 2");
}

absl::Status CheckFilters(const ObjectReader& document) {
  TESSERA_ASSIGN_OR_RETURN(const Json* filters, document.Any("filters"));
  if (filters->is_null() || (filters->is_array() && filters->empty())) return absl::OkStatus();
  if (filters->is_array()) return Unimplemented("filters: filters are not supported");
  return InvalidArgument("filters: expected null or a list, found ", filters->type_name());
}

// "F" is kept for every rank, also where it says the same as "C".
absl::StatusOr<std::vector<Dims>> TransposesFromJson(const ObjectReader& document, size_t rank) {
  TESSERA_ASSIGN_OR_RETURN(const std::string order, document.String("order"));
  if (order == "C") return std::vector<Dims>();
  if (order != "F") return InvalidArgument("order: ", Quoted(order), "; expected C or F");
  Dims reversed;
  for (size_t i = rank; i-- > 0;) reversed.push_back(static_cast<int64_t>(i));
  return std::vector<Dims>{std::move(reversed)};
}

absl::StatusOr<ChunkKeys> KeysFromJson(const ObjectReader& document) {
  if (!document.Has("dimension_separator")) return ChunkKeys();
  TESSERA_ASSIGN_OR_RETURN(const std::string separator, document.String("dimension_separator"));
  if (separator == "." || separator == "/") return ChunkKeys{.separator = separator[0]};
  return InvalidArgument("dimension_separator: ", Quoted(separator), "; expected '.' or '/'");
}

}  // namespace

std::span<const std::string_view> MembersOfV2() { return kMembersOfV2; }

absl::StatusOr<Metadata> MetadataFromV2(const Json& document) {
  TESSERA_ASSIGN_OR_RETURN(const ObjectReader reader, ObjectReader::Make(document));
  TESSERA_RETURN_IF_ERROR(CheckVersion(reader));
  Metadata metadata;
  metadata.format = Format::kV2;
  TESSERA_ASSIGN_OR_RETURN(metadata.shape, reader.Shape("shape"));
  TESSERA_ASSIGN_OR_RETURN(metadata.chunk_shape, reader.Shape("chunks"));
  TESSERA_ASSIGN_OR_RETURN(const StoredType type, TypeFromJson(reader));
  metadata.dtype = type.dtype;
  metadata.codecs.endian = type.endian;
  TESSERA_ASSIGN_OR_RETURN(metadata.codecs.transposes,
                           TransposesFromJson(reader, metadata.chunk_shape.size()));
  TESSERA_RETURN_IF_ERROR(CheckFilters(reader));
  TESSERA_ASSIGN_OR_RETURN(const Json* compressor, reader.Any("compressor"));
  TESSERA_ASSIGN_OR_RETURN(metadata.codecs.compression,
                           CompressorFromJson(*compressor, DTypeBytes(type.dtype)));
  TESSERA_ASSIGN_OR_RETURN(metadata.chunk_keys, KeysFromJson(reader));
  TESSERA_ASSIGN_OR_RETURN(const Json* fill, reader.Any("fill_value"));
  TESSERA_ASSIGN_OR_RETURN(metadata.fill_value,
                           FillValueFromJson(Format::kV2, type.dtype, type.endian, *fill));
  for (const auto& [member, value] : document.items()) {
    if (!std::binary_search(std::begin(kMembersOfV2), std::end(kMembersOfV2), member)) {
      metadata.other_members.emplace(member, value.dump());
    }
  }
  return metadata;
}

Json MetadataToV2(const Metadata& metadata) {
  return {{"chunks", DimsToJson(metadata.chunk_shape)},
          {"compressor", CompressorToJson(metadata.codecs.compression)},
          {"dimension_separator", std::string(1, metadata.chunk_keys.separator)},
          {"dtype", TypeName(metadata.dtype, metadata.codecs.endian)},
          {"fill_value", FillValueToJson(Format::kV2, metadata.dtype, metadata.fill_value)},
          {"filters", nullptr},
          {"order", metadata.codecs.transposes.empty() ? "C" : "F"},
          {"shape", DimsToJson(metadata.shape)},
          {"zarr_format", 2}};
}

}  // namespace tessera::zarr
