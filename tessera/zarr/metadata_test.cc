// What documents mean, golden bytes, and metadata made by a program.
#include "tessera/zarr/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/zarr/testing/documents.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::kUnimplemented;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MetadataTest, NamesOfTheDocuments) {
  EXPECT_EQ(MetadataName(Format::kV2), ".zarray");
  EXPECT_EQ(MetadataName(Format::kV3), "zarr.json");
}

TEST(MetadataTest, DocumentsOfTensorStoreComeBackByteForByte) {
  for (const std::string_view text : testing::kV2Documents) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Metadata metadata, ParseMetadata(Format::kV2, text));
    EXPECT_EQ(MetadataText(metadata), text);
  }
  for (const std::string_view text : testing::kV3Documents) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Metadata metadata, ParseMetadata(Format::kV3, text));
    EXPECT_EQ(MetadataText(metadata), text);
  }
}

TEST(JaxMetadataTest, IsWrittenAsJaxWritesIt) {
  EXPECT_EQ(MetadataText(JaxMetadata({{4, 4}, DType::kBfloat16}, Dims{2, 4})),
            R"({"chunks":[2,4],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
            R"("dtype":"bfloat16","fill_value":null,"filters":null,"order":"C","shape":[4,4],)"
            R"("zarr_format":2})");
  EXPECT_EQ(MetadataText(JaxMetadata({{}, DType::kInt32}, Dims{})),
            R"({"chunks":[],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
            R"("dtype":"<i4","fill_value":null,"filters":null,"order":"C","shape":[],)"
            R"("zarr_format":2})");
}

TEST(JaxMetadataTest, ChunksOfSizeZeroBecomeOne) {
  const Metadata metadata = JaxMetadata({{0, 5}, DType::kFloat32}, Dims{0, 5});
  EXPECT_EQ(metadata.chunk_shape, (Dims{1, 5}));
  EXPECT_THAT(Validate(metadata), IsOk());
}

constexpr std::string_view kV2 =
    R"({"chunks":[2,4],"compressor":null,"dtype":"<f4","fill_value":null,"filters":null,)"
    R"("order":"C","shape":[4,4],"zarr_format":2})";

std::string Replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string replaced(text);
  const size_t at = replaced.find(what);
  TESSERA_CHECK(at != std::string::npos);
  return replaced.replace(at, what.size(), with);
}

TEST(MetadataV2Test, SeparatorDefaultsToADotAndIsAlwaysWritten) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Metadata metadata, ParseMetadata(Format::kV2, kV2));
  EXPECT_EQ(metadata.chunk_keys, (ChunkKeys{ChunkKeys::Style::kBare, '.'}));
  EXPECT_THAT(MetadataText(metadata), HasSubstr(R"("dimension_separator":".")"));
}

TEST(MetadataV2Test, EveryTypeIsReadInEveryByteOrder) {
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.zarr2.empty()) continue;
    const bool ordered = info.zarr2[0] == '<' || info.zarr2[0] == '|';
    for (const char order : std::string("<>|")) {
      std::string name(info.zarr2);
      if (ordered) name[0] = order;
      const auto read = ParseMetadata(Format::kV2, Replaced(kV2, "<f4", name));
      if (info.bytes > 1 && ordered && order == '|') {
        EXPECT_THAT(read, StatusIs(kUnimplemented, HasSubstr(Concat("dtype: element type '", name,
                                                                    "' is not supported"))));
        continue;
      }
      ASSERT_THAT(read, IsOk()) << name;
      EXPECT_EQ(read->dtype, info.dtype);
      const bool big = info.bytes > 1 && ordered && order == '>';
      EXPECT_EQ(read->codecs.endian, big ? codec::Endian::kBig : codec::Endian::kLittle);
      const std::string written = info.bytes > 1 ? name : std::string(info.zarr2);
      EXPECT_THAT(MetadataText(*read), HasSubstr(Concat("\"dtype\":\"", written, "\"")));
    }
  }
}

TEST(MetadataV2Test, OrderFReversesAndIsKeptForEveryRank) {
  const std::string_view f = R"("order":"F")";
  TESSERA_ASSERT_OK_AND_ASSIGN(const Metadata metadata,
                               ParseMetadata(Format::kV2, Replaced(kV2, R"("order":"C")", f)));
  EXPECT_EQ(metadata.codecs.transposes, (std::vector<Dims>{{1, 0}}));
  EXPECT_THAT(MetadataText(metadata), HasSubstr(f));
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const Metadata scalar,
      ParseMetadata(Format::kV2,
                    R"({"chunks":[],"compressor":null,"dtype":"<f4","fill_value":1,"filters":[],)"
                    R"("order":"F","shape":[],"zarr_format":2})"));
  EXPECT_EQ(scalar.codecs.transposes, (std::vector<Dims>{{}}));
  EXPECT_THAT(MetadataText(scalar), HasSubstr(f));
}

TEST(MetadataV2Test, UnknownMembersAreKept) {
  const std::string text = Replaced(kV2, R"("shape")", R"("note": {"b": 1, "a": [2.50]}, "shape")");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Metadata metadata, ParseMetadata(Format::kV2, text));
  EXPECT_THAT(metadata.other_members,
              ::testing::ElementsAre(::testing::Pair("note", R"({"a":[2.5],"b":1})")));
  EXPECT_THAT(MetadataText(metadata), HasSubstr(R"("note":{"a":[2.5],"b":1},"order":"C")"));
}

constexpr std::string_view kV3 =
    R"({"chunk_grid":{"configuration":{"chunk_shape":[2,4]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},"codecs":[{"configuration":{"endian":"little"},)"
    R"("name":"bytes"}],"data_type":"float32","fill_value":0.0,"node_type":"array",)"
    R"("shape":[4,4],"zarr_format":3})";

TEST(MetadataV3Test, TheExampleOfThePageIsReadAndWritten) {
  Metadata metadata;
  metadata.format = Format::kV3;
  metadata.shape = {4, 4};
  metadata.chunk_shape = {2, 4};
  metadata.chunk_keys = {ChunkKeys::Style::kPrefix, '/'};
  metadata.fill_value = std::vector<std::byte>(4);
  EXPECT_THAT(ParseMetadata(Format::kV3, kV3), IsOkAndHolds(metadata));
  EXPECT_EQ(MetadataText(metadata), kV3);
}

TEST(MetadataV3Test, EveryTypeIsReadByNameAndAsAnObject) {
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.zarr3.empty()) continue;
    const bool scale = info.dtype == DType::kFloat8E8m0fnu;
    const std::string fill = info.kind == DTypeKind::kBool      ? "false"
                             : scale                            ? "0.0"
                             : info.kind == DTypeKind::kFloat   ? "1.0"
                             : info.kind == DTypeKind::kComplex ? "[1.0,0.0]"
                                                                : "1";
    const std::string text =
        Replaced(Replaced(kV3, "\"float32\"", Concat("{\"name\":\"", info.zarr3, "\"}")),
                 "\"fill_value\":0.0", "\"fill_value\":" + fill);
    TESSERA_ASSERT_OK_AND_ASSIGN(const Metadata metadata, ParseMetadata(Format::kV3, text));
    EXPECT_EQ(metadata.dtype, info.dtype);
    EXPECT_THAT(MetadataText(metadata),
                HasSubstr(Concat("\"data_type\":\"", info.zarr3, "\",\"fill_value\":", fill)));
  }
}

TEST(MetadataV3Test, KeyEncodingsHaveDefaultSeparatorsThatAreNotWritten) {
  using Style = ChunkKeys::Style;
  const std::tuple<std::string, ChunkKeys, std::string> encodings[] = {
      {R"({"name":"default"})", {Style::kPrefix, '/'}, R"({"name":"default"})"},
      {R"({"configuration":{"separator":"/"},"name":"default"})",
       {Style::kPrefix, '/'},
       R"({"name":"default"})"},
      {R"({"configuration":{"separator":"."},"name":"default"})",
       {Style::kPrefix, '.'},
       R"({"configuration":{"separator":"."},"name":"default"})"},
      {R"("v2")", {Style::kBare, '.'}, R"({"name":"v2"})"},
      {R"({"name":"v2","configuration":{"separator":"/"}})",
       {Style::kBare, '/'},
       R"({"configuration":{"separator":"/"},"name":"v2"})"},
  };
  for (const auto& [read, keys, written] : encodings) {
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const Metadata metadata,
        ParseMetadata(Format::kV3, Replaced(kV3, R"({"name":"default"})", read)));
    EXPECT_EQ(metadata.chunk_keys, keys);
    EXPECT_THAT(MetadataText(metadata), HasSubstr("\"chunk_key_encoding\":" + written));
  }
}

TEST(MetadataV3Test, AttributesNamesAndHarmlessExtensionsAreKept) {
  const std::string extra = R"({"attributes":{"b":1,"a":"é"},"dimension_names":["x",null],)"
                            R"("ext":{"must_understand":false},"storage_transformers":[],)";
  TESSERA_ASSERT_OK_AND_ASSIGN(const Metadata metadata,
                               ParseMetadata(Format::kV3, extra + std::string(kV3.substr(1))));
  EXPECT_EQ(metadata.dimension_names, (std::vector<std::optional<std::string>>{"x", std::nullopt}));
  EXPECT_THAT(metadata.other_members,
              ::testing::ElementsAre(::testing::Pair("attributes", R"({"a":"é","b":1})"),
                                     ::testing::Pair("ext", R"({"must_understand":false})")));
  EXPECT_THAT(ParseMetadata(Format::kV3, MetadataText(metadata)), IsOkAndHolds(metadata));
  EXPECT_THAT(MetadataText(metadata), HasSubstr(R"({"attributes":{"a":"é","b":1},"chunk_grid")"));
}

TEST(MetadataV3Test, WhatSaysNothingIsLeftOut) {
  const std::string extra = R"({"attributes":{},"dimension_names":[null,null],)";
  TESSERA_ASSERT_OK_AND_ASSIGN(const Metadata metadata,
                               ParseMetadata(Format::kV3, extra + std::string(kV3.substr(1))));
  EXPECT_EQ(MetadataText(metadata), kV3);
}

TEST(ValidateTest, RefusesWhatTheFormatLacks) {
  const auto v2 = [](auto change) {
    Metadata metadata = JaxMetadata({{4, 4}, DType::kFloat32}, Dims{2, 4});
    change(metadata);
    return Validate(metadata);
  };
  EXPECT_THAT(v2([](Metadata& m) { m.dtype = DType::kUint4; }),
              StatusIs(kUnimplemented, "dtype: element type uint4 is not supported by zarr v2"));
  EXPECT_THAT(v2([](Metadata& m) { m.codecs.compression = {codec::Crc32cSpec{}}; }),
              StatusIs(kUnimplemented, "compressor: zarr v2 lacks codec crc32c"));
  EXPECT_THAT(v2([](Metadata& m) {
                m.codecs.compression = {codec::ZstdSpec{1, true}};
              }),
              StatusIs(kUnimplemented, "compressor: zarr v2 lacks the checksum of zstd"));
  EXPECT_THAT(v2([](Metadata& m) { m.codecs.compression.resize(2); }),
              StatusIs(kUnimplemented, "compressor: zarr v2 has one, found 2"));
  EXPECT_THAT(v2([](Metadata& m) { m.codecs.compression = {codec::BloscSpec{}}; }),
              StatusIs(kUnimplemented, HasSubstr("here of 4 bytes, not of 1")));
  EXPECT_THAT(v2([](Metadata& m) {
                m.codecs.transposes = {{0, 1}};
              }),
              StatusIs(kUnimplemented, HasSubstr("order: zarr v2 has C and F")));
  EXPECT_THAT(v2([](Metadata& m) { m.codecs.shard = std::make_shared<const ShardSpec>(); }),
              StatusIs(kUnimplemented, "codecs: zarr v2 lacks shards"));
  EXPECT_THAT(v2([](Metadata& m) { m.chunk_keys.style = ChunkKeys::Style::kPrefix; }),
              StatusIs(kUnimplemented, HasSubstr("dimension_separator: zarr v2 has no prefix")));
  EXPECT_THAT(v2([](Metadata& m) {
                m.dimension_names = {"a", "b"};
              }),
              StatusIs(kUnimplemented, HasSubstr("dimension_names")));
  EXPECT_THAT(v2([](Metadata& m) {
                m.dtype = DType::kBfloat16;
                m.codecs.endian = codec::Endian::kBig;
              }),
              StatusIs(kUnimplemented, "dtype: zarr v2 has bfloat16 little-endian only"));
  EXPECT_THAT(v2([](Metadata& m) { m.chunk_keys.separator = '-'; }),
              StatusIs(kInvalid, "dimension_separator: '-'; expected '.' or '/'"));
  EXPECT_THAT(v2([](Metadata& m) {
                m.shape = {-1, 4};
              }),
              StatusIs(kInvalid, HasSubstr("shape: shape [-1,4]")));
  EXPECT_THAT(v2([](Metadata& m) { m.other_members["shape"] = "[]"; }),
              StatusIs(kInvalid, "other_members: 'shape' cannot stand there"));
  EXPECT_THAT(v2([](Metadata& m) { m.other_members["note"] = "[1, 2]"; }),
              StatusIs(kInvalid, "note: '[1, 2]' is not compact JSON"));
}

TEST(ValidateTest, RefusesWhatVersionThreeLacks) {
  const auto v3 = [](auto change) {
    Metadata metadata = *ParseMetadata(Format::kV3, kV3);
    change(metadata);
    return Validate(metadata);
  };
  using Wrapping = codec::DeflateSpec::Wrapping;
  EXPECT_THAT(v3([](Metadata& m) { m.dtype = DType::kFloat6E2m3fn; }),
              StatusIs(kUnimplemented,
                       "data_type: element type float6_e2m3fn is not supported by zarr v3"));
  EXPECT_THAT(v3([](Metadata& m) {
                m.codecs.compression = {codec::DeflateSpec{Wrapping::kZlib, 1}};
              }),
              StatusIs(kUnimplemented, "codecs[1].configuration: zarr v3 lacks codec zlib"));
  EXPECT_THAT(v3([](Metadata& m) { m.codecs.compression = {codec::Bz2Spec{}}; }),
              StatusIs(kUnimplemented, "codecs[1].configuration: zarr v3 lacks codec bz2"));
  EXPECT_THAT(
      v3([](Metadata& m) {
        m.codecs.compression = {codec::BloscSpec{"lz4", 5, codec::BloscSpec::Shuffle::kAuto, 4, 0}};
      }),
      StatusIs(kUnimplemented, HasSubstr("lacks a shuffle of blosc that follows")));
  EXPECT_THAT(v3([](Metadata& m) { m.codecs.compression = {codec::ZstdSpec{23}}; }),
              StatusIs(kUnimplemented, HasSubstr("codecs[1].configuration.level: codec zstd")));
  EXPECT_THAT(v3([](Metadata& m) { m.codecs.compression.assign(32, codec::Crc32cSpec{}); }),
              StatusIs(kUnimplemented, "codecs: 33 codecs; at most 32 are supported"));
  EXPECT_THAT(v3([](Metadata& m) {
                m.dimension_names = {"\xff", "b"};
              }),
              StatusIs(kInvalid, "dimension_names: '\\xff' is not UTF-8"));
}

TEST(ValidateTest, ByteOrderOfOneByteMeansNothing) {
  Metadata metadata = JaxMetadata({{4}, DType::kInt8}, Dims{4});
  metadata.codecs.endian = codec::Endian::kBig;
  EXPECT_THAT(Validate(metadata), IsOk());
  EXPECT_EQ(Difference(metadata, JaxMetadata({{4}, DType::kInt8}, Dims{4})), "");
}

TEST(DifferenceTest, NamesTheMembersAsTheFormatDoes) {
  const Metadata jax = JaxMetadata({{4, 4}, DType::kFloat32}, Dims{2, 4});
  Metadata other = jax;
  EXPECT_EQ(Difference(jax, other), "");
  other.other_members["note"] = "1";
  EXPECT_EQ(Difference(jax, other), "");
  other.chunk_shape = {4, 4};
  EXPECT_EQ(Difference(jax, other), "chunks: [2,4] and [4,4]");
  other.dtype = DType::kInt32;
  EXPECT_EQ(Difference(jax, other), R"(chunks: [2,4] and [4,4]; dtype: "<f4" and "<i4")");
  Metadata v3 = *ParseMetadata(Format::kV3, kV3);
  EXPECT_EQ(Difference(jax, v3), "zarr_format: 2 and 3");
  EXPECT_EQ(Difference(v3, jax), "zarr_format: 3 and 2");
  Metadata named = v3;
  named.dimension_names = {"x", std::nullopt};
  EXPECT_EQ(Difference(v3, named), R"(dimension_names: none and ["x",null])");
}

}  // namespace
}  // namespace tessera::zarr
