#include "tessera/comm/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tessera/comm/engine.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::comm {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(StatusBytesTest, EveryCodeAndKindComesBack) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    EXPECT_EQ(DecodeStatus(EncodeStatus(status).span()), status);
  }
  for (const auto kind : {ErrorKind::kIndivisible, ErrorKind::kDuplicateAxis, ErrorKind::kNoMesh}) {
    const absl::Status status = WithKind(InvalidArgument("why"), kind);
    EXPECT_EQ(DecodeStatus(EncodeStatus(status).span()), status);
  }
}

TEST(StatusBytesTest, ALongMessageIsCutBetweenCharacters) {
  const absl::Status decoded = DecodeStatus(EncodeStatus(NotFound("ab\xC3\xA4xyz"), 3).span());
  EXPECT_THAT(decoded, StatusIs(absl::StatusCode::kNotFound, "ab"));
}

TEST(StatusBytesTest, RefusesWhatIsNoStatus) {
  const auto decoded = [](std::string_view text) {
    return DecodeStatus(Bytes::CopyOf(text).span());
  };
  EXPECT_THAT(decoded(""), StatusIs(absl::StatusCode::kInternal, HasSubstr("of 0 bytes")));
  EXPECT_THAT(decoded("\x05"), StatusIs(absl::StatusCode::kInternal, HasSubstr("of 1 bytes")));
  EXPECT_THAT(decoded("\x11\x01"), StatusIs(absl::StatusCode::kInternal, HasSubstr("code 17")));
  EXPECT_THAT(decoded("\x05\x04"), StatusIs(absl::StatusCode::kInternal, HasSubstr("kind 4")));
}

TEST(MergeStatusesTest, IsOkWhenAllAre) {
  EXPECT_THAT(MergeStatuses(std::vector<absl::Status>(3)), IsOk());
}

TEST(MergeStatusesTest, TakesCodeAndKindOfTheLowestFailingRank) {
  const std::vector<absl::Status> statuses = {
      absl::OkStatus(), WithKind(InvalidArgument("a"), ErrorKind::kIndivisible), DataLoss("b")};
  EXPECT_THAT(MergeStatuses(statuses), StatusIs(absl::StatusCode::kInvalidArgument,
                                                "2 of 3 ranks failed; rank 1: a; rank 2: b"));
  EXPECT_THAT(MergeStatuses(statuses), HasKind(ErrorKind::kIndivisible));
}

TEST(MergeStatusesTest, TellsAFewMessagesAndNamesAFewMore) {
  std::vector<absl::Status> statuses(100, NotFound("x"));
  statuses.back() = NotFound("y");
  EXPECT_THAT(
      MergeStatuses(statuses),
      StatusIs(absl::StatusCode::kNotFound,
               "100 of 100 ranks failed; rank 0: x; rank 1: x; rank 2: x; rank 3: x; rank 4: x; "
               "rank 5: x; rank 6: x; rank 7: x; also ranks 8, 9, 10, 11, 12, 13, 14, 15 and 84 "
               "others"));
}

TEST(MergeStatusesTest, ARankThatIsAloneNeedsNoNumber) {
  const std::vector<absl::Status> statuses = {NotFound("a")};
  EXPECT_THAT(MergeStatuses(statuses), StatusIs(absl::StatusCode::kNotFound, "a"));
}

TEST(MergeStatusesTest, WhatAllSayIsSaidOnce) {
  const std::vector<absl::Status> statuses(3,
                                           WithKind(InvalidArgument("a"), ErrorKind::kIndivisible));
  EXPECT_THAT(MergeStatuses(statuses), StatusIs(absl::StatusCode::kInvalidArgument, "a"));
  EXPECT_THAT(MergeStatuses(statuses), HasKind(ErrorKind::kIndivisible));
}

TEST(RanksTextTest, NamesOneAndMany) {
  EXPECT_EQ(RanksText(std::vector{3}), "rank 3");
  EXPECT_EQ(RanksText(std::vector{1, 4}), "ranks 1, 4");
}

}  // namespace
}  // namespace tessera::comm
