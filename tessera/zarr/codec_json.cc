#include "tessera/zarr/codec_json.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/zarr/compression_json.h"
#include "tessera/zarr/json_members.h"

namespace tessera::zarr {
namespace {

constexpr std::string_view kEndians[] = {"little", "big"};
constexpr std::string_view kLocations[] = {"start", "end"};

// Of the shard's index, whose elements are pairs of uint64.
Elements IndexElements(const Elements& elements) { return {elements.rank + 1, 8}; }

absl::StatusOr<Dims> OrderFromJson(const ObjectReader& options, size_t rank) {
  TESSERA_RETURN_IF_ERROR(RefuseOthers(options, {"order"}));
  TESSERA_ASSIGN_OR_RETURN(const Json* value, options.Any("order"));
  if (!value->is_string()) return options.Shape("order");
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (*value == "F") {
    std::reverse(order.begin(), order.end());
  } else if (*value != "C") {
    return InvalidArgument(options.PathOf("order"), ": bad permutation ",
                           Quoted(value->get<std::string>()), "; expected a list, C or F");
  }
  return order;
}

absl::StatusOr<codec::Endian> EndianFromJson(const ObjectReader& options, int element_bytes) {
  TESSERA_RETURN_IF_ERROR(RefuseOthers(options, {"endian"}));
  if (!options.Has("endian")) {
    if (element_bytes == 1) return codec::Endian::kLittle;
    return InvalidArgument(options.PathOf("endian"), ": endian required, elements have ",
                           element_bytes, " bytes");
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string name, OneOf(options, "endian", kEndians));
  const bool big = name == "big" && element_bytes > 1;
  return big ? codec::Endian::kBig : codec::Endian::kLittle;
}

absl::StatusOr<ShardSpec> ShardFromJson(const ObjectReader& options, const Elements& elements) {
  TESSERA_RETURN_IF_ERROR(
      RefuseOthers(options, {"chunk_shape", "codecs", "index_codecs", "index_location"}));
  ShardSpec shard;
  TESSERA_ASSIGN_OR_RETURN(shard.chunk_shape, options.Shape("chunk_shape"));
  TESSERA_ASSIGN_OR_RETURN(const Json* codecs, options.Any("codecs"));
  TESSERA_ASSIGN_OR_RETURN(shard.codecs,
                           CodecsFromJson(*codecs, options.PathOf("codecs"), elements));
  TESSERA_ASSIGN_OR_RETURN(const Json* index, options.Any("index_codecs"));
  TESSERA_ASSIGN_OR_RETURN(
      shard.index_codecs,
      CodecsFromJson(*index, options.PathOf("index_codecs"), IndexElements(elements)));
  if (options.Has("index_location")) {
    TESSERA_ASSIGN_OR_RETURN(const std::string place, OneOf(options, "index_location", kLocations));
    if (place == "start") shard.index_location = ShardSpec::IndexLocation::kStart;
  }
  return shard;
}

// Takes the codecs of a list one by one: arrays to arrays, one array to bytes, bytes to bytes.
class ChainReader {
 public:
  explicit ChainReader(const Elements& elements) : elements_(elements) {}

  absl::Status Add(const NamedJson& named, const std::string& path) {
    const bool compresses = IsCompressionName(named.name);
    if (!compresses && !IsArrayCodecName(named.name)) {
      return Unimplemented(path, ".name: codec ", Quoted(named.name), " is not supported");
    }
    if (compresses != in_bytes_) {
      return InvalidArgument(path, ": codec chain invalid: ", named.name, " cannot encode ",
                             in_bytes_ ? "bytes" : "an array");
    }
    return compresses ? AddCompression(named) : AddArrayCodec(named);
  }

  absl::StatusOr<ChunkCodecs> Finish(const std::string& path) && {
    if (!in_bytes_) {
      return InvalidArgument(path, ": codec chain invalid: no codec makes bytes of the array");
    }
    return std::move(codecs_);
  }

 private:
  static bool IsArrayCodecName(std::string_view name) {
    return name == "transpose" || name == "bytes" || name == "sharding_indexed";
  }

  absl::Status AddCompression(const NamedJson& named) {
    TESSERA_ASSIGN_OR_RETURN(codec::BytesSpec spec, CompressionFromJson(named));
    codecs_.compression.push_back(std::move(spec));
    return absl::OkStatus();
  }

  absl::Status AddArrayCodec(const NamedJson& named) {
    if (named.name == "transpose") {
      TESSERA_ASSIGN_OR_RETURN(Dims order, OrderFromJson(named.configuration, elements_.rank));
      codecs_.transposes.push_back(std::move(order));
      return absl::OkStatus();
    }
    in_bytes_ = true;
    if (named.name == "bytes") {
      TESSERA_ASSIGN_OR_RETURN(codecs_.endian,
                               EndianFromJson(named.configuration, elements_.bytes));
      return absl::OkStatus();
    }
    TESSERA_ASSIGN_OR_RETURN(ShardSpec shard, ShardFromJson(named.configuration, elements_));
    codecs_.shard = std::make_shared<const ShardSpec>(std::move(shard));
    return absl::OkStatus();
  }

  const Elements elements_;
  bool in_bytes_ = false;
  ChunkCodecs codecs_;
};

Json BytesToJson(codec::Endian endian, int element_bytes) {
  Json options = Json::object();
  if (element_bytes > 1) options["endian"] = endian == codec::Endian::kBig ? "big" : "little";
  return NamedToJson("bytes", options);
}

Json ShardToJson(const ShardSpec& shard, int element_bytes) {
  Json options = {{"chunk_shape", DimsToJson(shard.chunk_shape)},
                  {"codecs", CodecsToJson(shard.codecs, element_bytes)},
                  {"index_codecs", CodecsToJson(shard.index_codecs, 8)}};
  if (shard.index_location == ShardSpec::IndexLocation::kStart) options["index_location"] = "start";
  return NamedToJson("sharding_indexed", options);
}

}  // namespace

absl::StatusOr<ChunkCodecs> CodecsFromJson(const Json& value, const std::string& path,
                                           const Elements& elements) {
  if (!value.is_array()) {
    return InvalidArgument(path, ": expected a list of codecs, found ", value.type_name());
  }
  ChainReader chain(elements);
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string where = Concat(path, "[", i, "]");
    TESSERA_ASSIGN_OR_RETURN(const NamedJson named, NamedFromJson(value[i], where));
    TESSERA_RETURN_IF_ERROR(chain.Add(named, where));
  }
  return std::move(chain).Finish(path);
}

Json CodecsToJson(const ChunkCodecs& codecs, int element_bytes) {
  Json list = Json::array();
  for (const Dims& order : codecs.transposes) {
    list.push_back(NamedToJson("transpose", {{"order", DimsToJson(order)}}));
  }
  list.push_back(codecs.shard != nullptr ? ShardToJson(*codecs.shard, element_bytes)
                                         : BytesToJson(codecs.endian, element_bytes));
  for (const codec::BytesSpec& spec : codecs.compression) list.push_back(CompressionToJson(spec));
  return list;
}

}  // namespace tessera::zarr
