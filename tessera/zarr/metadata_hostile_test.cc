// Damaged documents are refused or mean something; random metadata survives being written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/zarr/fill_value.h"
#include "tessera/zarr/metadata.h"
#include "tessera/zarr/testing/documents.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;

// The document is refused as one from outside should be, or it can be written and read again.
void ExpectHarmless(Format format, std::string_view text) {
  const auto read = ParseMetadata(format, text);
  if (!read.ok()) {
    EXPECT_TRUE(absl::IsInvalidArgument(read.status()) || absl::IsUnimplemented(read.status()))
        << read.status();
    EXPECT_FALSE(read.status().message().empty());
    return;
  }
  const auto again = ParseMetadata(format, MetadataText(*read));
  ASSERT_THAT(again, IsOk()) << text;
  EXPECT_EQ(*again, *read) << text;
}

void ExpectTruncationsRefused(Format format, std::string_view text) {
  for (size_t size = 0; size < text.size(); ++size) {
    // A copy of its own, so that a read past the end shows.
    const std::vector<char> copy(text.begin(), text.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_THAT(ParseMetadata(format, {copy.data(), copy.size()}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::HasSubstr("not a valid metadata document")));
  }
}

// Each bit of each byte is flipped, and each byte replaced by what means something in JSON.
void ExpectFlipsHarmless(Format format, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged(text);
    for (int bit = 0; bit < 8; ++bit) {
      damaged[i] = static_cast<char>(text[i] ^ (1 << bit));
      ExpectHarmless(format, damaged);
    }
    for (const char c : std::string_view("\"\\{}[],:0-e ")) {
      damaged[i] = c;
      ExpectHarmless(format, damaged);
    }
  }
}

TEST(HostileTest, EveryTruncationIsRefused) {
  for (const std::string_view text : testing::kV2Documents) {
    ExpectTruncationsRefused(Format::kV2, text);
  }
  for (const std::string_view text : testing::kV3Documents) {
    ExpectTruncationsRefused(Format::kV3, text);
  }
}

TEST(HostileTest, EveryChangeOfOneByteOfV2IsHarmless) {
  ExpectFlipsHarmless(
      Format::kV2,
      R"({"chunks":[5,11],"compressor":{"blocksize":0,"clevel":5,"cname":"zstd","id":"blosc",)"
      R"("shuffle":-1},"dtype":">c8","fill_value":["NaN",2.5],"filters":null,"n":{"a":1e5},)"
      R"("order":"F","shape":[9,11],"zarr_format":2})");
}

TEST(HostileTest, EveryChangeOfOneByteOfV3IsHarmless) {
  ExpectFlipsHarmless(
      Format::kV3,
      R"({"attributes":{"a":1},"chunk_grid":{"configuration":{"chunk_shape":[4,6]},)"
      R"("name":"regular"},"chunk_key_encoding":{"name":"default"},"codecs":[{"configuration":)"
      R"({"order":[1,0]},"name":"transpose"},{"configuration":{"chunk_shape":[3,2],"codecs":)"
      R"([{"configuration":{"endian":"big"},"name":"bytes"},{"configuration":{"checksum":true,)"
      R"("level":3},"name":"zstd"}],"index_codecs":[{"configuration":{"endian":"little"},)"
      R"("name":"bytes"},{"name":"crc32c"}],"index_location":"start"},"name":)"
      R"("sharding_indexed"}],"data_type":"bfloat16","dimension_names":["x",null],)"
      R"("fill_value":"0x7fc1","node_type":"array","shape":[9,11],"zarr_format":3})");
}

// Random metadata that is valid.

Dims ArbitraryDims(size_t rank, int64_t least, int64_t most) {
  Dims dims(rank);
  for (int64_t& size : dims) size = *rc::gen::inRange<int64_t>(least, most + 1);
  return dims;
}

Dims ArbitraryOrder(size_t rank) {
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[*rc::gen::inRange<size_t>(0, i)]);
  return order;
}

codec::BloscSpec ArbitraryBlosc() {
  using Shuffle = codec::BloscSpec::Shuffle;
  codec::BloscSpec blosc{
      *rc::gen::element<std::string>("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"),
      *rc::gen::inRange(0, 10), *rc::gen::element(Shuffle::kNone, Shuffle::kBytes, Shuffle::kBits),
      *rc::gen::inRange(1, 256), *rc::gen::inRange(0, 1 << 20)};
  if (blosc.shuffle == Shuffle::kNone) blosc.element_bytes = 1;
  return blosc;
}

codec::BytesSpec ArbitraryCompression(Format format, DType dtype) {
  using Wrapping = codec::DeflateSpec::Wrapping;
  const bool v2 = format == Format::kV2;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return codec::ZstdSpec{*rc::gen::inRange(-131072, 23), !v2 && *rc::gen::arbitrary<bool>()};
    case 1:
      return codec::DeflateSpec{
          v2 ? *rc::gen::element(Wrapping::kGzip, Wrapping::kZlib) : Wrapping::kGzip,
          *rc::gen::inRange(0, 10)};
    case 2: {
      codec::BloscSpec blosc = ArbitraryBlosc();
      if (v2) blosc.element_bytes = DTypeBytes(dtype);
      if (v2 && *rc::gen::arbitrary<bool>()) blosc.shuffle = codec::BloscSpec::Shuffle::kAuto;
      return blosc;
    }
    default:
      if (v2) return codec::Bz2Spec{*rc::gen::inRange(1, 10)};
      return codec::Crc32cSpec{};
  }
}

std::vector<std::byte> ArbitraryFill(Format format, DType dtype) {
  std::vector<std::byte> fill(static_cast<size_t>(DTypeBytes(dtype)));
  do {
    for (std::byte& byte : fill) byte = static_cast<std::byte>(*rc::gen::inRange(0, 256));
  } while (!CheckFillValue(format, dtype, fill).ok());
  return fill;
}

codec::Endian ArbitraryEndian(int element_bytes) {
  const bool big = element_bytes > 1 && *rc::gen::arbitrary<bool>();
  return big ? codec::Endian::kBig : codec::Endian::kLittle;
}

// A divisor of each size.
Dims ArbitraryDivisors(DimsView shape) {
  Dims divisors;
  for (const int64_t size : shape) {
    int64_t divisor = *rc::gen::inRange<int64_t>(1, size + 1);
    while (size % divisor != 0) --divisor;
    divisors.push_back(divisor);
  }
  return divisors;
}

ChunkCodecs ArbitraryCodecs(DType dtype, Dims shape, int depth) {
  ChunkCodecs codecs;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    const Dims order = ArbitraryOrder(shape.size());
    Dims transposed;
    for (const int64_t dim : order) transposed.push_back(shape[static_cast<size_t>(dim)]);
    shape = transposed;
    codecs.transposes.push_back(order);
  }
  if (depth > 0 && *rc::gen::arbitrary<bool>()) {
    ShardSpec shard;
    shard.chunk_shape = ArbitraryDivisors(shape);
    shard.codecs = ArbitraryCodecs(dtype, shard.chunk_shape, depth - 1);
    if (*rc::gen::arbitrary<bool>()) {
      shard.index_codecs.transposes = {ArbitraryOrder(shape.size() + 1)};
    }
    shard.index_codecs.endian = ArbitraryEndian(8);
    shard.index_codecs.compression.assign(*rc::gen::inRange<size_t>(0, 2), codec::Crc32cSpec{});
    shard.index_location =
        *rc::gen::element(ShardSpec::IndexLocation::kStart, ShardSpec::IndexLocation::kEnd);
    codecs.shard = std::make_shared<const ShardSpec>(shard);
    return codecs;
  }
  codecs.endian = ArbitraryEndian(DTypeBytes(dtype));
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    codecs.compression.push_back(ArbitraryCompression(Format::kV3, dtype));
  }
  return codecs;
}

DType ArbitraryDType() {
  std::vector<DType> known;
  for (const DTypeInfo& info : AllDTypes()) {
    if (!info.zarr2.empty()) known.push_back(info.dtype);
  }
  return *rc::gen::elementOf(known);
}

Metadata ArbitraryV2() {
  const size_t rank = *rc::gen::inRange<size_t>(0, 5);
  Metadata metadata;
  metadata.dtype = ArbitraryDType();
  metadata.shape = ArbitraryDims(rank, 0, 40);
  metadata.chunk_shape = ArbitraryDims(rank, 1, 12);
  metadata.chunk_keys.separator = *rc::gen::element('.', '/');
  if (*rc::gen::arbitrary<bool>()) {
    metadata.fill_value = ArbitraryFill(Format::kV2, metadata.dtype);
  }
  if (*rc::gen::arbitrary<bool>()) {
    Dims reversed(rank);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    metadata.codecs.transposes = {reversed};
  }
  const bool ordered = InfoOf(metadata.dtype).zarr2.starts_with('<');
  metadata.codecs.endian = ArbitraryEndian(ordered ? 2 : 1);
  if (*rc::gen::arbitrary<bool>()) {
    metadata.codecs.compression = {ArbitraryCompression(Format::kV2, metadata.dtype)};
  }
  if (*rc::gen::arbitrary<bool>()) metadata.other_members = {{"é\n", R"([1.5,"\u0001",null])"}};
  return metadata;
}

Metadata ArbitraryV3() {
  const size_t rank = *rc::gen::inRange<size_t>(0, 5);
  Metadata metadata;
  metadata.format = Format::kV3;
  metadata.dtype = ArbitraryDType();
  metadata.shape = ArbitraryDims(rank, 0, 40);
  metadata.chunk_shape = ArbitraryDims(rank, 1, 24);
  metadata.chunk_keys = {*rc::gen::element(ChunkKeys::Style::kBare, ChunkKeys::Style::kPrefix),
                         *rc::gen::element('.', '/')};
  metadata.fill_value = ArbitraryFill(Format::kV3, metadata.dtype);
  metadata.codecs = ArbitraryCodecs(metadata.dtype, metadata.chunk_shape, 3);
  if (rank > 0 && *rc::gen::arbitrary<bool>()) {
    metadata.dimension_names.resize(rank);
    metadata.dimension_names[*rc::gen::inRange<size_t>(0, rank)] = "\"é\t";
  }
  if (*rc::gen::arbitrary<bool>()) metadata.other_members["attributes"] = R"({"a":{"b":[]}})";
  return metadata;
}

RC_GTEST_PROP(MetadataProperty, WhatIsValidInV2ComesBackFromItsText, ()) {
  const Metadata metadata = ArbitraryV2();
  RC_ASSERT(Validate(metadata).ok());
  const auto read = ParseMetadata(Format::kV2, MetadataText(metadata));
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == metadata);
  RC_ASSERT(Difference(*read, metadata).empty());
}

RC_GTEST_PROP(MetadataProperty, WhatIsValidInV3ComesBackFromItsText, ()) {
  const Metadata metadata = ArbitraryV3();
  RC_ASSERT(Validate(metadata).ok());
  const auto read = ParseMetadata(Format::kV3, MetadataText(metadata));
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == metadata);
  RC_ASSERT(Difference(*read, metadata).empty());
}

}  // namespace
}  // namespace tessera::zarr
