#include "tessera/core/buffer.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(BufferTest, KeepsItsMemoryWhileItIsLargeEnough) {
  Buffer buffer;
  EXPECT_EQ(buffer.size(), 0);
  const std::byte* large = buffer.Resize(1000).data();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 64, 0);
  EXPECT_EQ(buffer.Resize(10).data(), large);
  EXPECT_EQ(buffer.size(), 10);
  EXPECT_EQ(buffer.Resize(1000).data(), large);
  EXPECT_EQ(buffer.Resize(1 << 20).size(), 1 << 20);
}

TEST(BufferTest, MovesItsMemory) {
  Buffer buffer;
  const std::byte* data = buffer.Resize(100).data();
  Buffer taken = std::move(buffer);
  EXPECT_EQ(taken.span().data(), data);
  EXPECT_EQ(taken.size(), 100);
}

}  // namespace
}  // namespace tessera
