// Every codec: round trips, sizes, each truncation, each flipped byte, bombs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "tessera/codec/bytes_codec.h"
#include "tessera/codec/crc32c.h"
#include "tessera/codec/testing/sample.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::codec {
namespace {

using ::tessera::codec::testing::Sample;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using testing::Copy;
using ::testing::HasSubstr;
using testing::Noise;

using Data = std::vector<std::byte>;
using Span = std::span<const std::byte>;

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
    for (const auto shuffle : {BloscSpec::Shuffle::kNone, BloscSpec::Shuffle::kBytes,
                               BloscSpec::Shuffle::kBits, BloscSpec::Shuffle::kAuto}) {
      specs.push_back({Concat("blosc_", compressor, "_", static_cast<int>(shuffle)),
                       BloscSpec{compressor, 5, shuffle, 2, 0}});
    }
  }
  return specs;
}

absl::StatusOr<Data> Encoded(const BytesCodec& codec, Span data) {
  Buffer encoded;
  TESSERA_RETURN_IF_ERROR(codec.Encode(data, encoded));
  EXPECT_LE(encoded.size(), codec.MostEncoded(data.size()));
  return Copy(encoded.span());
}

absl::StatusOr<Data> DecodedUpTo(const BytesCodec& codec, Span encoded, size_t most) {
  Buffer decoded;
  TESSERA_ASSIGN_OR_RETURN(const Span data, codec.DecodeUpTo(encoded, most, decoded));
  return Copy(data);
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
    const Data data = Sample(size);
    TESSERA_ASSERT_OK_AND_ASSIGN(const Data encoded, Encoded(codec(), data));
    Data target(size, std::byte{0xee});
    ASSERT_THAT(codec().Decode(encoded, target), IsOk()) << size;
    EXPECT_EQ(target, data) << size;
    TESSERA_ASSERT_OK_AND_ASSIGN(const Data free, DecodedUpTo(codec(), encoded, size + 10));
    EXPECT_EQ(free, data) << size;
  }
}

TEST_P(CodecTest, NoDataGrowsPastTheBound) {
  for (size_t size : {1u, 5u, 600u, 70'000u, 1'500'001u}) {
    const Data noise = Noise(size);
    TESSERA_ASSERT_OK_AND_ASSIGN(const Data encoded, Encoded(codec(), noise));
    Data target(size);
    ASSERT_THAT(codec().Decode(encoded, target), IsOk()) << size;
    EXPECT_EQ(target, noise) << size;
  }
}

TEST_P(CodecTest, OneBufferServesAnySequence) {
  Buffer encoded;
  Buffer decoded;
  for (size_t size : {5000u, 100'000u, 3u, 0u, 50'000u}) {
    const Data data = Sample(size);
    ASSERT_THAT(codec().Encode(data, encoded), IsOk());
    TESSERA_ASSERT_OK_AND_ASSIGN(const Span free,
                                 codec().DecodeUpTo(encoded.span(), size, decoded));
    EXPECT_EQ(Copy(free), data) << size;
  }
}

TEST_P(CodecTest, AnotherSizeThanExpectedIsDataLoss) {
  const Data data = Sample(5000);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Data encoded, Encoded(codec(), data));
  for (size_t size : {0u, 1u, 4999u, 5001u, 100'000u}) {
    Data target(size);
    EXPECT_THAT(codec().Decode(encoded, target), StatusIs(kDataLoss, HasSubstr(": "))) << size;
  }
  EXPECT_THAT(DecodedUpTo(codec(), encoded, 4999), StatusIs(kDataLoss, HasSubstr("4999")));
}

TEST_P(CodecTest, ABombIsRefusedBeforeItIsInflated) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Data encoded, Encoded(codec(), Data(10'000'000)));
  Data target(1000);
  EXPECT_THAT(codec().Decode(encoded, target), StatusIs(kDataLoss, HasSubstr("1000")));
  EXPECT_THAT(DecodedUpTo(codec(), encoded, 1000), StatusIs(kDataLoss, HasSubstr("1000")));
}

TEST_P(CodecTest, EveryTruncationIsDataLoss) {
  const Data data = Sample(700);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Data encoded, Encoded(codec(), data));
  Data target(data.size());
  for (size_t size = 0; size < encoded.size(); ++size) {
    const Data cut = Copy(Span(encoded).first(size));
    EXPECT_THAT(codec().Decode(cut, target), StatusIs(kDataLoss, HasSubstr(": "))) << size;
    EXPECT_THAT(DecodedUpTo(codec(), cut, 1 << 20), StatusIs(kDataLoss, HasSubstr(": "))) << size;
  }
}

TEST_P(CodecTest, TrailingBytesAreDataLoss) {
  const Data data = Sample(700);
  TESSERA_ASSERT_OK_AND_ASSIGN(Data encoded, Encoded(codec(), data));
  encoded.push_back(std::byte{0});
  Data target(data.size());
  EXPECT_THAT(codec().Decode(encoded, target), StatusIs(kDataLoss, HasSubstr(": ")));
}

TEST_P(CodecTest, AFlippedByteIsFoundOrHarmless) {
  const Data data = Sample(700);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Data encoded, Encoded(codec(), data));
  for (size_t i = 0; i < encoded.size(); ++i) {
    Data damaged = encoded;
    damaged[i] ^= std::byte{0x55};
    Data target(data.size());
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
  const Data data = {std::byte{7}, std::byte{0}, std::byte{0}, std::byte{0}};
  const auto encoded = Encoded(**MakeBytesCodec(ZstdSpec{1}), data);
  const unsigned char expected[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x04, 0x21, 0, 0, 7, 0, 0, 0};
  ASSERT_EQ(encoded->size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(encoded->data(), expected, sizeof(expected)), 0);
}

// A frame that does not tell its size: `size` bytes of 'a', each block one byte that repeats.
Data UnsizedFrame(size_t size, int window_log) {
  Data frame = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f},
                std::byte{0xfd}, std::byte{0},    static_cast<std::byte>((window_log - 10) << 3)};
  constexpr size_t kBlock = size_t{128} << 10;
  do {
    const size_t block = std::min(size, kBlock);
    size -= block;
    const size_t header = block << 3 | 1 << 1 | (size == 0 ? 1 : 0);
    for (int i = 0; i < 3; ++i) frame.push_back(static_cast<std::byte>(header >> (8 * i)));
    frame.push_back(std::byte{'a'});
  } while (size > 0);
  return frame;
}

TEST(ZstdTest, AFrameWithoutASizeDecodes) {
  const auto codec = *MakeBytesCodec(ZstdSpec{});
  for (size_t size : {0u, 1u, 1000u, 131072u, 131073u, 1'000'000u}) {
    const Data expected(size, std::byte{'a'});
    const Data frame = UnsizedFrame(size, 20);
    EXPECT_THAT(DecodedUpTo(*codec, frame, size), IsOkAndHolds(expected)) << size;
    EXPECT_THAT(DecodedUpTo(*codec, frame, size + 100), IsOkAndHolds(expected)) << size;
    Data target(size);
    EXPECT_THAT(codec->Decode(frame, target), IsOk()) << size;
    EXPECT_EQ(target, expected) << size;
  }
}

TEST(ZstdTest, AFrameWithoutASizeThatHoldsTooMuchIsDataLoss) {
  const auto codec = *MakeBytesCodec(ZstdSpec{});
  const Data bomb = UnsizedFrame(size_t{1} << 32, 20);
  EXPECT_THAT(DecodedUpTo(*codec, bomb, 1000),
              StatusIs(kDataLoss, "zstd: more than the 1000 bytes expected"));
  Data target(300'000);
  EXPECT_THAT(codec->Decode(bomb, target),
              StatusIs(kDataLoss, "zstd: more than the 300000 bytes expected"));
}

TEST(ZstdTest, AWindowOfTwoGibibytesTakesNoMemory) {
  const auto codec = *MakeBytesCodec(ZstdSpec{});
  const Data frame = UnsizedFrame(5, 31);
  const size_t before = mallinfo2().hblkhd;
  EXPECT_THAT(DecodedUpTo(*codec, frame, 1000), IsOkAndHolds(Data(5, std::byte{'a'})));
  Data target(5);
  EXPECT_THAT(codec->Decode(frame, target), IsOk());
  // The context stays with the thread, so a window would still be there.
  EXPECT_LT(mallinfo2().hblkhd, before + (size_t{64} << 20));
}

TEST(ZstdTest, AWindowPastTheFormatIsDataLoss) {
  const auto codec = *MakeBytesCodec(ZstdSpec{});
  Data target(5);
  EXPECT_THAT(codec->Decode(UnsizedFrame(5, 32), target), StatusIs(kDataLoss, HasSubstr("zstd: ")));
}

TEST(ZstdTest, FramesOfOtherKindsAreDataLoss) {
  const auto codec = *MakeBytesCodec(ZstdSpec{});
  Data skippable(8);
  for (int i = 0; i < 4; ++i) skippable[i] = static_cast<std::byte>(0x184d2a50u >> (8 * i));
  EXPECT_THAT(codec->Decode(skippable, {}),
              StatusIs(kDataLoss, "zstd: the data has no frame header"));
}

TEST(BloscTest, AutoShufflesBitsOfBytesAndBytesOfWiderElements) {
  const Data data = Sample(5000);
  const auto encoded = [&](BloscSpec::Shuffle shuffle, int element_bytes) {
    const BloscSpec spec{"lz4", 5, shuffle, element_bytes, 0};
    return *Encoded(**MakeBytesCodec(spec), data);
  };
  EXPECT_EQ(encoded(BloscSpec::Shuffle::kAuto, 1), encoded(BloscSpec::Shuffle::kBits, 1));
  EXPECT_EQ(encoded(BloscSpec::Shuffle::kAuto, 2), encoded(BloscSpec::Shuffle::kBytes, 2));
  EXPECT_NE(encoded(BloscSpec::Shuffle::kAuto, 1), encoded(BloscSpec::Shuffle::kBytes, 1));
  EXPECT_NE(encoded(BloscSpec::Shuffle::kAuto, 2), encoded(BloscSpec::Shuffle::kBits, 2));
}

TEST(BloscTest, MoreThanTheFormatHoldsIsRefused) {
  const auto codec = *MakeBytesCodec(BloscSpec{});
  const std::byte one{};
  Buffer encoded;
  // Nothing of it is looked at.
  EXPECT_THAT(codec->Encode(Span(&one, size_t{1} << 31), encoded),
              StatusIs(kInvalid,
                       "blosc: 2147483648 bytes are more than the 2147483631 that the format "
                       "holds"));
  EXPECT_EQ(encoded.size(), 0u);
}

TEST(Crc32cTest, KnownValues) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(Crc32c(std::as_bytes(std::span(digits.data(), digits.size()))), 0xE3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32cTest, WritesTheBytesOfTheReference) {
  const Data one = {std::byte{0}, std::byte{0}, std::byte{0x80}, std::byte{0x3f}};
  const auto encoded = Encoded(**MakeBytesCodec(Crc32cSpec{}), one);
  const unsigned char expected[] = {0, 0, 0x80, 0x3f, 0xab, 0xc4, 0x54, 0xdd};
  ASSERT_EQ(encoded->size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(encoded->data(), expected, sizeof(expected)), 0);
}

}  // namespace
}  // namespace tessera::codec
