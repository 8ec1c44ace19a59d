// Every codec: round trips, sizes, each truncation, each flipped byte, bombs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tessera/codec/bytes_codec.h"
#include "tessera/codec/chain.h"
#include "tessera/codec/crc32c.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::codec {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
using Buffer = std::vector<std::byte>;

struct NamedSpec {
  std::string name;
  BytesSpec spec;
};

std::vector<NamedSpec> AllSpecs() {
  std::vector<NamedSpec> specs = {
      {"zstd", ZstdSpec{}},
      {"zstd_fast", ZstdSpec{-5}},
      {"zstd_checksum", ZstdSpec{3, true}},
      {"gzip", DeflateSpec{DeflateSpec::Wrapping::kGzip, 6}},
      {"gzip_stored", DeflateSpec{DeflateSpec::Wrapping::kGzip, 0}},
      {"zlib", DeflateSpec{DeflateSpec::Wrapping::kZlib, 1}},
      {"bz2", Bz2Spec{}},
      {"crc32c", Crc32cSpec{}},
  };
  for (const char* compressor : {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}) {
    for (const auto shuffle :
         {BloscSpec::Shuffle::kNone, BloscSpec::Shuffle::kBytes, BloscSpec::Shuffle::kBits}) {
      specs.push_back({Concat("blosc_", compressor, "_", static_cast<int>(shuffle)),
                       BloscSpec{compressor, 5, shuffle, 2, 0}});
    }
  }
  return specs;
}

// Looks like weights: the high byte of each pair repeats, the low one does not.
Buffer Sample(size_t size) {
  Buffer data(size);
  uint32_t state = 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525 + 1013904223;
    data[i] = static_cast<std::byte>(i % 2 == 0 ? state >> 24 : 0x3c + (state >> 30));
  }
  return data;
}

class CodecTest : public ::testing::TestWithParam<NamedSpec> {
 protected:
  void SetUp() override {
    auto codec = MakeBytesCodec(GetParam().spec);
    ASSERT_THAT(codec, IsOk());
    codec_ = *std::move(codec);
  }
  const BytesCodec& codec() const { return *codec_; }
  bool has_checksum() const {
    return GetParam().name == "crc32c" || GetParam().name == "zstd_checksum" ||
           GetParam().name.starts_with("gzip") || GetParam().name == "zlib" ||
           GetParam().name == "bz2";
  }

 private:
  std::unique_ptr<BytesCodec> codec_;
};

INSTANTIATE_TEST_SUITE_P(Codecs, CodecTest, ::testing::ValuesIn(AllSpecs()),
                         [](const auto& info) { return info.param.name; });

TEST_P(CodecTest, RoundTripsAnySize) {
  for (size_t size : {0u, 1u, 2u, 17u, 4096u, 4097u, 100'000u, 3'000'000u}) {
    const Buffer data = Sample(size);
    TESSERA_ASSERT_OK_AND_ASSIGN(const Buffer encoded, codec().Encode(data));
    Buffer target(size, std::byte{0xee});
    ASSERT_THAT(codec().Decode(encoded, target), IsOk()) << size;
    EXPECT_EQ(target, data) << size;
    TESSERA_ASSERT_OK_AND_ASSIGN(const Buffer free, codec().DecodeUpTo(encoded, size + 10));
    EXPECT_EQ(free, data) << size;
  }
}

TEST_P(CodecTest, AnotherSizeThanExpectedIsDataLoss) {
  const Buffer data = Sample(5000);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Buffer encoded, codec().Encode(data));
  for (size_t size : {0u, 1u, 4999u, 5001u, 100'000u}) {
    Buffer target(size);
    EXPECT_THAT(codec().Decode(encoded, target), StatusIs(kDataLoss, HasSubstr(": "))) << size;
  }
  EXPECT_THAT(codec().DecodeUpTo(encoded, 4999), StatusIs(kDataLoss, HasSubstr("4999")));
}

TEST_P(CodecTest, ABombIsRefusedBeforeItIsInflated) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Buffer encoded, codec().Encode(Buffer(50'000'000)));
  Buffer target(1000);
  EXPECT_THAT(codec().Decode(encoded, target), StatusIs(kDataLoss, HasSubstr("1000")));
  EXPECT_THAT(codec().DecodeUpTo(encoded, 1000), StatusIs(kDataLoss, HasSubstr("1000")));
}

TEST_P(CodecTest, EveryTruncationIsDataLoss) {
  const Buffer data = Sample(700);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Buffer encoded, codec().Encode(data));
  Buffer target(data.size());
  for (size_t size = 0; size < encoded.size(); ++size) {
    // A copy of its own, so that a read past its end shows under the sanitizer.
    const Buffer cut(encoded.begin(), encoded.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_THAT(codec().Decode(cut, target), StatusIs(kDataLoss, HasSubstr(": "))) << size;
    EXPECT_THAT(codec().DecodeUpTo(cut, 1 << 20), StatusIs(kDataLoss, HasSubstr(": "))) << size;
  }
}

TEST_P(CodecTest, TrailingBytesAreDataLoss) {
  const Buffer data = Sample(700);
  TESSERA_ASSERT_OK_AND_ASSIGN(Buffer encoded, codec().Encode(data));
  encoded.push_back(std::byte{0});
  Buffer target(data.size());
  EXPECT_THAT(codec().Decode(encoded, target), StatusIs(kDataLoss, HasSubstr(": ")));
}

TEST_P(CodecTest, AFlippedByteIsFoundOrHarmless) {
  const Buffer data = Sample(700);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Buffer encoded, codec().Encode(data));
  for (size_t i = 0; i < encoded.size(); ++i) {
    Buffer damaged = encoded;
    damaged[i] ^= std::byte{0x55};
    Buffer target(data.size());
    const absl::Status status = codec().Decode(damaged, target);
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << i << " " << status.ToString();
    // Where the format has a checksum, what decodes is what was encoded.
    if (has_checksum() && status.ok()) {
      EXPECT_EQ(target, data) << i;
    }
  }
}

TEST(MakeBytesCodecTest, SettingsOutOfRangeAreNamed) {
  EXPECT_THAT(MakeBytesCodec(ZstdSpec{23}), StatusIs(kInvalid, HasSubstr("zstd: level 23")));
  EXPECT_THAT(MakeBytesCodec(DeflateSpec{DeflateSpec::Wrapping::kGzip, 10}),
              StatusIs(kInvalid, HasSubstr("gzip: level 10")));
  EXPECT_THAT(MakeBytesCodec(Bz2Spec{0}), StatusIs(kInvalid, HasSubstr("bz2: level 0")));
  EXPECT_THAT(MakeBytesCodec(BloscSpec{.compressor = "lzma"}),
              StatusIs(kInvalid, HasSubstr("blosc: compressor 'lzma'")));
  EXPECT_THAT(MakeBytesCodec(BloscSpec{.element_bytes = 256}),
              StatusIs(kInvalid, HasSubstr("element size 256")));
}

TEST(ZstdTest, WritesTheBytesOfTheReference) {
  // A rank-0 int32 of value 7 at level 1.
  const Buffer data = {std::byte{7}, std::byte{0}, std::byte{0}, std::byte{0}};
  const auto encoded = (*MakeBytesCodec(ZstdSpec{1}))->Encode(data);
  const unsigned char expected[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x04, 0x21, 0, 0, 7, 0, 0, 0};
  ASSERT_EQ(encoded->size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(encoded->data(), expected, sizeof(expected)), 0);
}

TEST(Crc32cTest, KnownValues) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(Crc32c(std::as_bytes(std::span(digits.data(), digits.size()))), 0xE3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32cTest, WritesTheBytesOfTheReference) {
  const Buffer one = {std::byte{0}, std::byte{0}, std::byte{0x80}, std::byte{0x3f}};
  const auto encoded = (*MakeBytesCodec(Crc32cSpec{}))->Encode(one);
  const unsigned char expected[] = {0, 0, 0x80, 0x3f, 0xab, 0xc4, 0x54, 0xdd};
  ASSERT_EQ(encoded->size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(encoded->data(), expected, sizeof(expected)), 0);
}

TEST(ChainTest, RunsForthAndBack) {
  const Buffer data = Sample(10'000);
  for (const std::vector<BytesSpec>& specs : {std::vector<BytesSpec>{},
                                              {ZstdSpec{}},
                                              {ZstdSpec{}, Crc32cSpec{}},
                                              {Crc32cSpec{}, Bz2Spec{}, Crc32cSpec{}},
                                              {BloscSpec{}, DeflateSpec{}}}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Chain chain, Chain::Make(specs));
    TESSERA_ASSERT_OK_AND_ASSIGN(const Buffer encoded, chain.Encode(data));
    Buffer target(data.size());
    ASSERT_THAT(chain.Decode(encoded, target), IsOk());
    EXPECT_EQ(target, data);
  }
}

TEST(ChainTest, ABombInTheMiddleIsRefused) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Chain chain,
                               Chain::Make(std::vector<BytesSpec>{Crc32cSpec{}, ZstdSpec{}}));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Buffer bomb, chain.Encode(Buffer(100'000'000)));
  Buffer target(1000);
  EXPECT_THAT(chain.Decode(bomb, target), StatusIs(kDataLoss, HasSubstr("zstd: ")));
}

TEST(ChainTest, NoCodecsMeansTheExactBytes) {
  Buffer target(3);
  EXPECT_THAT(Chain().Decode(Buffer(4), target), StatusIs(kDataLoss, "found 4 bytes, expected 3"));
}

}  // namespace
}  // namespace tessera::codec
