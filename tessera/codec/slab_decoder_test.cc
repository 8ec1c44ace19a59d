// Slabs together are what Decode gives, and no larger than they may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tessera/codec/array_codec.h"
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

const std::vector<std::vector<BytesSpec>> kChains{
    {},
    {Crc32cSpec{}},
    {ZstdSpec{}},
    {ZstdSpec{3, true}, Crc32cSpec{}},
    {DeflateSpec{}},
    {Bz2Spec{}},
    {Crc32cSpec{}, DeflateSpec{DeflateSpec::Wrapping::kZlib, 1}, ZstdSpec{}},
};

Data Encoded(const ArrayCodec& codec, const Data& elements) {
  Scratch scratch;
  const auto encoded = codec.Encode(
      RowMajorView(elements.data(), codec.array().shape, DTypeBytes(codec.array().dtype)), scratch);
  EXPECT_THAT(encoded, IsOk());
  return {encoded->begin(), encoded->end()};
}

absl::Status FeedInSteps(PieceDecoder& decoder, Span encoded, size_t step) {
  while (!encoded.empty()) {
    const Span piece = encoded.first(std::min(step, encoded.size()));
    TESSERA_RETURN_IF_ERROR(decoder.Feed(piece));
    encoded = encoded.subspan(piece.size());
  }
  return decoder.Finish();
}

// Decodes the part to memory of its own, by slabs.
absl::StatusOr<Data> BySlabs(const ArrayCodec& codec, Span encoded, const Box& part,
                             int64_t slab_bytes, size_t step, int64_t offset = 0) {
  const int64_t size = DTypeBytes(codec.array().dtype);
  Data memory(NumElements(part.shape()).value() * size, std::byte{0xEE});
  const StridedView target = RowMajorView(memory.data(), part.shape(), size);
  Scratch scratch;
  int64_t elements = 0;
  const auto put = [&](const Box& box, const ConstStridedView& view) -> absl::Status {
    const int64_t count = NumElements(box.shape()).value();
    EXPECT_TRUE(Contains(part, box));
    EXPECT_LE(count * size, std::max(slab_bytes, size));
    elements += count;
    return CopyStrided(view, SubView(target, RelativeTo(box, part.origin())));
  };
  const auto decoder = codec.StartSlabs(part, slab_bytes, offset, scratch, put);
  TESSERA_RETURN_IF_ERROR(FeedInSteps(*decoder, encoded, step));
  EXPECT_EQ(elements * size, static_cast<int64_t>(memory.size())) << "each element once";
  EXPECT_LE(static_cast<int64_t>(scratch.elements.size()), std::max(slab_bytes, size));
  return memory;
}

TEST(SlabDecoderTest, SlabsOfAnySizeGiveWhatDecodeGives) {
  constexpr DType kTypes[] = {DType::kBfloat16, DType::kBool, DType::kInt4, DType::kFloat64};
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 engine(seed);
    const auto number = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(engine);
    };
    const DType dtype = kTypes[number(0, 3)];
    const int rank = static_cast<int>(number(0, 4));
    Dims shape;
    Dims origin;
    Dims part_shape;
    for (int i = 0; i < rank; ++i) {
      shape.push_back(number(1, 7));
      origin.push_back(number(0, shape.back() - 1));
      part_shape.push_back(number(1, shape.back() - origin.back()));
    }
    Dims order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), engine);
    const ArrayCodec codec =
        ArrayCodec::Make({.array = {shape, dtype},
                          .transposes = {order},
                          .endian = number(0, 1) == 0 ? Endian::kBig : Endian::kLittle,
                          .compression = kChains[seed % kChains.size()]})
            .value();
    Data elements = Sample(codec.decoded_bytes());
    for (std::byte& byte : elements) {
      if (dtype == DType::kBool) byte &= std::byte{1};
    }
    const Data encoded = Encoded(codec, elements);
    const Box part = Box::Make(origin, part_shape).value();
    const int64_t size = DTypeBytes(dtype);
    Data expected(NumElements(part_shape).value() * size);
    Scratch scratch;
    ASSERT_THAT(
        codec.Decode(encoded, part, RowMajorView(expected.data(), part_shape, size), scratch),
        IsOk());
    for (const size_t step : {1, 13, 1 << 20}) {
      const auto decoded = BySlabs(codec, encoded, part, number(1, 300), step);
      ASSERT_THAT(decoded, IsOk());
      ASSERT_EQ(*decoded, expected) << part.Text() << " of " << ShapeText(shape);
    }
  }
}

TEST(SlabDecoderTest, WithoutCompressionOnlyTheRunOfThePartIsFed) {
  const ArrayCodec codec = ArrayCodec::Make({.array = {{10, 6}, DType::kInt16}}).value();
  const Data elements = Sample(120);
  const Box part = Box::Make(Dims{3, 2}, Dims{4, 3}).value();
  const Span run = Span(elements).subspan(2 * (3 * 6 + 2), 2 * (3 * 6 + 3));
  for (const int64_t slab : {1, 12, 30, 500}) {
    for (const size_t step : {1, 7, 12, 100}) {
      const auto decoded = BySlabs(codec, run, part, slab, step, 2 * (3 * 6 + 2));
      ASSERT_THAT(decoded, IsOk());
      EXPECT_EQ(*decoded, *BySlabs(codec, elements, part, 500, 500));
    }
  }
  EXPECT_THAT(BySlabs(codec, run.first(run.size() - 1), part, 12, 7, 2 * (3 * 6 + 2)),
              StatusIs(kDataLoss, HasSubstr("decoded 81 bytes, expected 120")));
}

TEST(SlabDecoderTest, EveryTruncationAndWhatFollowsIsDataLoss) {
  for (const std::vector<BytesSpec>& chain : kChains) {
    const ArrayCodec codec =
        ArrayCodec::Make({.array = {{100}, DType::kInt32}, .compression = chain}).value();
    const Data encoded = Encoded(codec, Sample(400));
    const Box whole = Box::Whole(codec.array().shape);
    for (size_t length = 0; length < encoded.size(); ++length) {
      EXPECT_THAT(BySlabs(codec, Span(encoded).first(length), whole, 64, 50),
                  StatusIs(kDataLoss, ::testing::Not(::testing::IsEmpty())))
          << chain.size() << " codecs, " << length;
    }
    Data longer = encoded;
    longer.push_back(std::byte{0});
    EXPECT_THAT(BySlabs(codec, longer, whole, 64, 50),
                StatusIs(kDataLoss, ::testing::Not(::testing::IsEmpty())));
  }
}

TEST(SlabDecoderTest, EveryFlippedByteIsDataLossOrChangesNothingElse) {
  for (const std::vector<BytesSpec>& chain : kChains) {
    if (chain.empty()) continue;
    const ArrayCodec codec =
        ArrayCodec::Make({.array = {{100}, DType::kInt32}, .compression = chain}).value();
    const Data encoded = Encoded(codec, Sample(400));
    const Box whole = Box::Whole(codec.array().shape);
    for (size_t i = 0; i < encoded.size(); ++i) {
      Data damaged = encoded;
      damaged[i] ^= std::byte{0x41};
      const auto decoded = BySlabs(codec, damaged, whole, 64, 50);
      // zstd without a checksum takes bytes for literals, and headers have bits that say nothing.
      if (decoded.ok()) continue;
      EXPECT_THAT(decoded.status().code(),
                  ::testing::AnyOf(kDataLoss, absl::StatusCode::kResourceExhausted))
          << decoded.status();
    }
  }
}

TEST(SlabDecoderTest, AnErrorOfTheSinkEndsTheDecoding) {
  for (const std::vector<BytesSpec>& chain : kChains) {
    const ArrayCodec codec =
        ArrayCodec::Make({.array = {{100}, DType::kInt32}, .compression = chain}).value();
    const Data encoded = Encoded(codec, Sample(400));
    Scratch scratch;
    int calls = 0;
    const auto refuse = [&](const Box&, const ConstStridedView&) {
      ++calls;
      return Unavailable("full");
    };
    const auto decoder = codec.StartSlabs(Box::Whole(codec.array().shape), 100, 0, scratch, refuse);
    EXPECT_THAT(FeedInSteps(*decoder, encoded, encoded.size()),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
    EXPECT_EQ(calls, 1);
  }
}

TEST(SlabDecoderTest, BloscHasNone) {
  const ArrayCodec codec =
      ArrayCodec::Make({.array = {{100}, DType::kInt32}, .compression = {BloscSpec{}}}).value();
  EXPECT_EQ(codec.StreamBytes(), std::nullopt);
  const ArrayCodec zstd =
      ArrayCodec::Make({.array = {{100}, DType::kInt32}, .compression = {ZstdSpec{1}}}).value();
  EXPECT_LE(zstd.StreamBytes().value(), 1 << 20) << "a window of 512 KiB, and tables";
}

}  // namespace
}  // namespace tessera::codec
