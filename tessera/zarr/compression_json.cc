#include "tessera/zarr/compression_json.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::zarr {
namespace {

using codec::BloscSpec;
using codec::BytesSpec;
using codec::Bz2Spec;
using codec::Crc32cSpec;
using codec::DeflateSpec;
using codec::ZstdSpec;
using Shuffle = codec::BloscSpec::Shuffle;
using Wrapping = codec::DeflateSpec::Wrapping;

// An option that is a whole number.
struct Option {
  const char* codec;
  const char* name;
  int64_t least;
  int64_t most;
};
constexpr Option kZstdLevel = {"zstd", "level", -131072, 22};
constexpr Option kGzipLevel = {"gzip", "level", 0, 9};
constexpr Option kZlibLevel = {"zlib", "level", 0, 9};
constexpr Option kBz2Level = {"bz2", "level", 1, 9};
constexpr Option kBloscLevel = {"blosc", "clevel", 0, 9};
constexpr Option kBloscShuffle = {"blosc", "shuffle", -1, 2};
constexpr Option kBloscTypeSize = {"blosc", "typesize", 1, 255};
// The library's own limit on a block: a third of what its 32-bit sizes hold.
constexpr Option kBloscBlockSize = {"blosc", "blocksize", 0, (INT32_MAX - 255 * 4) / 3};

constexpr std::string_view kBloscCompressors[] = {"blosclz", "lz4",  "lz4hc",
                                                  "snappy",  "zlib", "zstd"};
// Their places are the numbers of v2; kAuto, -1 there, has no name in v3.
constexpr std::string_view kShuffleNames[] = {"noshuffle", "shuffle", "bitshuffle"};
constexpr Shuffle kShuffles[] = {Shuffle::kNone, Shuffle::kBytes, Shuffle::kBits};

const Option& LevelOf(Wrapping wrapping) {
  return wrapping == Wrapping::kGzip ? kGzipLevel : kZlibLevel;
}

// `path` is of the option.
absl::Status CheckOption(const Option& option, int64_t value, const std::string& path) {
  if (value >= option.least && value <= option.most) return absl::OkStatus();
  return Unimplemented(path, ": codec ", option.codec, " does not support ", value, "; expected ",
                       option.least, " to ", option.most);
}

absl::StatusOr<int> Read(const ObjectReader& object, const Option& option) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t value, object.Integer(option.name));
  TESSERA_RETURN_IF_ERROR(CheckOption(option, value, object.PathOf(option.name)));
  return static_cast<int>(value);
}

absl::StatusOr<int> ReadOr(const ObjectReader& object, const Option& option, int otherwise) {
  return object.Has(option.name) ? Read(object, option) : otherwise;
}

// The compressors of v2.

absl::StatusOr<int> OnlyLevel(const ObjectReader& object, const Option& level) {
  TESSERA_RETURN_IF_ERROR(RefuseOthers(object, {"id", "level"}));
  return ReadOr(object, level, 1);
}

absl::StatusOr<BytesSpec> BloscFromV2(const ObjectReader& object, int element_bytes) {
  TESSERA_RETURN_IF_ERROR(RefuseOthers(object, {"id", "cname", "clevel", "shuffle", "blocksize"}));
  BloscSpec spec = {.element_bytes = element_bytes};
  if (object.Has("cname")) {
    TESSERA_ASSIGN_OR_RETURN(spec.compressor, OneOf(object, "cname", kBloscCompressors));
  }
  TESSERA_ASSIGN_OR_RETURN(spec.level, ReadOr(object, kBloscLevel, 5));
  TESSERA_ASSIGN_OR_RETURN(const int shuffle, ReadOr(object, kBloscShuffle, -1));
  spec.shuffle = shuffle < 0 ? Shuffle::kAuto : kShuffles[shuffle];
  TESSERA_ASSIGN_OR_RETURN(spec.block_bytes, ReadOr(object, kBloscBlockSize, 0));
  return spec;
}

absl::StatusOr<BytesSpec> CompressorFromObject(const ObjectReader& object, int element_bytes) {
  TESSERA_ASSIGN_OR_RETURN(const std::string id, object.String("id"));
  if (id == "blosc") return BloscFromV2(object, element_bytes);
  if (id == "zstd") {
    TESSERA_ASSIGN_OR_RETURN(const int level, OnlyLevel(object, kZstdLevel));
    return ZstdSpec{.level = level};
  }
  if (id == "gzip" || id == "zlib") {
    const Wrapping wrapping = id == "gzip" ? Wrapping::kGzip : Wrapping::kZlib;
    TESSERA_ASSIGN_OR_RETURN(const int level, OnlyLevel(object, LevelOf(wrapping)));
    return DeflateSpec{.wrapping = wrapping, .level = level};
  }
  if (id == "bz2") {
    TESSERA_ASSIGN_OR_RETURN(const int level, OnlyLevel(object, kBz2Level));
    return Bz2Spec{.level = level};
  }
  return Unimplemented(object.PathOf("id"), ": codec ", Quoted(id), " is not supported");
}

struct ToV2 {
  Json operator()(const ZstdSpec& spec) const { return {{"id", "zstd"}, {"level", spec.level}}; }
  Json operator()(const DeflateSpec& spec) const {
    return {{"id", LevelOf(spec.wrapping).codec}, {"level", spec.level}};
  }
  Json operator()(const Bz2Spec& spec) const { return {{"id", "bz2"}, {"level", spec.level}}; }
  Json operator()(const BloscSpec& spec) const {
    const int shuffle = spec.shuffle == Shuffle::kAuto ? -1 : static_cast<int>(spec.shuffle);
    return {{"id", "blosc"},
            {"cname", spec.compressor},
            {"clevel", spec.level},
            {"shuffle", shuffle},
            {"blocksize", spec.block_bytes}};
  }
  // Validate has refused it.
  Json operator()(const Crc32cSpec&) const { return nullptr; }
};

// The codecs of v3.

absl::StatusOr<BytesSpec> ZstdFromV3(const ObjectReader& options) {
  TESSERA_RETURN_IF_ERROR(RefuseOthers(options, {"level", "checksum"}));
  ZstdSpec spec;
  TESSERA_ASSIGN_OR_RETURN(spec.level, Read(options, kZstdLevel));
  if (options.Has("checksum")) {
    TESSERA_ASSIGN_OR_RETURN(spec.checksum, options.Bool("checksum"));
  }
  return spec;
}

absl::StatusOr<BytesSpec> GzipFromV3(const ObjectReader& options) {
  TESSERA_RETURN_IF_ERROR(RefuseOthers(options, {"level"}));
  TESSERA_ASSIGN_OR_RETURN(const int level, Read(options, kGzipLevel));
  return DeflateSpec{.wrapping = Wrapping::kGzip, .level = level};
}

absl::StatusOr<BytesSpec> BloscFromV3(const ObjectReader& options) {
  TESSERA_RETURN_IF_ERROR(
      RefuseOthers(options, {"cname", "clevel", "shuffle", "typesize", "blocksize"}));
  BloscSpec spec;
  TESSERA_ASSIGN_OR_RETURN(spec.compressor, OneOf(options, "cname", kBloscCompressors));
  TESSERA_ASSIGN_OR_RETURN(spec.level, Read(options, kBloscLevel));
  TESSERA_ASSIGN_OR_RETURN(const std::string shuffle, OneOf(options, "shuffle", kShuffleNames));
  const auto* name = std::find(std::begin(kShuffleNames), std::end(kShuffleNames), shuffle);
  spec.shuffle = kShuffles[name - kShuffleNames];
  // What is not shuffled needs no element size; TensorStore drops one that is given.
  if (spec.shuffle != Shuffle::kNone || options.Has(kBloscTypeSize.name)) {
    TESSERA_ASSIGN_OR_RETURN(const int element_bytes, Read(options, kBloscTypeSize));
    if (spec.shuffle != Shuffle::kNone) spec.element_bytes = element_bytes;
  }
  TESSERA_ASSIGN_OR_RETURN(spec.block_bytes, Read(options, kBloscBlockSize));
  return spec;
}

struct ToV3 {
  Json operator()(const ZstdSpec& spec) const {
    return NamedToJson("zstd", {{"level", spec.level}, {"checksum", spec.checksum}});
  }
  Json operator()(const DeflateSpec& spec) const {
    return NamedToJson("gzip", {{"level", spec.level}});
  }
  Json operator()(const BloscSpec& spec) const {
    Json options = {{"cname", spec.compressor},
                    {"clevel", spec.level},
                    {"shuffle", kShuffleNames[static_cast<int>(spec.shuffle)]},
                    {"blocksize", spec.block_bytes}};
    if (spec.shuffle != Shuffle::kNone) options["typesize"] = spec.element_bytes;
    return NamedToJson("blosc", options);
  }
  Json operator()(const Crc32cSpec&) const { return NamedToJson("crc32c", Json::object()); }
  // Validate has refused it.
  Json operator()(const Bz2Spec&) const { return nullptr; }
};

// What may be written.
struct Checker {
  Format format;
  const std::string& path;

  absl::Status operator()(const ZstdSpec& spec) const {
    if (format == Format::kV2 && spec.checksum) return Lacks("the checksum of zstd");
    return Check(kZstdLevel, spec.level);
  }
  absl::Status operator()(const DeflateSpec& spec) const {
    if (format == Format::kV3 && spec.wrapping == Wrapping::kZlib) return Lacks("codec zlib");
    return Check(LevelOf(spec.wrapping), spec.level);
  }
  absl::Status operator()(const Bz2Spec& spec) const {
    if (format == Format::kV3) return Lacks("codec bz2");
    return Check(kBz2Level, spec.level);
  }
  absl::Status operator()(const BloscSpec& spec) const {
    if (format == Format::kV3 && spec.shuffle == Shuffle::kAuto) {
      return Lacks("a shuffle of blosc that follows from the element size");
    }
    const auto* end = std::end(kBloscCompressors);
    if (std::find(kBloscCompressors, end, spec.compressor) == end) {
      return Unimplemented(path, ".cname: ", Quoted(spec.compressor), " is not supported");
    }
    TESSERA_RETURN_IF_ERROR(Check(kBloscLevel, spec.level));
    TESSERA_RETURN_IF_ERROR(Check(kBloscTypeSize, spec.element_bytes));
    return Check(kBloscBlockSize, spec.block_bytes);
  }
  absl::Status operator()(const Crc32cSpec&) const {
    return format == Format::kV2 ? Lacks("codec crc32c") : absl::OkStatus();
  }

  absl::Status Check(const Option& option, int64_t value) const {
    return CheckOption(option, value, Concat(path, ".", option.name));
  }
  absl::Status Lacks(std::string_view what) const {
    return Unimplemented(path, ": zarr v", format == Format::kV2 ? 2 : 3, " lacks ", what);
  }
};

}  // namespace

absl::StatusOr<std::vector<BytesSpec>> CompressorFromJson(const Json& value, int element_bytes) {
  if (value.is_null()) return std::vector<BytesSpec>();
  TESSERA_ASSIGN_OR_RETURN(const ObjectReader object, ObjectReader::Make(value, "compressor"));
  TESSERA_ASSIGN_OR_RETURN(BytesSpec spec, CompressorFromObject(object, element_bytes));
  return std::vector<BytesSpec>{std::move(spec)};
}

Json CompressorToJson(const std::vector<BytesSpec>& compression) {
  return compression.empty() ? Json() : std::visit(ToV2(), compression.front());
}

bool IsCompressionName(std::string_view name) {
  return name == "zstd" || name == "gzip" || name == "blosc" || name == "crc32c";
}

absl::StatusOr<BytesSpec> CompressionFromJson(const NamedJson& named) {
  TESSERA_CHECK(IsCompressionName(named.name));
  if (named.name == "zstd") return ZstdFromV3(named.configuration);
  if (named.name == "gzip") return GzipFromV3(named.configuration);
  if (named.name == "blosc") return BloscFromV3(named.configuration);
  TESSERA_RETURN_IF_ERROR(RefuseOthers(named.configuration, {}));
  return Crc32cSpec{};
}

Json CompressionToJson(const BytesSpec& spec) { return std::visit(ToV3(), spec); }

absl::Status CheckCompression(Format format, const BytesSpec& spec, const std::string& path) {
  return std::visit(Checker{format, path}, spec);
}

}  // namespace tessera::zarr
