#include "tessera/device/spare_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace tessera::device {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(SpareMemoryTest, MemoryOfTheSameSizeIsTakenAgain) {
  const auto spare = SpareMemory::Make(64 * kMiB);
  const std::byte* const first = spare->Allocate(3 * kMiB).get();
  EXPECT_EQ(spare->kept_bytes(), 3 * kMiB);
  const auto other = spare->Allocate(2 * kMiB);
  EXPECT_NE(other.get(), first);
  EXPECT_EQ(spare->kept_bytes(), 3 * kMiB);
  EXPECT_EQ(spare->Allocate(3 * kMiB).get(), first);
}

TEST(SpareMemoryTest, OddSizesCanBeWrittenToTheLastByte) {
  const auto spare = SpareMemory::Make(64 * kMiB);
  for (int64_t bytes : {SpareMemory::kLeastBytes, SpareMemory::kLeastBytes + 1, 2 * kMiB - 1,
                        2 * kMiB + 4097, 5 * kMiB + 3}) {
    for (int round = 0; round < 2; ++round) {
      const auto memory = spare->Allocate(bytes);
      std::memset(memory.get(), round, static_cast<size_t>(bytes));
    }
  }
}

TEST(SpareMemoryTest, TheOldestGoesWhenTheLimitIsReached) {
  const auto spare = SpareMemory::Make(4 * kMiB);
  {
    auto a = spare->Allocate(2 * kMiB), b = spare->Allocate(kMiB), c = spare->Allocate(3 * kMiB);
    a.reset();
    b.reset();
    EXPECT_EQ(spare->kept_bytes(), 3 * kMiB);
    c.reset();
    EXPECT_EQ(spare->kept_bytes(), 4 * kMiB);  // b and c
  }
  (void)spare->Allocate(5 * kMiB);
  EXPECT_EQ(spare->kept_bytes(), 4 * kMiB);
}

TEST(SpareMemoryTest, SmallPiecesAreNotKept) {
  const auto spare = SpareMemory::Make(4 * kMiB);
  (void)spare->Allocate(SpareMemory::kLeastBytes - 1);
  EXPECT_EQ(spare->kept_bytes(), 0);
  EXPECT_EQ(spare->Allocate(0), nullptr);
}

TEST(SpareMemoryTest, NothingIsKeptWithALimitOfNothing) {
  const auto spare = SpareMemory::Make(0);
  (void)spare->Allocate(kMiB);
  EXPECT_EQ(spare->kept_bytes(), 0);
}

TEST(SpareMemoryTest, MemoryOutlivesItsOwner) {
  auto spare = SpareMemory::Make(4 * kMiB);
  const auto memory = spare->Allocate(kMiB);
  spare.reset();
  std::memset(memory.get(), 1, kMiB);
}

TEST(SpareMemoryTest, ThreadsTakeAndGiveBackAtTheSameTime) {
  const auto spare = SpareMemory::Make(kMiB);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&spare, t] {
      for (int i = 0; i < 200; ++i) {
        const int64_t bytes = SpareMemory::kLeastBytes * (1 + (i + t) % 5);
        const auto memory = spare->Allocate(bytes);
        memory.get()[0] = memory.get()[bytes - 1] = std::byte{1};
      }
    });
  }
  threads.clear();
  EXPECT_LE(spare->kept_bytes(), kMiB);
}

}  // namespace
}  // namespace tessera::device
