#include "tessera/array/device_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using ::tessera::testing::IsOk;

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
  const DeviceCopy copy{{RowMajorView(BytesOf(source), shape, 4)},
                        {RowMajorView(BytesOf(target), shape, 4)}};
  EXPECT_THAT(RunCopies({&copy, 1}), IsOk());
  EXPECT_EQ(target, source);
}

TEST(RunCopiesTest, ManySmallCopiesAllArrive) {
  const std::vector<int32_t> source = Numbers(100'000);
  std::vector<int32_t> target(source.size(), -1);
  std::vector<DeviceCopy> copies;
  for (size_t i = 0; i < source.size(); i += 10) {
    copies.push_back({{RowMajorView(BytesOf(source) + 4 * i, Dims{10}, 4)},
                      {RowMajorView(BytesOf(target) + 4 * i, Dims{10}, 4)}});
  }
  EXPECT_THAT(RunCopies(copies), IsOk());
  EXPECT_EQ(target, source);
}

TEST(RunCopiesTest, LargeAndSmallCopiesMix) {
  const std::vector<int64_t> sizes = {10, 0, 2'000'000, 3, 1'500'000, 524'288, 524'289, 1};
  const std::vector<int32_t> source = Numbers(5'000'000);
  std::vector<int32_t> target(source.size(), -1);
  std::vector<DeviceCopy> copies;
  int64_t offset = 0;
  for (int64_t size : sizes) {
    copies.push_back({{RowMajorView(BytesOf(source) + 4 * offset, Dims{size}, 4)},
                      {RowMajorView(BytesOf(target) + 4 * offset, Dims{size}, 4)}});
    offset += size;
  }
  EXPECT_THAT(RunCopies(copies), IsOk());
  EXPECT_TRUE(std::equal(target.begin(), target.begin() + offset, source.begin()));
  EXPECT_EQ(std::count(target.begin(), target.end(), -1), 5'000'000 - offset);
}

}  // namespace
}  // namespace tessera::array
