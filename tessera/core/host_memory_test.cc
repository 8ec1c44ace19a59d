#include "tessera/core/host_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace tessera {
namespace {

bool IsAligned(const std::byte* data, int64_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment) == 0;
}

TEST(AllocateHostMemoryTest, StartsAtACacheLine) {
  for (const int64_t bytes : {1, 63, 64, 65, 4096, 1 << 20}) {
    const auto memory = AllocateHostMemory(bytes);
    EXPECT_TRUE(IsAligned(memory.get(), kHostAlignment)) << bytes;
    std::memset(memory.get(), 1, static_cast<size_t>(bytes));
  }
}

TEST(AllocateHostMemoryTest, StartsAtAHugePageWhenLarge) {
  EXPECT_TRUE(IsAligned(AllocateHostMemory(kHugePageBytes).get(), kHugePageBytes));
  EXPECT_TRUE(IsAligned(AllocateHostMemory(kHugePageBytes + 1).get(), kHugePageBytes));
}

TEST(AllocateHostMemoryTest, GivesNothingForNothingAndForTheImpossible) {
  EXPECT_EQ(AllocateHostMemory(0), nullptr);
  EXPECT_EQ(AllocateHostMemory(std::numeric_limits<int64_t>::max()), nullptr);
}

}  // namespace
}  // namespace tessera
