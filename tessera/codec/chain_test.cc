#include "tessera/codec/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tessera/codec/testing/sample.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::codec {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::StatusIs;
using testing::Copy;
using testing::Noise;

using Data = std::vector<std::byte>;
using Span = std::span<const std::byte>;

TEST(ChainTest, RunsForthAndBack) {
  const Data data = Noise(10'000);
  Scratch scratch;
  for (const std::vector<BytesSpec>& specs : {std::vector<BytesSpec>{},
                                              {ZstdSpec{}},
                                              {ZstdSpec{}, Crc32cSpec{}},
                                              {ZstdSpec{}, Crc32cSpec{}, Bz2Spec{}},
                                              {ZstdSpec{}, Bz2Spec{}, Crc32cSpec{}, DeflateSpec{}},
                                              {Crc32cSpec{}, Bz2Spec{}, Crc32cSpec{}},
                                              {BloscSpec{}, DeflateSpec{}}}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Chain chain, Chain::Make(specs));
    TESSERA_ASSERT_OK_AND_ASSIGN(const Span result, chain.Encode(data, scratch));
    const Data encoded = Copy(result);
    EXPECT_LE(encoded.size(), chain.MostEncoded(data.size()));
    EXPECT_LE(chain.MostEncoded(data.size()), chain.MostAccepted(data.size()));
    Data target(data.size());
    ASSERT_THAT(chain.Decode(encoded, target, scratch), IsOk());
    EXPECT_EQ(target, data);
    TESSERA_ASSERT_OK_AND_ASSIGN(const Span anywhere,
                                 chain.DecodeAnywhere(encoded, data.size(), scratch));
    EXPECT_EQ(Copy(anywhere), data);
  }
}

TEST(ChainTest, BuffersStayWithinWhatIsPromised) {
  const Data data = Noise(100'000);
  const std::vector<BytesSpec> specs = {ZstdSpec{}, Crc32cSpec{}, DeflateSpec{}, Bz2Spec{}};
  for (size_t count = 0; count <= specs.size(); ++count) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Chain chain, Chain::Make(std::span(specs).first(count)));
    Scratch encoding;
    TESSERA_ASSERT_OK_AND_ASSIGN(const Span encoded, chain.Encode(data, encoding));
    EXPECT_LE(encoding.front.size() + encoding.back.size(), chain.EncodeScratch(data.size()));
    Scratch decoding;
    Data target(data.size());
    ASSERT_THAT(chain.Decode(encoded, target, decoding), IsOk());
    EXPECT_LE(decoding.front.size() + decoding.back.size(), chain.DecodeScratch(data.size()));
    EXPECT_EQ(decoding.elements.size(), 0u);
  }
}

TEST(ChainTest, OneCodecOrNoneDecodesWithoutScratch) {
  const Data data = Noise(10'000);
  for (const std::vector<BytesSpec>& specs :
       {std::vector<BytesSpec>{}, {ZstdSpec{}}, {BloscSpec{}}, {Crc32cSpec{}, Crc32cSpec{}}}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const Chain chain, Chain::Make(specs));
    Scratch encoding;
    TESSERA_ASSERT_OK_AND_ASSIGN(const Span encoded, chain.Encode(data, encoding));
    Scratch scratch;
    Data target(data.size());
    ASSERT_THAT(chain.Decode(encoded, target, scratch), IsOk());
    EXPECT_EQ(scratch.front.size() + scratch.back.size() + scratch.elements.size(), 0u);
    EXPECT_EQ(chain.DecodeScratch(data.size()), 0u);
  }
}

TEST(ChainTest, ChecksumsLeaveTheDataWhereItIs) {
  const Data data = Noise(100);
  const std::vector<BytesSpec> specs = {Crc32cSpec{}, Crc32cSpec{}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const Chain chain, Chain::Make(specs));
  EXPECT_EQ(chain.FixedEncoded(100), 108u);
  EXPECT_EQ(chain.MostAccepted(100), 108u);
  Scratch scratch;
  TESSERA_ASSERT_OK_AND_ASSIGN(const Span result, chain.Encode(data, scratch));
  const Data encoded = Copy(result);
  Scratch untouched;
  TESSERA_ASSERT_OK_AND_ASSIGN(const Span decoded, chain.DecodeAnywhere(encoded, 100, untouched));
  EXPECT_EQ(decoded.data(), encoded.data());
  EXPECT_EQ(untouched.elements.size(), 0u);
  EXPECT_THAT(chain.DecodeAnywhere(encoded, 101, untouched),
              StatusIs(kDataLoss, "found 100 bytes, expected 101"));
}

TEST(ChainTest, OnlyChecksumsHaveAFixedSize) {
  EXPECT_EQ(Chain().FixedEncoded(7), 7u);
  const std::vector<BytesSpec> specs = {Crc32cSpec{}, ZstdSpec{}, Crc32cSpec{}};
  EXPECT_EQ((*Chain::Make(specs)).FixedEncoded(7), std::nullopt);
}

TEST(ChainTest, WithoutCodecsTheResultIsTheData) {
  const Data data = Noise(10);
  Scratch scratch;
  TESSERA_ASSERT_OK_AND_ASSIGN(const Span encoded, Chain().Encode(data, scratch));
  EXPECT_EQ(encoded.data(), data.data());
  EXPECT_EQ(encoded.size(), data.size());
}

TEST(ChainTest, ABombInTheMiddleIsRefused) {
  const std::vector<BytesSpec> specs = {Crc32cSpec{}, ZstdSpec{}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const Chain chain, Chain::Make(specs));
  Scratch scratch;
  TESSERA_ASSERT_OK_AND_ASSIGN(const Span result, chain.Encode(Data(100'000'000), scratch));
  const Data bomb = Copy(result);
  Data target(1000);
  EXPECT_THAT(chain.Decode(bomb, target, scratch),
              StatusIs(kDataLoss, "zstd: the frame holds 100000004 bytes, at most 1004 expected"));
}

TEST(ChainTest, NoCodecsMeansTheExactBytes) {
  Data target(3);
  Scratch scratch;
  EXPECT_THAT(Chain().Decode(Data(4), target, scratch),
              StatusIs(kDataLoss, "found 4 bytes, expected 3"));
}

}  // namespace
}  // namespace tessera::codec
