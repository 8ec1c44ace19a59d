#include "tessera/zarr/codec_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/zarr/compression_json.h"

namespace tessera::zarr {
namespace {

using codec::BloscSpec;
using codec::BytesSpec;
using codec::DeflateSpec;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::kUnimplemented;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

constexpr Elements kFloats = {.rank = 2, .bytes = 4};

absl::StatusOr<ChunkCodecs> Read(const std::string& json, const Elements& elements = kFloats) {
  return CodecsFromJson(Json::parse(json), "codecs", elements);
}

absl::StatusOr<std::vector<BytesSpec>> ReadCompressor(const std::string& json) {
  return CompressorFromJson(Json::parse(json), 4);
}

struct Compressor {
  std::string json;
  BytesSpec spec;
};

TEST(CompressorTest, EveryOneOfV2IsReadAndWritten) {
  const Compressor compressors[] = {
      {R"({"id":"zstd","level":1})", codec::ZstdSpec{1}},
      {R"({"id":"zstd","level":-131072})", codec::ZstdSpec{-131072}},
      {R"({"id":"zlib","level":9})", DeflateSpec{DeflateSpec::Wrapping::kZlib, 9}},
      {R"({"id":"gzip","level":0})", DeflateSpec{DeflateSpec::Wrapping::kGzip, 0}},
      {R"({"id":"bz2","level":3})", codec::Bz2Spec{3}},
      {R"({"blocksize":0,"clevel":5,"cname":"lz4","id":"blosc","shuffle":-1})",
       BloscSpec{"lz4", 5, BloscSpec::Shuffle::kAuto, 4, 0}},
      {R"({"blocksize":64,"clevel":9,"cname":"zstd","id":"blosc","shuffle":2})",
       BloscSpec{"zstd", 9, BloscSpec::Shuffle::kBits, 4, 64}},
  };
  for (const Compressor& c : compressors) {
    EXPECT_THAT(ReadCompressor(c.json), IsOkAndHolds(std::vector<BytesSpec>{c.spec})) << c.json;
    EXPECT_EQ(CompressorToJson({c.spec}).dump(), c.json);
  }
  EXPECT_THAT(ReadCompressor("null"), IsOkAndHolds(std::vector<BytesSpec>()));
  EXPECT_EQ(CompressorToJson({}), nullptr);
}

TEST(CompressorTest, OptionsThatAreLeftOutHaveDefaults) {
  EXPECT_THAT(ReadCompressor(R"({"id":"zstd"})"),
              IsOkAndHolds(std::vector<BytesSpec>{codec::ZstdSpec{1}}));
  EXPECT_THAT(
      ReadCompressor(R"({"id":"blosc"})"),
      IsOkAndHolds(std::vector<BytesSpec>{BloscSpec{"lz4", 5, BloscSpec::Shuffle::kAuto, 4, 0}}));
}

TEST(CompressorTest, UnknownIdsAndOptionsAreRefused) {
  EXPECT_THAT(ReadCompressor(R"({"id":"lzma"})"),
              StatusIs(kUnimplemented, "compressor.id: codec 'lzma' is not supported"));
  EXPECT_THAT(ReadCompressor(R"({"level":1})"), StatusIs(kInvalid, HasSubstr("compressor.id")));
  EXPECT_THAT(ReadCompressor(R"("zstd")"), StatusIs(kInvalid, HasSubstr("compressor: expected")));
  EXPECT_THAT(ReadCompressor(R"({"id":"zstd","level":1,"checksum":false})"),
              StatusIs(kUnimplemented,
                       "compressor.checksum: the option is not supported; known: id, level"));
  EXPECT_THAT(ReadCompressor(R"({"id":"zstd","level":23})"),
              StatusIs(kUnimplemented,
                       "compressor.level: codec zstd does not support 23; expected "
                       "-131072 to 22"));
  EXPECT_THAT(ReadCompressor(R"({"id":"bz2","level":0})"),
              StatusIs(kUnimplemented, HasSubstr("codec bz2 does not support 0")));
  EXPECT_THAT(ReadCompressor(R"({"id":"gzip","level":4294967297})"),
              StatusIs(kUnimplemented, HasSubstr("codec gzip does not support 4294967297")));
  EXPECT_THAT(ReadCompressor(R"({"id":"blosc","shuffle":3})"),
              StatusIs(kUnimplemented, HasSubstr("compressor.shuffle")));
  EXPECT_THAT(ReadCompressor(R"({"id":"blosc","cname":"lzo"})"),
              StatusIs(kUnimplemented, HasSubstr("compressor.cname: 'lzo' is not supported")));
  EXPECT_THAT(ReadCompressor(R"({"id":"zstd","level":"1"})"),
              StatusIs(kInvalid, HasSubstr("compressor.level: expected an integer")));
}

TEST(CodecListTest, EveryCodecIsReadAndWritten) {
  const std::string json =
      R"([{"configuration":{"order":[1,0]},"name":"transpose"},)"
      R"({"configuration":{"endian":"big"},"name":"bytes"},)"
      R"({"configuration":{"level":6},"name":"gzip"},)"
      R"({"configuration":{"checksum":true,"level":3},"name":"zstd"},)"
      R"({"configuration":{"blocksize":0,"clevel":5,"cname":"lz4","shuffle":"bitshuffle",)"
      R"("typesize":4},"name":"blosc"},{"name":"crc32c"}])";
  ChunkCodecs codecs;
  codecs.transposes = {{1, 0}};
  codecs.endian = codec::Endian::kBig;
  codecs.compression = {DeflateSpec{DeflateSpec::Wrapping::kGzip, 6}, codec::ZstdSpec{3, true},
                        BloscSpec{"lz4", 5, BloscSpec::Shuffle::kBits, 4, 0}, codec::Crc32cSpec{}};
  EXPECT_THAT(Read(json), IsOkAndHolds(codecs));
  EXPECT_EQ(CodecsToJson(codecs, 4).dump(), json);
}

TEST(CodecListTest, NamesAloneAndEmptyConfigurationsAreTaken) {
  ChunkCodecs codecs;
  codecs.compression = {codec::Crc32cSpec{}};
  EXPECT_THAT(Read(R"(["bytes","crc32c"])", {.rank = 1, .bytes = 1}), IsOkAndHolds(codecs));
  EXPECT_THAT(
      Read(R"([{"name":"bytes","configuration":{}},{"name":"crc32c"}])", {.rank = 1, .bytes = 1}),
      IsOkAndHolds(codecs));
}

TEST(CodecListTest, TransposeTakesTheLettersOfV2) {
  const std::string list = R"([{"name":"transpose","configuration":{"order":"%"}},"bytes"])";
  const auto with = [&](char letter) {
    std::string json = list;
    json[json.find('%')] = letter;
    return Read(json, {.rank = 3, .bytes = 1});
  };
  EXPECT_THAT(with('C'), IsOkAndHolds(ChunkCodecs{.transposes = {{0, 1, 2}}}));
  EXPECT_THAT(with('F'), IsOkAndHolds(ChunkCodecs{.transposes = {{2, 1, 0}}}));
  EXPECT_THAT(with('A'), StatusIs(kInvalid, HasSubstr("bad permutation 'A'")));
}

TEST(CodecListTest, ByteOrderIsNeededAndKeptForWideElementsOnly) {
  EXPECT_THAT(Read(R"(["bytes"])"),
              StatusIs(kInvalid,
                       "codecs[0].configuration.endian: endian required, elements have 4 "
                       "bytes"));
  const std::string big = R"([{"name":"bytes","configuration":{"endian":"big"}}])";
  EXPECT_THAT(Read(big, {.rank = 1, .bytes = 1}), IsOkAndHolds(ChunkCodecs()));
  EXPECT_THAT(Read(R"([{"name":"bytes","configuration":{"endian":"middle"}}])"),
              StatusIs(kUnimplemented, HasSubstr("endian: 'middle' is not supported")));
}

TEST(CodecListTest, BloscNeedsAnElementSizeToShuffle) {
  const auto blosc = [](const std::string& rest) {
    return Read(R"(["bytes",{"name":"blosc","configuration":{"cname":"lz4","clevel":5,)" + rest +
                    R"("blocksize":0}}])",
                {.rank = 1, .bytes = 1});
  };
  EXPECT_THAT(blosc(R"("shuffle":"shuffle",)"),
              StatusIs(kInvalid, HasSubstr("codecs[1].configuration.typesize")));
  EXPECT_THAT(blosc(R"("shuffle":"shuffle","typesize":256,)"),
              StatusIs(kUnimplemented, HasSubstr("typesize: codec blosc does not support 256")));
  EXPECT_THAT(blosc(R"("shuffle":"auto","typesize":4,)"),
              StatusIs(kUnimplemented, HasSubstr("shuffle: 'auto' is not supported")));
  ChunkCodecs codecs;
  codecs.compression = {BloscSpec{"lz4", 5, BloscSpec::Shuffle::kNone, 1, 0}};
  EXPECT_THAT(blosc(R"("shuffle":"noshuffle",)"), IsOkAndHolds(codecs));
  EXPECT_FALSE(CodecsToJson(codecs, 1)[1]["configuration"].contains("typesize"));
  // A size that is given although nothing is shuffled is checked and dropped.
  EXPECT_THAT(blosc(R"("shuffle":"noshuffle","typesize":4,)"), IsOkAndHolds(codecs));
  EXPECT_THAT(blosc(R"("shuffle":"noshuffle","typesize":0,)"),
              StatusIs(kUnimplemented, HasSubstr("typesize: codec blosc does not support 0")));
}

TEST(CodecListTest, RequiredOptionsAreRequired) {
  EXPECT_THAT(Read(R"(["bytes","gzip"])", {.rank = 1, .bytes = 1}),
              StatusIs(kInvalid, "codecs[1].configuration.level: the field is missing"));
  EXPECT_THAT(Read(R"(["bytes","zstd"])", {.rank = 1, .bytes = 1}),
              StatusIs(kInvalid, "codecs[1].configuration.level: the field is missing"));
  EXPECT_THAT(Read(R"([{"name":"transpose"},"bytes"])", {.rank = 1, .bytes = 1}),
              StatusIs(kInvalid, "codecs[0].configuration.order: the field is missing"));
}

TEST(CodecListTest, TheOrderOfKindsIsChecked) {
  const Elements bytes = {.rank = 2, .bytes = 1};
  EXPECT_THAT(Read("[]", bytes), StatusIs(kInvalid, HasSubstr("codecs: codec chain invalid: no")));
  EXPECT_THAT(Read(R"(["crc32c","bytes"])", bytes),
              StatusIs(kInvalid, "codecs[0]: codec chain invalid: crc32c cannot encode an array"));
  EXPECT_THAT(Read(R"(["bytes","bytes"])", bytes),
              StatusIs(kInvalid, "codecs[1]: codec chain invalid: bytes cannot encode bytes"));
  EXPECT_THAT(Read(R"(["bytes",{"name":"transpose","configuration":{"order":"C"}}])", bytes),
              StatusIs(kInvalid, "codecs[1]: codec chain invalid: transpose cannot encode bytes"));
  EXPECT_THAT(Read(R"("bytes")", bytes),
              StatusIs(kInvalid, "codecs: expected a list of codecs, found string"));
  EXPECT_THAT(Read("[7]", bytes), StatusIs(kInvalid, HasSubstr("codecs[0]: expected an object")));
}

TEST(CodecListTest, UnknownCodecsAndMembersAreRefused) {
  const Elements bytes = {.rank = 2, .bytes = 1};
  EXPECT_THAT(Read(R"(["bytes","lz4"])", bytes),
              StatusIs(kUnimplemented, "codecs[1].name: codec 'lz4' is not supported"));
  EXPECT_THAT(Read(R"([{"name":"bytes","must_understand":false}])", bytes),
              StatusIs(kUnimplemented, HasSubstr("codecs[0].must_understand: the option")));
  EXPECT_THAT(Read(R"(["bytes",{"name":"crc32c","configuration":{"a b":1}}])", bytes),
              StatusIs(kUnimplemented,
                       "codecs[1].configuration.'a b': the option is not "
                       "supported; known: none"));
}

TEST(CodecListTest, ShardsHoldListsOfTheirOwn) {
  const std::string json =
      R"([{"configuration":{"chunk_shape":[4,3],)"
      R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],)"
      R"("index_codecs":[{"configuration":{"endian":"little"},"name":"bytes"},{"name":"crc32c"}],)"
      R"("index_location":"start"},"name":"sharding_indexed"}])";
  ShardSpec shard;
  shard.chunk_shape = {4, 3};
  shard.index_codecs.compression = {codec::Crc32cSpec{}};
  shard.index_location = ShardSpec::IndexLocation::kStart;
  ChunkCodecs codecs;
  codecs.shard = std::make_shared<const ShardSpec>(shard);
  EXPECT_THAT(Read(json), IsOkAndHolds(codecs));
  EXPECT_EQ(CodecsToJson(codecs, 4).dump(), json);
  // The index is of uint64 whatever the array is.
  std::string no_order = json;
  const std::string endian = R"("configuration":{"endian":"little"},)";
  no_order.erase(no_order.rfind(endian), endian.size());
  EXPECT_THAT(Read(no_order),
              StatusIs(kInvalid,
                       "codecs[0].configuration.index_codecs[0].configuration.endian: "
                       "endian required, elements have 8 bytes"));
}

TEST(ChunkCodecsTest, EqualityLooksIntoShards) {
  const auto with_inner = [](int64_t size) {
    ShardSpec shard;
    shard.chunk_shape = {size};
    return ChunkCodecs{.shard = std::make_shared<const ShardSpec>(shard)};
  };
  EXPECT_EQ(with_inner(2), with_inner(2));
  EXPECT_NE(with_inner(2), with_inner(3));
  EXPECT_NE(with_inner(2), ChunkCodecs());
  EXPECT_NE(ChunkCodecs(), ChunkCodecs{.endian = codec::Endian::kBig});
}

}  // namespace
}  // namespace tessera::zarr
