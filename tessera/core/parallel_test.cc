#include "tessera/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace tessera {
namespace {

TEST(ParallelForTest, CoversTheRangeOnce) {
  for (int64_t count : {0, 1, 7, 1000, 100003}) {
    std::vector<int> visits(static_cast<size_t>(count), 0);
    ParallelFor(count, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    });
    for (int visit : visits) ASSERT_EQ(visit, 1);
  }
}

TEST(ParallelForTest, AShortRangeStaysOnTheCaller) {
  int calls = 0;  // not atomic: one piece only
  ParallelFor(10, 10, [&](int64_t begin, int64_t end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 10);
  });
  EXPECT_EQ(calls, 1);
}

TEST(ParallelForTest, MayNest) {
  std::atomic<int64_t> sum{0};
  ParallelFor(8, 1, [&](int64_t begin, int64_t end) {
    ParallelFor(100 * (end - begin), 10, [&](int64_t b, int64_t e) { sum += e - b; });
  });
  EXPECT_EQ(sum, 800);
}

}  // namespace
}  // namespace tessera
