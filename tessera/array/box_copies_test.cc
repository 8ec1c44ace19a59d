#include "tessera/array/box_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;

std::vector<int32_t> Numbers(int64_t count) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i);
  return numbers;
}

const std::byte* BytesOf(const std::vector<int32_t>& numbers) {
  return reinterpret_cast<const std::byte*>(numbers.data());
}
std::byte* BytesOf(std::vector<int32_t>& numbers) {
  return reinterpret_cast<std::byte*>(numbers.data());
}

TEST(RunCopiesTest, LargeCopiesGoInPieces) {
  const Dims shape{3, 1000, 1000};
  const std::vector<int32_t> source = Numbers(3'000'000);
  std::vector<int32_t> target(source.size(), -1);
  EXPECT_THAT(RunCopies({{{RowMajorView(BytesOf(source), shape, 4)},
                          {RowMajorView(BytesOf(target), shape, 4)}}}),
              IsOk());
  EXPECT_EQ(target, source);
}

TEST(RunCopiesTest, ManySmallCopiesAllArrive) {
  const std::vector<int32_t> source = Numbers(100'000);
  std::vector<int32_t> target(source.size(), -1);
  std::vector<BoxCopy> copies;
  for (size_t i = 0; i < source.size(); i += 10) {
    copies.push_back({{RowMajorView(BytesOf(source) + 4 * i, Dims{10}, 4)},
                      {RowMajorView(BytesOf(target) + 4 * i, Dims{10}, 4)}});
  }
  EXPECT_THAT(RunCopies(std::move(copies)), IsOk());
  EXPECT_EQ(target, source);
}

TEST(RunCopiesTest, NothingIsCopiedWhenOneOfThemIsWrong) {
  const std::vector<int32_t> source = Numbers(6);
  std::vector<int32_t> target(6, -1);
  const BoxCopy good{{RowMajorView(BytesOf(source), Dims{6}, 4)},
                     {RowMajorView(BytesOf(target), Dims{6}, 4)}};
  const BoxCopy bad{{RowMajorView(BytesOf(source), Dims{2, 3}, 4)},
                    {RowMajorView(BytesOf(target), Dims{6}, 4)}};
  EXPECT_THAT(RunCopies({good, bad}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("a copy from [2,3] to [6]")));
  EXPECT_THAT(target, Each(-1));
}

}  // namespace
}  // namespace tessera::array
