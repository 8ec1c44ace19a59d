#include "tessera/codec/array_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tessera/codec/testing/sample.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::codec {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using testing::Copy;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Data = std::vector<std::byte>;
using Span = std::span<const std::byte>;

size_t ScratchSize(const Scratch& scratch) {
  return scratch.elements.size() + scratch.front.size() + scratch.back.size();
}

Data Values(DType dtype, size_t count) {
  Data data(count * static_cast<size_t>(DTypeBytes(dtype)));
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 131 + i / 251);
  return data;
}

ArrayCodec MakeCodec(const ArraySpec& spec) {
  auto codec = ArrayCodec::Make(spec);
  EXPECT_THAT(codec, IsOk());
  return *std::move(codec);
}

Data EncodedBy(const ArrayCodec& codec, const Data& values) {
  Scratch scratch;
  const int64_t element_bytes = DTypeBytes(codec.array().dtype);
  const auto source = RowMajorView(values.data(), codec.array().shape, element_bytes);
  const auto encoded = codec.Encode(source, scratch);
  EXPECT_THAT(encoded, IsOk());
  return Copy(*encoded);
}

// Decodes the whole array in C order.
absl::StatusOr<Data> DecodedBy(const ArrayCodec& codec, Span encoded) {
  Scratch scratch;
  Data target(static_cast<size_t>(codec.decoded_bytes()));
  const int64_t element_bytes = DTypeBytes(codec.array().dtype);
  const auto view = RowMajorView(target.data(), codec.array().shape, element_bytes);
  TESSERA_RETURN_IF_ERROR(codec.Decode(encoded, Box::Whole(codec.array().shape), view, scratch));
  return target;
}

TEST(ArrayCodecTest, KnownBytes) {
  const ArrayCodec codec = MakeCodec(
      {.array = {{2, 2}, DType::kUint16}, .transposes = {{1, 0}}, .endian = Endian::kBig});
  const Data values = {std::byte{1}, std::byte{0}, std::byte{2}, std::byte{0},
                       std::byte{3}, std::byte{0}, std::byte{4}, std::byte{0}};
  const Data stored = {std::byte{0}, std::byte{1}, std::byte{0}, std::byte{3},
                       std::byte{0}, std::byte{2}, std::byte{0}, std::byte{4}};
  EXPECT_EQ(EncodedBy(codec, values), stored);
  EXPECT_THAT(DecodedBy(codec, stored), IsOkAndHolds(values));
}

TEST(ArrayCodecTest, PlainMeansThatBytesNeedNoDecoding) {
  EXPECT_TRUE(MakeCodec({.array = {{3, 4}, DType::kBfloat16}}).plain());
  EXPECT_TRUE(MakeCodec({.array = {{}, DType::kFloat64}}).plain());
  EXPECT_TRUE(MakeCodec({.array = {{3, 4}, DType::kInt8}, .endian = Endian::kBig}).plain());
  // Dimensions of size 1 may go anywhere, and none of an empty array's matters.
  EXPECT_TRUE(MakeCodec({.array = {{1, 3, 1}, DType::kInt8}, .transposes = {{2, 1, 0}}}).plain());
  EXPECT_TRUE(MakeCodec({.array = {{0, 3}, DType::kInt32}, .transposes = {{1, 0}}}).plain());
  EXPECT_TRUE(
      MakeCodec({.array = {{2, 3}, DType::kInt32}, .transposes = {{1, 0}, {1, 0}}}).plain());
  EXPECT_FALSE(MakeCodec({.array = {{2, 3}, DType::kInt32}, .transposes = {{1, 0}}}).plain());
  EXPECT_FALSE(MakeCodec({.array = {{2}, DType::kInt32}, .endian = Endian::kBig}).plain());
  EXPECT_FALSE(MakeCodec({.array = {{2}, DType::kInt32}, .compression = {Crc32cSpec{}}}).plain());
  EXPECT_FALSE(MakeCodec({.array = {{2}, DType::kBool}}).plain());
  EXPECT_FALSE(MakeCodec({.array = {{2}, DType::kInt4}}).plain());
}

TEST(ArrayCodecTest, SizesAreExactWithoutCompression) {
  const ArrayCodec plain = MakeCodec({.array = {{3, 4}, DType::kFloat32}});
  EXPECT_EQ(plain.decoded_bytes(), 48);
  EXPECT_EQ(plain.most_encoded_bytes(), 48);
  EXPECT_EQ(plain.fixed_encoded_bytes(), 48);
  const ArrayCodec checked =
      MakeCodec({.array = {{3, 4}, DType::kFloat32}, .compression = {Crc32cSpec{}}});
  EXPECT_EQ(checked.most_encoded_bytes(), 52);
  EXPECT_EQ(checked.fixed_encoded_bytes(), 52);
  const ArrayCodec packed =
      MakeCodec({.array = {{3, 4}, DType::kFloat32}, .compression = {ZstdSpec{}, Crc32cSpec{}}});
  EXPECT_EQ(packed.most_encoded_bytes(), 48 + 12 + 4096 + 4);
  EXPECT_EQ(packed.fixed_encoded_bytes(), std::nullopt);
}

TEST(ArrayCodecTest, EncodingLeavesDenseElementsWhereTheyAre) {
  const ArrayCodec codec = MakeCodec({.array = {{2, 3}, DType::kInt16}, .transposes = {{1, 0}}});
  const Data values = Values(DType::kInt16, 6);
  Scratch scratch;
  const ConstStridedView by_columns{values.data(), {2, 3}, {2, 4}, 2};
  EXPECT_EQ(codec.EncodeScratchBytes(by_columns), 0);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Span encoded, codec.Encode(by_columns, scratch));
  EXPECT_EQ(encoded.data(), values.data());
  EXPECT_EQ(encoded.size(), values.size());
  EXPECT_EQ(ScratchSize(scratch), 0u);
}

TEST(ArrayCodecTest, DecodingGoesStraightToATargetThatLiesAsStored) {
  for (const Endian endian : {Endian::kLittle, Endian::kBig}) {
    const ArrayCodec codec = MakeCodec({.array = {{2, 1, 300}, DType::kFloat32},
                                        .transposes = {{2, 1, 0}},
                                        .endian = endian,
                                        .compression = {ZstdSpec{}}});
    const Data values = Values(DType::kFloat32, 600);
    const Data encoded = EncodedBy(codec, values);
    Scratch scratch;
    Data memory(2400);
    // The stride of a dimension of size 1 means nothing.
    const StridedView target{memory.data(), {2, 1, 300}, {4, -77, 8}, 4};
    const Box whole = Box::Whole(codec.array().shape);
    ASSERT_THAT(codec.Decode(encoded, whole, target, scratch), IsOk());
    EXPECT_EQ(ScratchSize(scratch), 0u);
    EXPECT_EQ(codec.DecodeScratchBytes(whole, target), 0);
    Data in_order(2400);
    ASSERT_THAT(CopyStrided(AsConst(target), RowMajorView(in_order.data(), codec.array().shape, 4)),
                IsOk());
    EXPECT_EQ(in_order, values);
    // In another order the array passes through scratch.
    const StridedView rows = RowMajorView(memory.data(), codec.array().shape, 4);
    ASSERT_THAT(codec.Decode(encoded, whole, rows, scratch), IsOk());
    EXPECT_EQ(scratch.elements.size(), 2400u);
    EXPECT_EQ(codec.DecodeScratchBytes(whole, rows), 2400);
  }
}

TEST(ArrayCodecTest, WithoutCompressionAPartNeedsNoScratch) {
  for (const std::vector<BytesSpec>& compression :
       {std::vector<BytesSpec>{}, {Crc32cSpec{}}, {Crc32cSpec{}, Crc32cSpec{}}}) {
    const ArrayCodec codec = MakeCodec(
        {.array = {{8, 8}, DType::kInt32}, .endian = Endian::kBig, .compression = compression});
    const Data values = Values(DType::kInt32, 64);
    const Data encoded = EncodedBy(codec, values);
    Scratch scratch;
    Data target(8);
    const Box part = *Box::Make(Dims{3, 4}, Dims{1, 2});
    const StridedView view = RowMajorView(target.data(), part.shape(), 4);
    ASSERT_THAT(codec.Decode(encoded, part, view, scratch), IsOk());
    EXPECT_EQ(target, Copy(Span(values).subspan((3 * 8 + 4) * 4, 8)));
    EXPECT_EQ(ScratchSize(scratch), 0u);
    EXPECT_EQ(codec.DecodeScratchBytes(part, view), 0);
  }
}

TEST(ArrayCodecTest, EveryTruncationAndExtensionIsDataLoss) {
  const std::pair<std::string, std::vector<BytesSpec>> cases[] = {
      {"found ", {}},
      {"crc32c: ", {Crc32cSpec{}}},
      {"zstd: ", {ZstdSpec{}}},
      {"crc32c: ", {BloscSpec{}, Crc32cSpec{}}},
  };
  for (const auto& [message, compression] : cases) {
    const ArrayCodec codec =
        MakeCodec({.array = {{5, 7}, DType::kInt16}, .compression = compression});
    Data encoded = EncodedBy(codec, Values(DType::kInt16, 35));
    for (size_t size = 0; size < encoded.size(); ++size) {
      EXPECT_THAT(DecodedBy(codec, Copy(Span(encoded).first(size))),
                  StatusIs(kDataLoss, StartsWith(message)))
          << size;
    }
    encoded.push_back(std::byte{0});
    EXPECT_THAT(DecodedBy(codec, encoded), StatusIs(kDataLoss, StartsWith(message)));
  }
}

TEST(ArrayCodecTest, EveryFlippedByteUnderAChecksumIsDataLoss) {
  const ArrayCodec codec =
      MakeCodec({.array = {{5, 7}, DType::kInt16}, .compression = {ZstdSpec{}, Crc32cSpec{}}});
  const Data encoded = EncodedBy(codec, Values(DType::kInt16, 35));
  for (size_t i = 0; i < encoded.size(); ++i) {
    Data damaged = encoded;
    damaged[i] ^= std::byte{0x10};
    EXPECT_THAT(DecodedBy(codec, damaged), StatusIs(kDataLoss, HasSubstr("crc32c: "))) << i;
  }
}

TEST(ArrayCodecTest, ABombIsRefused) {
  const ArrayCodec large =
      MakeCodec({.array = {{50'000'000}, DType::kInt8}, .compression = {ZstdSpec{}}});
  const Data bomb = EncodedBy(large, Data(50'000'000));
  const ArrayCodec small = MakeCodec({.array = {{10}, DType::kInt8}, .compression = {ZstdSpec{}}});
  EXPECT_THAT(DecodedBy(small, bomb),
              StatusIs(kDataLoss, "zstd: the frame holds 50000000 bytes, expected 10"));
}

TEST(ArrayCodecTest, StoredBoolsAreChecked) {
  const ArrayCodec codec = MakeCodec({.array = {{2, 3}, DType::kBool}, .transposes = {{1, 0}}});
  const Data stored = {std::byte{0}, std::byte{1}, std::byte{1},
                       std::byte{0}, std::byte{1}, std::byte{255}};
  EXPECT_THAT(DecodedBy(codec, stored),
              StatusIs(kDataLoss, "bool: element [1,2] is the byte 255, expected 0 or 1"));
  // A part is checked alone, and its indices are the array's.
  Scratch scratch;
  std::byte target{};
  const StridedView view{&target, {1, 1}, {1, 1}, 1};
  EXPECT_THAT(codec.Decode(stored, *Box::Make(Dims{0, 1}, Dims{1, 1}), view, scratch), IsOk());
  EXPECT_EQ(target, std::byte{1});
  EXPECT_THAT(codec.Decode(stored, *Box::Make(Dims{1, 2}, Dims{1, 1}), view, scratch),
              StatusIs(kDataLoss, HasSubstr("element [1,2]")));
}

TEST(ArrayCodecTest, BoolsThatNoReaderTakesAreNotWritten) {
  const ArrayCodec codec = MakeCodec({.array = {{3}, DType::kBool}});
  const Data values = {std::byte{0}, std::byte{1}, std::byte{2}};
  Scratch scratch;
  EXPECT_THAT(codec.Encode(RowMajorView(values.data(), Dims{3}, 1), scratch),
              StatusIs(kInvalid, "bool: element [2] is neither 0 nor 1"));
}

TEST(ArrayCodecTest, TypesUnderAByteKeepTheirLowBits) {
  const Data stored = {std::byte{0xf7}, std::byte{0x28}};
  EXPECT_THAT(DecodedBy(MakeCodec({.array = {{2}, DType::kInt4}}), stored),
              IsOkAndHolds(Data{std::byte{7}, std::byte{8}}));
  EXPECT_THAT(DecodedBy(MakeCodec({.array = {{2}, DType::kFloat4E2m1fn}}), stored),
              IsOkAndHolds(Data{std::byte{7}, std::byte{8}}));
}

TEST(ArrayCodecTest, SpecsThatContradictThemselvesAreRefused) {
  for (const Dims& order : {Dims{0}, Dims{0, 0}, Dims{0, 2}, Dims{-1, 0}, Dims{0, 1, 2}}) {
    EXPECT_THAT(ArrayCodec::Make({.array = {{2, 3}, DType::kInt8}, .transposes = {order}}),
                StatusIs(kInvalid, Concat("transpose ", ShapeText(order),
                                          ": expected each of 2 dimensions once")));
  }
  EXPECT_THAT(ArrayCodec::Make({.array = {{-1}, DType::kInt8}}),
              StatusIs(kInvalid, HasSubstr("negative size -1")));
  EXPECT_THAT(ArrayCodec::Make({.array = {{int64_t{1} << 62}, DType::kInt16}}),
              StatusIs(kInvalid, HasSubstr("does not fit 63 bits")));
  EXPECT_THAT(ArrayCodec::Make({.array = {{int64_t{1} << 62}, DType::kInt8},
                                .compression = {ZstdSpec{}, ZstdSpec{}, ZstdSpec{}, ZstdSpec{}}}),
              StatusIs(kInvalid, HasSubstr("4 codecs may make of it does not fit 63 bits")));
  EXPECT_THAT(ArrayCodec::Make({.array = {{2}, DType::kInt8}, .compression = {ZstdSpec{99}}}),
              StatusIs(kInvalid, HasSubstr("zstd: level 99")));
}

TEST(ArrayCodecTest, ViewsOfAnotherShapeAreRefused) {
  const ArrayCodec codec = MakeCodec({.array = {{2, 3}, DType::kInt16}});
  Data memory(12);
  Scratch scratch;
  EXPECT_THAT(codec.Encode(AsConst(RowMajorView(memory.data(), Dims{3, 2}, 2)), scratch),
              StatusIs(kInvalid, "encoding [3,2] of 2-byte elements, expected [2,3] of int16"));
  const StridedView target = RowMajorView(memory.data(), Dims{2, 2}, 2);
  EXPECT_THAT(codec.Decode(Data(12), *Box::Make(Dims{1, 0}, Dims{2, 2}), target, scratch),
              StatusIs(kInvalid, "part [1:3,0:2] does not lie in an array of shape [2,3]"));
  EXPECT_THAT(codec.Decode(Data(12), *Box::Make(Dims{0}, Dims{2}), target, scratch),
              StatusIs(kInvalid, "part [0:2] does not lie in an array of shape [2,3]"));
  EXPECT_THAT(codec.Decode(Data(12), Box::Whole(Dims{2, 3}), target, scratch),
              StatusIs(kInvalid, "decoding to [2,2] of 2-byte elements, expected [2,3] of int16"));
}

}  // namespace
}  // namespace tessera::codec
