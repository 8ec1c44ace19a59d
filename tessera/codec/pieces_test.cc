// Codecs that work piece by piece give what they give at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/codec/array_codec.h"
#include "tessera/codec/bytes_codec.h"
#include "tessera/codec/testing/sample.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::codec {
namespace {

using ::tessera::codec::testing::Sample;
using ::tessera::testing::IsOk;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

using Data = std::vector<std::byte>;
using Span = std::span<const std::byte>;

// Enough for any header.
constexpr size_t kFirst = 32;

Data EncodedInPieces(const BytesCodec& codec, Span data) {
  Buffer room;
  Data encoded;
  EXPECT_THAT(codec.EncodeTo(data, room,
                             [&](Span piece) {
                               EXPECT_LE(piece.size(), codec.EncodeToRoom(data.size()));
                               encoded.insert(encoded.end(), piece.begin(), piece.end());
                               return absl::OkStatus();
                             }),
              IsOk());
  return encoded;
}

// Feeds the first bytes and then pieces of `step`.
absl::Status Feed(PieceDecoder& decoder, Span encoded, size_t step) {
  for (size_t at = 0; at < encoded.size();) {
    const size_t size = std::min(encoded.size() - at, at == 0 ? std::max(kFirst, step) : step);
    TESSERA_RETURN_IF_ERROR(decoder.Feed(encoded.subspan(at, size)));
    at += size;
  }
  return decoder.Finish();
}

class ZstdPiecesTest : public ::testing::Test {
 protected:
  std::unique_ptr<BytesCodec> codec_ = MakeBytesCodec(ZstdSpec{1, true}).value();
};

TEST_F(ZstdPiecesTest, WhatIsEncodedInPiecesDecodesAtOnce) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{300'001}, size_t{3} << 20}) {
    const Data data = Sample(size);
    const Data encoded = EncodedInPieces(*codec_, data);
    Data decoded(size);
    ASSERT_THAT(codec_->Decode(encoded, decoded), IsOk());
    EXPECT_EQ(decoded, data);
  }
}

TEST_F(ZstdPiecesTest, AnErrorOfTheSinkEndsTheEncoding) {
  const Data data = Sample(3 << 20);
  Buffer room;
  int calls = 0;
  EXPECT_THAT(codec_->EncodeTo(data, room,
                               [&](Span) {
                                 ++calls;
                                 return Unavailable("full");
                               }),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(EncodedInPieces(*codec_, data).empty()) << "and leaves the codec usable";
}

TEST_F(ZstdPiecesTest, PiecesOfAnySizeDecode) {
  const Data data = Sample(200'000);
  Buffer encoded;
  ASSERT_THAT(codec_->Encode(data, encoded), IsOk());
  for (const size_t step : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 20}) {
    Data decoded(data.size());
    const auto decoder = codec_->StartDecode(decoded);
    ASSERT_NE(decoder, nullptr);
    ASSERT_THAT(Feed(*decoder, encoded.span(), step), IsOk());
    EXPECT_EQ(decoded, data);
  }
}

TEST_F(ZstdPiecesTest, TwoDecodersOnOneThreadDoNotMeet) {
  const Data data = Sample(100'000);
  Buffer encoded;
  ASSERT_THAT(codec_->Encode(data, encoded), IsOk());
  const Span bytes = encoded.span();
  Data first(data.size());
  Data second(data.size());
  const auto one = codec_->StartDecode(first);
  const auto two = codec_->StartDecode(second);
  for (size_t at = 0; at < bytes.size(); at += 1000) {
    const Span piece = bytes.subspan(at, std::min<size_t>(1000, bytes.size() - at));
    ASSERT_THAT(one->Feed(piece), IsOk());
    ASSERT_THAT(two->Feed(piece), IsOk());
  }
  ASSERT_THAT(one->Finish(), IsOk());
  ASSERT_THAT(two->Finish(), IsOk());
  EXPECT_EQ(first, data);
  EXPECT_EQ(second, data);
}

TEST_F(ZstdPiecesTest, EveryTruncationIsDataLoss) {
  const Data data = Sample(500);
  Buffer encoded;
  ASSERT_THAT(codec_->Encode(data, encoded), IsOk());
  Data decoded(data.size());
  for (size_t length = 0; length < encoded.size(); ++length) {
    const auto decoder = codec_->StartDecode(decoded);
    EXPECT_THAT(Feed(*decoder, encoded.span().first(length), 50),
                StatusIs(kDataLoss, HasSubstr("zstd")))
        << length;
  }
}

TEST_F(ZstdPiecesTest, EveryFlippedByteIsDataLoss) {
  const Data data = Sample(500);
  Buffer buffer;
  ASSERT_THAT(codec_->Encode(data, buffer), IsOk());
  Data decoded(data.size());
  for (size_t i = 0; i < buffer.size(); ++i) {
    for (const int mask : {1, 0x80, 0xff}) {
      Data damaged(buffer.span().begin(), buffer.span().end());
      damaged[i] ^= static_cast<std::byte>(mask);
      const auto decoder = codec_->StartDecode(decoded);
      const absl::Status status = Feed(*decoder, damaged, 50);
      // Bits of the header that say nothing about the data may change.
      if (status.ok()) {
        EXPECT_EQ(decoded, data) << i;
      } else {
        EXPECT_THAT(status, StatusIs(kDataLoss, HasSubstr("zstd"))) << i;
      }
    }
  }
}

TEST_F(ZstdPiecesTest, MoreOrLessThanExpectedIsDataLoss) {
  Data encoded = EncodedInPieces(*codec_, Sample(1000));
  for (const size_t size : {999, 1001}) {
    Data decoded(size);
    const auto decoder = codec_->StartDecode(decoded);
    EXPECT_THAT(Feed(*decoder, encoded, 100),
                StatusIs(kDataLoss, HasSubstr("the frame holds 1000 bytes, expected")));
  }
  encoded.push_back(std::byte{0});
  Data decoded(1000);
  const auto decoder = codec_->StartDecode(decoded);
  EXPECT_THAT(Feed(*decoder, encoded, 100), StatusIs(kDataLoss, HasSubstr("follow the frame")));
}

// The array codec on top: straight to the target, or aside and then to a part of it.
TEST(ArrayPiecesTest, DecodesPartsToAnyTarget) {
  const Dims shape{64, 50};
  const Data data = Sample(64 * 50 * 4);
  const ArrayCodec codec = ArrayCodec::Make({.array = {shape, DType::kFloat32},
                                             .transposes = {{1, 0}},
                                             .endian = Endian::kBig,
                                             .compression = {ZstdSpec{}}})
                               .value();
  ASSERT_TRUE(codec.decodes_pieces());
  Scratch scratch;
  Data encoded;
  ASSERT_THAT(codec.EncodeTo(RowMajorView(data.data(), shape, 4), scratch,
                             [&](Span piece) {
                               encoded.insert(encoded.end(), piece.begin(), piece.end());
                               return absl::OkStatus();
                             }),
              IsOk());
  const Box part = Box::Make(Dims{3, 7}, Dims{40, 20}).value();
  Data pieces(40 * 20 * 4);
  Data at_once(40 * 20 * 4);
  const auto decoder =
      codec.StartDecode(part, RowMajorView(pieces.data(), part.shape(), 4), scratch);
  ASSERT_NE(decoder, nullptr);
  ASSERT_THAT(Feed(*decoder, encoded, 1000), IsOk());
  Scratch other;
  ASSERT_THAT(codec.Decode(encoded, part, RowMajorView(at_once.data(), part.shape(), 4), other),
              IsOk());
  EXPECT_EQ(pieces, at_once);
}

TEST(ArrayPiecesTest, CodecsThatWantAllBytesHaveNoDecoderOfPieces) {
  Scratch scratch;
  std::byte target[16];
  for (const auto& compression : std::vector<std::vector<BytesSpec>>{
           {}, {Crc32cSpec{}}, {DeflateSpec{}}, {ZstdSpec{}, Crc32cSpec{}}}) {
    const ArrayCodec codec =
        ArrayCodec::Make({.array = {{16}, DType::kInt8}, .compression = compression}).value();
    EXPECT_FALSE(codec.decodes_pieces());
    EXPECT_EQ(codec.StartDecode(Box::Whole(Dims{16}), RowMajorView(target, Dims{16}, 1), scratch),
              nullptr);
  }
}

}  // namespace
}  // namespace tessera::codec
