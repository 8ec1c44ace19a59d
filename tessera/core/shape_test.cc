#include "tessera/core/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(NumElementsTest, MultipliesTheSizes) {
  EXPECT_THAT(NumElements(Dims{}), IsOkAndHolds(1));
  EXPECT_THAT(NumElements(Dims{2, 3, 4}), IsOkAndHolds(24));
  EXPECT_THAT(NumElements(Dims{5, 0, 2}), IsOkAndHolds(0));
}

TEST(NumElementsTest, AZeroMakesTheArrayEmptyHoweverLargeTheRest) {
  EXPECT_THAT(NumElements(Dims{kHuge, kHuge, 0}), IsOkAndHolds(0));
}

TEST(NumElementsTest, RefusesAProductPast63Bits) {
  EXPECT_THAT(NumElements(Dims{int64_t{1} << 32, int64_t{1} << 31}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("shape [4294967296,2147483648]: the element count")));
  EXPECT_THAT(NumElements(Dims{kHuge, 1}), IsOkAndHolds(kHuge));
}

TEST(NumElementsTest, RefusesNegativeSizesAndTooManyDimensions) {
  EXPECT_THAT(NumElements(Dims{4, -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dimension 1")));
  EXPECT_THAT(NumElements(Dims(kMaxRank + 1, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("33 dimensions")));
}

TEST(NumBytesTest, CountsWholeBytesOrPackedBits) {
  EXPECT_THAT(NumBytes(DType::kFloat32, Dims{2, 3}), IsOkAndHolds(24));
  EXPECT_THAT(NumBytes(DType::kInt4, Dims{5}), IsOkAndHolds(5));
  EXPECT_THAT(NumBytesPacked(DType::kInt4, Dims{5}), IsOkAndHolds(3));
  EXPECT_THAT(NumBytesPacked(DType::kInt2, Dims{9}), IsOkAndHolds(3));
  EXPECT_THAT(NumBytesPacked(DType::kFloat6E2m3fn, Dims{4}), IsOkAndHolds(3));
  EXPECT_THAT(NumBytesPacked(DType::kInt4, Dims{kHuge}), IsOkAndHolds(kHuge / 2 + 1));
  EXPECT_THAT(NumBytesPacked(DType::kBfloat16, Dims{3}), IsOkAndHolds(6));
}

TEST(NumBytesTest, RefusesBytesPast63Bits) {
  EXPECT_THAT(NumBytes(DType::kComplex128, Dims{kHuge / 8}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of complex128")));
}

TEST(StridesTest, FollowTheOrder) {
  EXPECT_THAT(RowMajorStrides(Dims{2, 3, 4}, 2), ElementsAre(24, 8, 2));
  EXPECT_THAT(ColumnMajorStrides(Dims{2, 3, 4}, 2), ElementsAre(2, 4, 12));
  EXPECT_THAT(RowMajorStrides(Dims{}, 2), ElementsAre());
}

TEST(ShapeTextTest, WritesBrackets) {
  EXPECT_EQ(ShapeText(Dims{}), "[]");
  EXPECT_EQ(ShapeText(Dims{8, 16}), "[8,16]");
}

}  // namespace
}  // namespace tessera
