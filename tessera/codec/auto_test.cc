#include "tessera/codec/auto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "tessera/codec/testing/sample.h"
#include "tessera/core/convert.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::codec {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using testing::Noise;
using ::testing::SizeIs;

using Data = std::vector<std::byte>;

const BytesSpec kBlosc = BloscSpec{"lz4", 5, BloscSpec::Shuffle::kBits, 2, 0};
const BytesSpec kZstd = ZstdSpec{1, false};

// Weights in bfloat16 on one core of a server.
std::vector<CodecMeasurement> Bfloat16Figures() {
  return {{{}, 1.0, 10e9, 10e9}, {{kBlosc}, 0.756, 0.85e9, 0.87e9}, {{kZstd}, 0.78, 0.66e9, 0.5e9}};
}

std::string NameOf(const std::vector<BytesSpec>& compression) {
  if (compression.empty()) return "none";
  return compression[0] == kBlosc ? "blosc" : compression[0] == kZstd ? "zstd" : "?";
}

Data NormalBfloat16(size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  Data data(2 * count);
  TESSERA_CHECK(
      ConvertElements(DType::kFloat32, std::as_bytes(std::span(values)), DType::kBfloat16, data)
          .ok());
  return data;
}

TEST(ChooseCodecTest, TheFiguresOfBfloat16DecideByStoreAndThreads) {
  struct Case {
    double write;
    double read;
    int threads;
    double reads_per_write;
    std::string expected;
  };
  const Case cases[] = {
      {0.1e9, 0.1e9, 1, 1, "blosc"},  // the store is the slower part: the smaller data wins
      {10e9, 10e9, 1, 1, "none"},     // one thread cannot keep up
      {10e9, 10e9, 8, 1, "none"},     // nor can eight
      {10e9, 10e9, 32, 1, "blosc"},   // enough of them can
      {1e9, 1e9, 1, 1, "none"},      {1e9, 1e9, 2, 1, "blosc"},
      {0.5e9, 10e9, 1, 0, "blosc"},  // only saving counts
      {0.5e9, 10e9, 1, 10, "none"},  // loading counts most
  };
  for (const Case& c : cases) {
    const Workload workload{{c.write, c.read}, c.threads, c.reads_per_write};
    TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice choice, ChooseCodec(Bfloat16Figures(), workload));
    EXPECT_EQ(NameOf(choice.compression), c.expected)
        << c.write << " " << c.read << " " << c.threads << " " << c.reads_per_write;
  }
}

TEST(ChooseCodecTest, TheSlowerOfComputingAndStorageCounts) {
  const Workload workload{{1e9, 0.5e9}, 1, 2};
  TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice choice, ChooseCodec(Bfloat16Figures(), workload));
  ASSERT_THAT(choice.candidates, SizeIs(3));
  const CodecCost& none = choice.candidates[0];
  EXPECT_DOUBLE_EQ(none.write_seconds, 1);
  EXPECT_DOUBLE_EQ(none.read_seconds, 2);
  EXPECT_DOUBLE_EQ(none.seconds, 5);
  const CodecCost& blosc = choice.candidates[1];
  EXPECT_DOUBLE_EQ(blosc.write_seconds, 1 / 0.85);
  EXPECT_DOUBLE_EQ(blosc.read_seconds, 0.756 / 0.5);
  EXPECT_DOUBLE_EQ(blosc.seconds, 1 / 0.85 + 2 * 0.756 / 0.5);
}

TEST(ChooseCodecTest, TheBetterRatioWinsWhereTheStoreIsSlow) {
  std::vector<CodecMeasurement> figures = Bfloat16Figures();
  figures[2].ratio = 0.3;
  TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice slow, ChooseCodec(figures, {{0.1e9, 0.1e9}, 1, 1}));
  EXPECT_EQ(NameOf(slow.compression), "zstd");
}

TEST(ChooseCodecTest, TiesAndSmallSavingsGoToNone) {
  std::vector<CodecMeasurement> figures = Bfloat16Figures();
  for (const double ratio : {0.98, 1.0, 1.01}) {
    figures[1].ratio = figures[2].ratio = ratio;
    TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice choice,
                                 ChooseCodec(figures, {{0.01e9, 0.01e9}, 16, 1}));
    EXPECT_EQ(NameOf(choice.compression), "none") << ratio;
  }
  figures[1].ratio = figures[2].ratio = 0.96;
  TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice choice,
                               ChooseCodec(figures, {{0.01e9, 0.01e9}, 16, 1}));
  EXPECT_EQ(NameOf(choice.compression), "blosc");  // the first of two equals
}

TEST(ChooseCodecTest, NumbersThatMakeNoSenseAreNamed) {
  const auto figures = Bfloat16Figures();
  EXPECT_THAT(ChooseCodec(figures, {{0, 1}, 1, 1}),
              StatusIs(kInvalid, "write_bytes_per_second is 0; expected more than 0"));
  EXPECT_THAT(ChooseCodec(figures, {{1, std::nan("")}, 1, 1}),
              StatusIs(kInvalid, HasSubstr("read_bytes_per_second is ")));
  EXPECT_THAT(ChooseCodec(figures, {{1, 1}, 0, 1}), StatusIs(kInvalid, HasSubstr("threads is 0")));
  EXPECT_THAT(ChooseCodec(figures, {{1, 1}, 1, -1}),
              StatusIs(kInvalid, "reads_per_write is -1; expected 0 or more"));
  EXPECT_THAT(ChooseCodec(std::span(figures).subspan(1), {{1, 1}, 1, 1}),
              StatusIs(kInvalid, "no measurement without compression to compare to"));
  std::vector<CodecMeasurement> broken = figures;
  broken[1].ratio = 0;
  EXPECT_THAT(ChooseCodec(broken, {{1, 1}, 1, 1}), StatusIs(kInvalid, HasSubstr("ratio is 0")));
}

TEST(ChooseCodecTest, AStoreWithoutLimitIsNeverCompressedFor) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice choice,
                               ChooseCodec(Bfloat16Figures(), {{kNoLimit, kNoLimit}, 64, 1}));
  EXPECT_EQ(NameOf(choice.compression), "none");
}

TEST(TakeSampleTest, SmallDataIsTakenWhole) {
  const Data data = Noise(1001);
  EXPECT_EQ(TakeSample(data, 2), data);
  EXPECT_EQ(TakeSample({}, 2), Data());
}

TEST(TakeSampleTest, LargeDataIsTakenInSlicesFromStartToEnd) {
  // Each element of three bytes holds its own number.
  constexpr size_t kCount = 3'000'001;
  Data data(3 * kCount);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i / 3 >> (i % 3 * 8));
  const Data sample = TakeSample(data, 3);
  EXPECT_LE(sample.size(), kSampleBytes);
  EXPECT_GT(sample.size(), kSampleBytes - 100);
  const auto number = [&](size_t i) {
    return static_cast<size_t>(sample[3 * i]) | static_cast<size_t>(sample[3 * i + 1]) << 8 |
           static_cast<size_t>(sample[3 * i + 2]) << 16;
  };
  const size_t count = sample.size() / 3;
  size_t jumps = 0;
  for (size_t i = 1; i < count; ++i) {
    ASSERT_LT(number(i - 1), number(i)) << i;
    jumps += number(i) - number(i - 1) > 1 ? 1 : 0;
  }
  EXPECT_EQ(jumps, 7u);
  EXPECT_EQ(number(0), 0u);
  EXPECT_GT(number(count - 1), kCount - 10);
}

TEST(MeasureCandidatesTest, WeightsInBfloat16Compress) {
  const Data weights = NormalBfloat16(size_t{1} << 19);
  Scratch scratch;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto measurements, MeasureCandidates(weights, 2, scratch));
  ASSERT_THAT(measurements, SizeIs(3));
  EXPECT_EQ(NameOf(measurements[0].compression), "none");
  EXPECT_EQ(measurements[0].ratio, 1);
  EXPECT_EQ(NameOf(measurements[1].compression), "blosc");
  EXPECT_LT(measurements[1].ratio, 0.8);
  EXPECT_GT(measurements[1].ratio, 0.6);
  EXPECT_EQ(NameOf(measurements[2].compression), "zstd");
  EXPECT_LT(measurements[2].ratio, 0.9);
  for (const CodecMeasurement& measured : measurements) {
    EXPECT_GT(measured.encode_bytes_per_second, 0);
    EXPECT_GT(measured.decode_bytes_per_second, 0);
  }
}

TEST(MeasureCandidatesTest, ElementsThatBloscCannotShuffleAreRefused) {
  Scratch scratch;
  EXPECT_THAT(MeasureCandidates(Data(10), 256, scratch),
              StatusIs(kInvalid, HasSubstr("element size 256")));
}

TEST(ChooseCodecForTest, WeightsAreCompressedForASlowStoreOnly) {
  const Data weights = NormalBfloat16(size_t{1} << 20);
  Scratch scratch;
  TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice slow,
                               ChooseCodecFor(weights, 2, {{100e6, 100e6}, 4, 1}, scratch));
  EXPECT_NE(NameOf(slow.compression), "none");
  TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice fast,
                               ChooseCodecFor(weights, 2, {{1e12, 1e12}, 4, 1}, scratch));
  EXPECT_EQ(NameOf(fast.compression), "none");
}

TEST(ChooseCodecForTest, NoiseAndNothingStayPlain) {
  Scratch scratch;
  for (const Data& data : {Noise(3'000'000), Noise(100), Data()}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const AutoChoice choice,
                                 ChooseCodecFor(data, 2, {{1e6, 1e6}, 4, 1}, scratch));
    EXPECT_EQ(NameOf(choice.compression), "none") << data.size();
  }
  EXPECT_THAT(ChooseCodecFor({}, 0, {{1e6, 1e6}, 4, 1}, scratch),
              StatusIs(kInvalid, "element_bytes is 0; expected more than 0"));
}

}  // namespace
}  // namespace tessera::codec
