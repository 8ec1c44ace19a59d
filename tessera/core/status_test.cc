#include "tessera/core/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::Eq;
using ::testing::Not;

absl::StatusOr<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("half of ", n, " is not whole");
  return n / 2;
}

absl::StatusOr<int> Quarter(int n) {
  TESSERA_ASSIGN_OR_RETURN(const int half, Half(n));
  TESSERA_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status CheckQuarter(int n) {
  TESSERA_RETURN_IF_ERROR(Quarter(n));
  return absl::OkStatus();
}

TEST(StatusTest, MakersJoinTheirParts) {
  EXPECT_THAT(Half(3), StatusIs(absl::StatusCode::kInvalidArgument, Eq("half of 3 is not whole")));
}

TEST(StatusTest, MacrosPassValuesAndErrorsOn) {
  EXPECT_THAT(Quarter(8), IsOkAndHolds(2));
  EXPECT_THAT(Quarter(6),
              StatusIs(absl::StatusCode::kInvalidArgument, Eq("half of 3 is not whole")));
  EXPECT_THAT(CheckQuarter(4), IsOk());
  EXPECT_THAT(CheckQuarter(2),
              StatusIs(absl::StatusCode::kInvalidArgument, Eq("half of 1 is not whole")));
}

TEST(StatusTest, PrefixKeepsCodeAndKind) {
  const absl::Status inner = WithKind(InvalidArgument("7 by 2"), ErrorKind::kIndivisible);
  const absl::Status outer = Prefixed(inner, "layers.0");
  EXPECT_THAT(outer, StatusIs(absl::StatusCode::kInvalidArgument, Eq("layers.0: 7 by 2")));
  EXPECT_THAT(outer, HasKind(ErrorKind::kIndivisible));
  EXPECT_THAT(Prefixed(absl::OkStatus(), "layers.0"), IsOk());
}

TEST(StatusTest, AStatusWithoutPayloadHasNoKind) {
  EXPECT_EQ(KindOf(InvalidArgument("x")), std::nullopt);
  EXPECT_THAT(InvalidArgument("x"), Not(HasKind(ErrorKind::kNoMesh)));
}

}  // namespace
}  // namespace tessera
