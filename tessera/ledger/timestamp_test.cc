#include "tessera/ledger/timestamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kHour = int64_t{3600} * 1000000;

TEST(ParseTimestampTest, ReadsWhatPythonWrites) {
  EXPECT_THAT(ParseTimestamp("1970-01-01T00:00:00"), IsOkAndHolds(Timestamp{0}));
  EXPECT_THAT(ParseTimestamp("1970-01-02T01:00:00.000001"),
              IsOkAndHolds(Timestamp{25 * kHour + 1}));
  EXPECT_THAT(ParseTimestamp("2026-06-21T08:08:40.123456+00:00"),
              IsOkAndHolds(Timestamp{1782029320123456, 0}));
  EXPECT_THAT(ParseTimestamp("1970-01-01 00:00:00.5Z"), IsOkAndHolds(Timestamp{500000, 0}));
  EXPECT_THAT(ParseTimestamp("1970-01-01T00:00:00.123456789-0130"),
              IsOkAndHolds(Timestamp{123456, -3 * kHour / 2}));
  EXPECT_THAT(ParseTimestamp("1969-12-31T23:59:59.999999"), IsOkAndHolds(Timestamp{-1}));
  EXPECT_THAT(ParseTimestamp("2024-02-29T00:00:00"), IsOkAndHolds(Timestamp{1709164800000000}));
}

TEST(ParseTimestampTest, RefusesWhatIsNoTime) {
  for (const char* text : {"",
                           "2026",
                           "2026-06-21",
                           "2026-06-21T08:08",
                           "2026-06-21T08:08:40.",
                           "2026-06-21t08:08:40",
                           "2026-13-21T08:08:40",
                           "2026-00-21T08:08:40",
                           "2026-06-31T08:08:40",
                           "2023-02-29T00:00:00",
                           "2026-06-00T08:08:40",
                           "0000-06-21T08:08:40",
                           "2026-06-21T24:08:40",
                           "2026-06-21T08:60:40",
                           "2026-06-21T08:08:60",
                           "2026-06-21T08:08:40+",
                           "2026-06-21T08:08:40+1:00",
                           "2026-06-21T08:08:40+24:00",
                           "2026-06-21T08:08:40 ",
                           "2026-6-21T08:08:40",
                           "-026-06-21T08:08:40",
                           "2026-06-21T08:08:40ZZ"}) {
    EXPECT_THAT(ParseTimestamp(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("expected a time like 2026-06-21T08:08:41, found '")))
        << text;
  }
}

TEST(FormatTimestampTest, WritesUtcAsPythonDoes) {
  const std::chrono::system_clock::time_point start{};
  EXPECT_EQ(FormatTimestamp(start), "1970-01-01T00:00:00+00:00");
  EXPECT_EQ(FormatTimestamp(start + std::chrono::microseconds(1782029320000123)),
            "2026-06-21T08:08:40.000123+00:00");
  EXPECT_EQ(FormatTimestamp(start - std::chrono::microseconds(1)),
            "1969-12-31T23:59:59.999999+00:00");
}

TEST(FormatTimestampTest, ComesBack) {
  for (int64_t micros = 1; micros < 9000000000000000; micros = micros * 3 + 7) {
    const std::chrono::system_clock::time_point time{std::chrono::microseconds(micros)};
    EXPECT_THAT(ParseTimestamp(FormatTimestamp(time)), IsOkAndHolds(Timestamp{micros, 0}));
  }
}

TEST(OrderOfTest, AMixIsComparedByWhatTheClocksShowed) {
  const Timestamp east = *ParseTimestamp("2026-01-01T10:00:00+09:00");
  const Timestamp utc = *ParseTimestamp("2026-01-01T02:00:00Z");
  EXPECT_LT(OrderOf(east, true), OrderOf(utc, true));
  EXPECT_GT(OrderOf(east, false), OrderOf(utc, false));
}

}  // namespace
}  // namespace tessera::ledger
