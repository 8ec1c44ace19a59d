// Every kind of document that must be refused, with its error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::kUnimplemented;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

const char kGoodV2[] =
    R"({"chunks":[2,4],"compressor":null,"dimension_separator":".","dtype":"<f4",)"
    R"("fill_value":null,"filters":null,"order":"C","shape":[4,4],"zarr_format":2})";
const char kGoodV3[] =
    R"({"chunk_grid":{"configuration":{"chunk_shape":[2,4]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},"codecs":[{"configuration":{"endian":"little"},)"
    R"("name":"bytes"}],"data_type":"float32","fill_value":0.0,"node_type":"array",)"
    R"("shape":[4,4],"zarr_format":3})";

// A document with one member replaced or added; removed when `value` is empty.
struct Case {
  std::string member;
  std::string value;
  absl::StatusCode code;
  std::string message;
};

void ExpectRefused(Format format, const std::vector<Case>& cases) {
  const Json base = Json::parse(format == Format::kV2 ? kGoodV2 : kGoodV3);
  ASSERT_THAT(ParseMetadata(format, base.dump()), IsOk());
  for (const Case& c : cases) {
    Json document = base;
    if (c.value.empty()) {
      document.erase(c.member);
    } else {
      document[c.member] = Json::parse(c.value);
    }
    EXPECT_THAT(ParseMetadata(format, document.dump()), StatusIs(c.code, HasSubstr(c.message)))
        << c.member << " = " << c.value;
  }
}

TEST(RejectTest, WhatIsNoDocument) {
  for (const Format format : {Format::kV2, Format::kV3}) {
    EXPECT_THAT(ParseMetadata(format, ""),
                StatusIs(kInvalid, HasSubstr("not a valid metadata document: bad JSON at byte")));
    EXPECT_THAT(ParseMetadata(format, R"({"shape":[1,NaN]})"),
                StatusIs(kInvalid, HasSubstr("not a valid metadata document: bad JSON at byte")));
    EXPECT_THAT(ParseMetadata(format, R"({"shape":[1],"shape":[2]})"),
                StatusIs(kInvalid, HasSubstr("the key 'shape' stands twice")));
    EXPECT_THAT(
        ParseMetadata(format, "[]"),
        StatusIs(kInvalid, "not a valid metadata document: expected an object, found array"));
    const std::string large(static_cast<size_t>(kMaxMetadataBytes) + 1, ' ');
    EXPECT_THAT(ParseMetadata(format, large),
                StatusIs(kInvalid,
                         "not a valid metadata document: 16777217 bytes; expected at "
                         "most 16777216"));
  }
}

TEST(RejectTest, EveryMissingMember) {
  for (const char* member : {"chunks", "compressor", "dtype", "fill_value", "filters", "order",
                             "shape", "zarr_format"}) {
    ExpectRefused(Format::kV2, {{member, "", kInvalid, Concat(member, ": the field is missing")}});
  }
  for (const char* member : {"chunk_grid", "chunk_key_encoding", "codecs", "data_type",
                             "fill_value", "node_type", "shape", "zarr_format"}) {
    ExpectRefused(Format::kV3, {{member, "", kInvalid, Concat(member, ": the field is missing")}});
  }
}

TEST(RejectTest, EveryMemberOfAWrongType) {
  ExpectRefused(Format::kV2,
                {{"chunks", "4", kInvalid, "chunks: expected a list of sizes, found 4"},
                 {"compressor", "1", kInvalid, "compressor: expected an object, found 1"},
                 {"dimension_separator", "1", kInvalid, "dimension_separator: expected a string"},
                 {"dtype", "4", kInvalid, "dtype: expected a string, found 4"},
                 {"fill_value", "{}", kInvalid, "fill_value: '{}' is invalid for float32"},
                 {"filters", "{}", kInvalid, "filters: expected null or a list, found object"},
                 {"order", "null", kInvalid, "order: expected a string, found null"},
                 {"shape", "[4,\"4\"]", kInvalid, "shape[1]: expected a size from 0 up"},
                 {"zarr_format", "\"2\"", kInvalid, "zarr_format: expected an integer"}});
  ExpectRefused(
      Format::kV3,
      {{"chunk_grid", "[]", kInvalid, "chunk_grid: expected an object, found array"},
       {"chunk_grid", R"({"name":"regular","configuration":1})", kInvalid,
        "chunk_grid.configuration: expected an object"},
       {"chunk_grid", R"("regular")", kInvalid,
        "chunk_grid.configuration.chunk_shape: the field is missing"},
       {"chunk_key_encoding", "null", kInvalid, "chunk_key_encoding: expected an object"},
       {"codecs", "{}", kInvalid, "codecs: expected a list of codecs, found object"},
       {"data_type", "1", kInvalid, "data_type: expected an object, found 1"},
       {"node_type", "1", kInvalid, "node_type: expected a string, found 1"},
       {"attributes", "[]", kInvalid, "attributes: expected an object, found array"},
       {"storage_transformers", "null", kInvalid, "storage_transformers: expected a list"},
       {"dimension_names", "null", kInvalid, "dimension_names: expected a list"},
       {"dimension_names", "[1,null]", kInvalid,
        "dimension_names[0]: expected a string or null, found number"}});
}

TEST(RejectTest, OtherVersionsAndNodes) {
  ExpectRefused(Format::kV2,
                {{"zarr_format", "3", kUnimplemented, "zarr_format: 3 is not supported here"}});
  ExpectRefused(Format::kV3,
                {{"zarr_format", "2", kUnimplemented, "zarr_format: 2 is not supported here"},
                 {"node_type", R"("group")", kUnimplemented, "node_type: 'group' is not"}});
}

TEST(RejectTest, BadShapes) {
  const std::string rank33 = Json(std::vector<int>(33, 1)).dump();
  ExpectRefused(Format::kV2,
                {{"shape", rank33, kInvalid, "shape: 33 dimensions; at most 32"},
                 {"shape", "[4]", kInvalid, "chunks: [2,4] has 2 dimensions, the shape [4] has 1"},
                 {"shape", "[4,-1]", kInvalid, "shape[1]: expected a size from 0 up"},
                 {"shape", "[4,9223372036854775807]", kInvalid, "shape: a size of 922337203685477"},
                 {"shape", "[4,9223372036854775808]", kInvalid, "shape[1]: 9223372036854775808"},
                 {"shape", "[4,4.0]", kInvalid, "shape[1]: expected a size from 0 up"},
                 {"chunks", "[2,0]", kInvalid, "chunks: [2,0]: sizes must be at least 1"},
                 {"chunks", "[4294967296,4294967296]", kInvalid, "chunks: chunk too large"},
                 {"chunks", "[4294967296,536870912]", kInvalid, "the byte count does not fit"}});
  const auto grid = [](const std::string& shape) {
    return R"({"name":"regular","configuration":{"chunk_shape":)" + shape + "}}";
  };
  const std::string at = "chunk_grid.configuration.chunk_shape";
  ExpectRefused(
      Format::kV3,
      {{"chunk_grid", grid("[2]"), kInvalid, at + ": [2] has 1 dimensions"},
       {"chunk_grid", grid("[2,-1]"), kInvalid, at + "[1]: expected a size from 0 up"},
       {"chunk_grid", grid("[2,0]"), kInvalid, at + ": [2,0]: sizes must be at least 1"},
       {"chunk_grid", grid("[4294967296,536870912]"), kInvalid, at + ": chunk too large"},
       {"dimension_names", R"(["x"])", kInvalid, "dimension_names: 1 names for 2 dimensions"},
       {"attributes", R"({"dimension_units":["nm"]})", kInvalid,
        "attributes.dimension_units: expected a list of 2 units"}});
}

TEST(RejectTest, UnknownElementTypes) {
  for (const char* type :
       {"|f4", "|i2", "|c8",       "<f16",   "<i9",   "<m8[ns]", "<M8[s]",      "<U4",
        "O",   "",    "f4",        "<",      "uint4", "uint2",   "float8_e4m3", "float6_e2m3fn",
        "|S",  "|V",  "<bfloat16", "float32"}) {
    ExpectRefused(Format::kV2, {{"dtype", Json(type).dump(), kUnimplemented,
                                 Concat("dtype: element type '", type, "' is not supported")}});
  }
  for (const char* type : {"float8_e4m3", "uint4", "float6_e3m2fn", "string", "bytes",
                           "numpy.datetime64", "<f4", "r", ""}) {
    ExpectRefused(Format::kV3, {{"data_type", Json(type).dump(), kUnimplemented,
                                 Concat("data_type: element type '", type, "' is not")}});
  }
  ExpectRefused(Format::kV3,
                {{"data_type", R"({"name":"float32","configuration":{"x":1}})", kUnimplemented,
                  "data_type.configuration.x: the option is not supported"}});
}

TEST(RejectTest, StructuredAndRawElementTypes) {
  for (const char* type : {R"("|S4")", R"("<V16")", R"([["x","<u2",[2,3]],["y","<f4"]])"}) {
    ExpectRefused(Format::kV2,
                  {{"dtype", type, kUnimplemented, "dtype: structured or raw element type"}});
  }
  for (const char* type :
       {R"("r16")", R"({"name":"raw_bytes","configuration":{"length_bytes":3}})", R"("struct")",
        R"({"name":"structured","configuration":{"fields":[]}})", R"([["x","uint8"]])"}) {
    ExpectRefused(Format::kV3, {{"data_type", type, kUnimplemented,
                                 "data_type: structured or raw element type"}});
  }
}

TEST(RejectTest, FiltersCodecsAndTheirOptions) {
  ExpectRefused(
      Format::kV2,
      {{"filters", R"([{"id":"delta"}])", kUnimplemented, "filters: filters are not supported"},
       {"compressor", R"({"id":"lz4"})", kUnimplemented, "compressor.id: codec 'lz4'"},
       {"compressor", R"({"id":"zstd","level":99})", kUnimplemented,
        "compressor.level: codec zstd does not support 99"},
       {"compressor", R"({"id":"zstd","checksum":true})", kUnimplemented, "compressor.checksum"}});
  ExpectRefused(Format::kV3, {{"storage_transformers", "[1]", kUnimplemented,
                               "storage_transformers: storage transformers are not supported"},
                              {"codecs", R"(["lz4"])", kUnimplemented,
                               "codecs[0].name: codec 'lz4' is not supported"}});
}

TEST(RejectTest, BadOrdersAndSeparators) {
  ExpectRefused(
      Format::kV2,
      {{"order", R"("A")", kInvalid, "order: 'A'; expected C or F"},
       {"dimension_separator", R"("-")", kInvalid, "dimension_separator: '-'; expected '.' or '/'"},
       {"dimension_separator", R"("")", kInvalid, "dimension_separator: ''"}});
  ExpectRefused(Format::kV3,
                {{"chunk_key_encoding", R"({"name":"v2","configuration":{"separator":"_"}})",
                  kInvalid, "chunk_key_encoding.configuration.separator: '_'"}});
}

TEST(RejectTest, FillValuesThatTheTypeLacks) {
  ExpectRefused(Format::kV2,
                {{"fill_value", R"("abc")", kInvalid, R"(fill_value: '"abc"' is invalid for)"}});
  ExpectRefused(Format::kV3,
                {{"fill_value", "null", kInvalid, "fill_value: 'null' is invalid for float32"},
                 {"fill_value", R"("0x123456789")", kInvalid, "is invalid for float32"}});
}

TEST(RejectTest, ExtensionsThatMustBeUnderstood) {
  for (const char* value : {"1", "{}", "null", R"({"must_understand":true})",
                            R"({"must_understand":0})", R"([false])"}) {
    ExpectRefused(Format::kV3, {{"extension", value, kUnimplemented,
                                 "extension: extension member must be understood"}});
  }
}

TEST(RejectTest, OtherGridsAndKeyEncodings) {
  ExpectRefused(Format::kV3,
                {{"chunk_grid", R"({"name":"rectilinear","configuration":{}})", kUnimplemented,
                  "chunk_grid: chunk grid 'rectilinear' is not supported"},
                 {"chunk_grid", R"({"name":"regular","configuration":{"chunk_shape":[2,4],"x":1}})",
                  kUnimplemented, "chunk_grid.configuration.x: the option is not supported"},
                 {"chunk_key_encoding", R"({"name":"fanout"})", kUnimplemented,
                  "chunk_key_encoding: key encoding 'fanout' is not supported"}});
}

// A list of codecs with this as the second.
std::string AfterBytes(const std::string& codec) {
  return R"([{"name":"bytes","configuration":{"endian":"little"}},)" + codec + "]";
}

TEST(RejectTest, BadChains) {
  ExpectRefused(
      Format::kV3,
      {{"codecs", "[]", kInvalid, "codecs: codec chain invalid"},
       {"codecs", AfterBytes(R"("bytes")"), kInvalid, "codecs[1]: codec chain invalid"},
       {"codecs", R"(["crc32c"])", kInvalid, "codecs[0]: codec chain invalid"},
       {"codecs", R"(["bytes"])", kInvalid, "codecs[0].configuration.endian: endian required"}});
}

TEST(RejectTest, OrdersThatAreNoPermutation) {
  for (const char* order : {"[0]", "[0,0]", "[0,2]", "[0,1,2]"}) {
    const std::string list = R"([{"name":"transpose","configuration":{"order":)" +
                             std::string(order) + R"(}},)" +
                             R"({"name":"bytes","configuration":{"endian":"little"}}])";
    ExpectRefused(
        Format::kV3,
        {{"codecs", list, kInvalid,
          Concat("codecs[0].configuration.order: bad permutation ", order, " of 2 dimensions")}});
  }
}

std::string Shard(const std::string& shape, const std::string& codecs, const std::string& index) {
  return R"({"name":"sharding_indexed","configuration":{"chunk_shape":)" + shape + R"(,"codecs":)" +
         codecs + R"(,"index_codecs":)" + index + "}}";
}
const char kBytes[] = R"([{"name":"bytes","configuration":{"endian":"little"}}])";

TEST(RejectTest, BadShards) {
  const std::string shape_at = "codecs[0].configuration.chunk_shape: ";
  const std::string gzip = AfterBytes(R"({"name":"gzip","configuration":{"level":1}})");
  ExpectRefused(
      Format::kV3,
      {{"codecs", "[" + Shard("[2]", kBytes, kBytes) + "]", kInvalid,
        shape_at + "[2] of a shard of [2,4]: the ranks differ"},
       {"codecs", "[" + Shard("[2,3]", kBytes, kBytes) + "]", kInvalid,
        shape_at + "[2,3] of a shard of [2,4]: it does not divide the shard"},
       {"codecs", "[" + Shard("[0,4]", kBytes, kBytes) + "]", kInvalid,
        shape_at + "[0,4] of a shard of [2,4]: sizes must be at least 1"},
       {"codecs", "[" + Shard("[2,2]", kBytes, gzip) + "]", kInvalid,
        "codecs[0].configuration.index_codecs: only transpose, bytes and crc32c keep"},
       {"codecs", "[" + Shard("[2,2]", kBytes, "[" + Shard("[1,1,1]", kBytes, kBytes) + "]") + "]",
        kInvalid, "codecs[0].configuration.index_codecs: only transpose, bytes and crc32c"},
       {"codecs", "[" + Shard("[2,2]", "[]", kBytes) + "]", kInvalid,
        "codecs[0].configuration.codecs: codec chain invalid"},
       {"codecs", "[" + Shard("[2,2]", kBytes, kBytes) + R"(,"crc32c"])", kInvalid,
        "codecs[1]: codec chain invalid: nothing may follow sharding_indexed"},
       {"codecs", "[" + Shard("[2,2]", "[" + Shard("[2,4]", kBytes, kBytes) + "]", kBytes) + "]",
        kInvalid,
        "codecs[0].configuration.codecs[0].configuration.chunk_shape: [2,4] of a shard "
        "of [2,2]"}});
}

TEST(RejectTest, ShardsAfterATransposeAreOfTheNewShape) {
  const auto with = [](const std::string& inner) {
    Json document = Json::parse(kGoodV3);
    document["codecs"] = Json::parse(R"([{"name":"transpose","configuration":{"order":[1,0]}},)" +
                                     Shard(inner, kBytes, kBytes) + "]");
    return ParseMetadata(Format::kV3, document.dump());
  };
  EXPECT_THAT(with("[4,2]"), IsOk());
  EXPECT_THAT(with("[2,4]"), StatusIs(kInvalid, HasSubstr("codecs[1].configuration.chunk_shape: "
                                                          "[2,4] of a shard of [4,2]")));
}

TEST(RejectTest, ShardsOfTooManyChunks) {
  const auto with = [](int64_t rows) {
    Json document = Json::parse(kGoodV3);
    document["chunk_grid"]["configuration"]["chunk_shape"] = Json::array({rows, 4});
    document["codecs"] = Json::parse("[" + Shard("[1,4]", kBytes, kBytes) + "]");
    return ParseMetadata(Format::kV3, document.dump());
  };
  EXPECT_THAT(with(int64_t{1} << 30), IsOk());
  EXPECT_THAT(with((int64_t{1} << 30) + 1),
              StatusIs(kInvalid, HasSubstr("more than 1073741824 inner chunks")));
}

TEST(RejectTest, ShardsOfRankThirtyTwo) {
  Json document = Json::parse(kGoodV3);
  const Json ones = std::vector<int>(32, 1);
  document["shape"] = ones;
  document["chunk_grid"]["configuration"]["chunk_shape"] = ones;
  document["codecs"] = Json::parse("[" + Shard(ones.dump(), kBytes, kBytes) + "]");
  EXPECT_THAT(ParseMetadata(Format::kV3, document.dump()),
              StatusIs(kInvalid, HasSubstr("a shard has at most 31 dimensions, found 32")));
}

TEST(RejectTest, ShardsThatNestTooDeeply) {
  std::string codecs = kBytes;
  for (int depth = 1; depth <= 9; ++depth) {
    codecs = "[" + Shard("[2,4]", codecs, kBytes) + "]";
    Json document = Json::parse(kGoodV3);
    document["codecs"] = Json::parse(codecs);
    const auto read = ParseMetadata(Format::kV3, document.dump());
    if (depth <= 8) {
      EXPECT_THAT(read, IsOk()) << depth;
    } else {
      EXPECT_THAT(read, StatusIs(kUnimplemented, HasSubstr("shards nest deeper than 8")));
    }
  }
}

}  // namespace
}  // namespace tessera::zarr
