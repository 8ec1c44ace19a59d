#include "tessera/core/sizes.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ParseSizeTest, TakesBytesAndUnitsOfBothKinds) {
  EXPECT_THAT(ParseSize("0"), IsOkAndHolds(0));
  EXPECT_THAT(ParseSize("100B"), IsOkAndHolds(100));
  EXPECT_THAT(ParseSize("512KiB"), IsOkAndHolds(512 << 10));
  EXPECT_THAT(ParseSize("4 GiB"), IsOkAndHolds(int64_t{4} << 30));
  EXPECT_THAT(ParseSize("5GB"), IsOkAndHolds(int64_t{5'000'000'000}));
  EXPECT_THAT(ParseSize("1.5k"), IsOkAndHolds(1500));
  EXPECT_THAT(ParseSize("64mi"), IsOkAndHolds(64 << 20));
  EXPECT_THAT(ParseSize("9223372036854775807"), IsOkAndHolds(std::numeric_limits<int64_t>::max()));
}

TEST(ParseSizeTest, RefusesOtherTextAndTooMuch) {
  for (const char* text : {"", "GiB", "-1", "1 parsec", "1KiBs", "nan", "inf", "1e3", "0x10"}) {
    EXPECT_THAT(ParseSize(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("expected a number of bytes")))
        << text;
  }
  EXPECT_THAT(ParseSize("8EiB"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("past what 63 bits count")));
}

TEST(SizeTextTest, ShowsThreeDigitsThatCount) {
  EXPECT_EQ(SizeText(0), "0 B");
  EXPECT_EQ(SizeText(1023), "1023 B");
  EXPECT_EQ(SizeText(1536), "1.50 KiB");
  EXPECT_EQ(SizeText(int64_t{12} << 30), "12.0 GiB");
  EXPECT_EQ(SizeText((int64_t{1} << 20) - 1), "1.00 MiB");
  EXPECT_EQ(SizeText(int64_t{512} << 20), "512 MiB");
}

TEST(CountTextTest, GroupsByThousands) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(-1234567), "-1,234,567");
  EXPECT_EQ(CountText(-123), "-123");
}

}  // namespace
}  // namespace tessera
