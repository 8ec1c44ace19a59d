#include "tessera/codec/elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::codec {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Optional;

using Data = std::vector<std::byte>;

Data Of(std::initializer_list<int> values) {
  Data data;
  for (int value : values) data.push_back(static_cast<std::byte>(value));
  return data;
}

Data Counting(size_t size) {
  Data data(size);
  for (size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 7 + 1);
  return data;
}

TEST(UnitBytesTest, HalvesOfComplexNumbersAreSwappedAlone) {
  EXPECT_EQ(UnitBytes(DType::kComplex64), 4);
  EXPECT_EQ(UnitBytes(DType::kComplex128), 8);
  EXPECT_EQ(UnitBytes(DType::kFloat64), 8);
  EXPECT_EQ(UnitBytes(DType::kBfloat16), 2);
  EXPECT_EQ(UnitBytes(DType::kInt4), 1);
}

TEST(SwapBytesTest, ReversesEachUnitAtAnyAlignment) {
  for (size_t unit : {1u, 2u, 4u, 8u}) {
    for (size_t count : {0u, 1u, 3u, 64u, 1001u}) {
      const Data source = Counting(unit * count + 1);
      Data target(unit * count);
      SwapBytes(static_cast<int>(unit), std::span(source).subspan(1), target.data());
      Data in_place = source;
      SwapBytes(static_cast<int>(unit), std::span(in_place).subspan(1), in_place.data() + 1);
      for (size_t i = 0; i < target.size(); ++i) {
        const size_t from = i / unit * unit + (unit - 1 - i % unit);
        ASSERT_EQ(target[i], source[1 + from]) << unit << " " << count << " " << i;
        ASSERT_EQ(in_place[1 + i], source[1 + from]) << unit << " " << count << " " << i;
      }
    }
  }
}

TEST(SwapElementsTest, LeavesWhatLiesBetweenAlone) {
  Data memory = Of({1, 2, 9, 3, 4, 9, 5, 6, 9, 7, 8, 9});
  SwapElements(2, {memory.data(), {2, 2}, {3, 6}, 2});
  EXPECT_EQ(memory, Of({2, 1, 9, 4, 3, 9, 6, 5, 9, 8, 7, 9}));
  SwapElements(2, {memory.data() + 9, {4}, {-3}, 2});
  EXPECT_EQ(memory, Of({1, 2, 9, 3, 4, 9, 5, 6, 9, 7, 8, 9}));
}

TEST(SwapElementsTest, RankZeroIsOneElementAndASizeOfZeroIsNone) {
  Data memory = Of({1, 2, 3, 4});
  SwapElements(4, {memory.data(), {}, {}, 4});
  EXPECT_EQ(memory, Of({4, 3, 2, 1}));
  SwapElements(4, {nullptr, {3, 0}, {4, 4}, 4});
}

TEST(ClearStrayBitsTest, SignedTypesUnderAByteAreNotExtended) {
  Data memory = Of({0x07, 0x08, 0xf0, 0x2f, 0xff, 0x00});
  EXPECT_THAT(ClearStrayBits(DType::kInt4, {}, RowMajorView(memory.data(), Dims{6}, 1)), IsOk());
  EXPECT_EQ(memory, Of({7, 8, 0, 15, 15, 0}));
  memory = Of({0, 1, 2, 3, 0xfe, 0x7d});
  EXPECT_THAT(ClearStrayBits(DType::kInt2, {}, RowMajorView(memory.data(), Dims{6}, 1)), IsOk());
  EXPECT_EQ(memory, Of({0, 1, 2, 3, 2, 1}));
}

TEST(ClearStrayBitsTest, OthersUnderAByteAreExtendedByZeros) {
  for (const DType dtype : {DType::kUint4, DType::kFloat4E2m1fn}) {
    Data memory = Of({0x07, 0x08, 0xf0, 0x2f});
    EXPECT_THAT(ClearStrayBits(dtype, {}, RowMajorView(memory.data(), Dims{4}, 1)), IsOk());
    EXPECT_EQ(memory, Of({7, 8, 0, 15}));
  }
}

TEST(ClearStrayBitsTest, WholeBytesStayAsTheyAre) {
  for (const DTypeInfo& info : AllDTypes()) {
    EXPECT_EQ(HasStrayBits(info.dtype), info.bits < 8 || info.dtype == DType::kBool) << info.name;
    if (HasStrayBits(info.dtype)) continue;
    Data memory = Counting(static_cast<size_t>(info.bytes));
    EXPECT_THAT(ClearStrayBits(info.dtype, {}, {memory.data(), {}, {}, info.bytes}), IsOk());
    EXPECT_EQ(memory, Counting(static_cast<size_t>(info.bytes))) << info.name;
  }
}

TEST(ClearStrayBitsTest, ABoolOtherThanZeroAndOneIsDataLossAndNamed) {
  Data memory = Of({0, 1, 1, 0, 7, 2});
  const StridedView view = RowMajorView(memory.data(), Dims{2, 3}, 1);
  EXPECT_THAT(ClearStrayBits(DType::kBool, Dims{10, 20}, view),
              StatusIs(absl::StatusCode::kDataLoss,
                       "bool: element [11,21] is the byte 7, expected 0 or 1"));
}

TEST(FindNonBoolTest, FindsTheFirstInCOrderOfTheArray) {
  // Stored by columns: the 3 comes first in memory, the 2 in the array.
  const Data memory = Of({0, 3, 2, 0});
  EXPECT_THAT(FindNonBool({memory.data(), {2, 2}, {1, 2}, 1}), Optional(Dims{0, 1}));
  EXPECT_EQ(FindNonBool({memory.data(), {1, 1}, {1, 2}, 1}), std::nullopt);
  EXPECT_EQ(FindNonBool({nullptr, {0}, {1}, 1}), std::nullopt);
}

}  // namespace
}  // namespace tessera::codec
