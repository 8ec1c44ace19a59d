#include "tessera/core/reserve_large.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tessera/core/host_memory.h"

namespace tessera {
namespace {

TEST(ReserveLargeTest, KeepsWhatIsThereAndMakesRoom) {
  for (const size_t count : {size_t{3}, size_t{1000}, size_t{3} * kHugePageBytes}) {
    std::vector<int> values{1, 2};
    ReserveLarge(values, count);
    EXPECT_GE(values.capacity(), count);
    EXPECT_EQ(values, (std::vector<int>{1, 2}));
    const int* const place = values.data();
    values.resize(count);
    EXPECT_EQ(values.data(), place);
  }
}

TEST(ReserveLargeTest, LessThanThereIsDoesNothing) {
  std::vector<int> values(100);
  const int* const place = values.data();
  ReserveLarge(values, 10);
  EXPECT_EQ(values.data(), place);
}

TEST(AdviseHugePagesTest, LeavesTheBytesAlone) {
  std::vector<unsigned char> bytes(5 * kHugePageBytes + 7);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  const std::vector<unsigned char> before = bytes;
  AdviseHugePages(bytes.data(), bytes.size());
  AdviseHugePages(bytes.data(), 1);
  AdviseHugePages(nullptr, 0);
  EXPECT_EQ(bytes, before);
}

}  // namespace
}  // namespace tessera
