#include "tessera/codec/parse_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::codec {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

using Specs = std::vector<BytesSpec>;

TEST(ParseSpecsTest, TakesNamesLevelsAndSeveral) {
  EXPECT_THAT(ParseSpecs("none"), IsOkAndHolds(Specs{}));
  EXPECT_THAT(ParseSpecs("zstd"), IsOkAndHolds(Specs{ZstdSpec{}}));
  EXPECT_THAT(ParseSpecs("zstd:-5"), IsOkAndHolds(Specs{ZstdSpec{.level = -5}}));
  EXPECT_THAT(ParseSpecs("zlib:9"),
              IsOkAndHolds(Specs{DeflateSpec{DeflateSpec::Wrapping::kZlib, 9}}));
  EXPECT_THAT(ParseSpecs("gzip"), IsOkAndHolds(Specs{DeflateSpec{}}));
  EXPECT_THAT(ParseSpecs("bz2:2"), IsOkAndHolds(Specs{Bz2Spec{.level = 2}}));
  EXPECT_THAT(ParseSpecs("blosc"), IsOkAndHolds(Specs{BloscSpec{}}));
  EXPECT_THAT(ParseSpecs("blosc-zstd:3"),
              IsOkAndHolds(Specs{BloscSpec{.compressor = "zstd", .level = 3}}));
  EXPECT_THAT(ParseSpecs("zstd:3+crc32c"), IsOkAndHolds(Specs{ZstdSpec{.level = 3}, Crc32cSpec{}}));
}

TEST(ParseSpecsTest, TellsWhatIsKnown) {
  const auto refuses = [](std::string_view text, std::string_view message) {
    EXPECT_THAT(ParseSpecs(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message))));
  };
  refuses("zst", "unknown codec 'zst'; did you mean 'zstd'?");
  refuses("", "unknown codec ''; known are none, zstd, gzip, zlib, bz2, blosc and crc32c");
  refuses("zstd+", "unknown codec ''");
  refuses("zstd+none", "unknown codec 'none'");
  refuses("zstd:23", "codec zstd has levels from -131072 to 22; found '23'");
  refuses("gzip:fast", "codec gzip has levels from 0 to 9; found 'fast'");
  refuses("crc32c:1", "codec crc32c has no levels; found '1'");
  refuses("blosc-lz5", "blosc has no compressor 'lz5'");
}

}  // namespace
}  // namespace tessera::codec
