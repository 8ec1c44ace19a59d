#include "tessera/device/buffer_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"

namespace tessera::device {
namespace {

using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

class BufferBlocksTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Platform> Devices(int64_t limit) {
    auto platform = MakeHostPlatform({.count = 2, .limit_bytes = limit});
    TESSERA_CHECK(platform.ok());
    return *std::move(platform);
  }
  static Device& DeviceOf(Platform& platform, int64_t id) { return *platform.Find(id); }
};

TEST_F(BufferBlocksTest, SmallBuffersAreCutFromBlocksAndKeepTheirBytes) {
  const auto platform = Devices(kNoLimit);
  Device& device = DeviceOf(*platform, 0);
  constexpr int kCount = 3000;
  int64_t expected = 0;
  for (int i = 0; i < kCount; ++i) expected += BufferBlocks::BytesInBlock(i + 1);
  BufferBlocks blocks(expected);
  std::vector<DeviceBuffer> buffers;
  for (int i = 0; i < kCount; ++i) {
    TESSERA_ASSERT_OK_AND_ASSIGN(WritableBuffer buffer,
                                 blocks.Allocate(device, i + 1, MemoryKind::kDevice));
    EXPECT_EQ(buffer.size(), i + 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    std::memset(buffer.data(), i % 251, static_cast<size_t>(buffer.size()));
    buffers.push_back(std::move(buffer).Publish());
  }
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(buffers[i].data()[0], std::byte(i % 251));
    EXPECT_EQ(buffers[i].data()[i], std::byte(i % 251));
    EXPECT_NE(buffers[i].owner(), buffers[(i + 1) % kCount].owner());
  }
  // The ends of blocks are all that is lost.
  EXPECT_GE(device.in_use(), expected);
  EXPECT_LE(device.in_use(), expected + BufferBlocks::kMostBytes);
}

TEST_F(BufferBlocksTest, ABlockGoesWithItsLastBuffer) {
  const auto platform = Devices(kNoLimit);
  Device& device = DeviceOf(*platform, 0);
  WritableBuffer first, second;
  {
    BufferBlocks blocks(2 * BufferBlocks::BytesInBlock(100));
    TESSERA_ASSERT_OK_AND_ASSIGN(first, blocks.Allocate(device, 100, MemoryKind::kDevice));
    TESSERA_ASSERT_OK_AND_ASSIGN(second, blocks.Allocate(device, 100, MemoryKind::kDevice));
  }
  EXPECT_EQ(device.in_use(), 2 * BufferBlocks::BytesInBlock(100));
  first = WritableBuffer();
  EXPECT_EQ(device.in_use(), 2 * BufferBlocks::BytesInBlock(100));
  second.data()[99] = std::byte{1};
  second = WritableBuffer();
  EXPECT_EQ(device.in_use(), 0);
}

TEST_F(BufferBlocksTest, LargeAndEmptyBuffersAreByThemselves) {
  const auto platform = Devices(kNoLimit);
  Device& device = DeviceOf(*platform, 0);
  BufferBlocks blocks(1000);
  EXPECT_EQ(BufferBlocks::BytesInBlock(BufferBlocks::kSmallBytes), 0);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const WritableBuffer large,
      blocks.Allocate(device, BufferBlocks::kSmallBytes, MemoryKind::kDevice));
  TESSERA_ASSERT_OK_AND_ASSIGN(const WritableBuffer none,
                               blocks.Allocate(device, 0, MemoryKind::kDevice));
  EXPECT_EQ(device.in_use(), BufferBlocks::kSmallBytes);
}

TEST_F(BufferBlocksTest, DevicesAndKindsHaveBlocksOfTheirOwn) {
  const auto platform = Devices(kNoLimit);
  BufferBlocks blocks(10 * BufferBlocks::BytesInBlock(1));
  std::vector<WritableBuffer> buffers;
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kPinnedHost}) {
    for (int64_t id : {0, 1}) {
      TESSERA_ASSERT_OK_AND_ASSIGN(WritableBuffer buffer,
                                   blocks.Allocate(DeviceOf(*platform, id), 1, kind));
      EXPECT_EQ(buffer.placement().device_id, id);
      EXPECT_EQ(buffer.placement().kind, kind);
      buffers.push_back(std::move(buffer));
    }
  }
  EXPECT_EQ(DeviceOf(*platform, 0).in_use(), 20 * BufferBlocks::BytesInBlock(1));
  EXPECT_EQ(DeviceOf(*platform, 1).in_use(), 20 * BufferBlocks::BytesInBlock(1));
}

TEST_F(BufferBlocksTest, WithoutRoomForABlockThereMayBeSomeForABuffer) {
  const auto platform = Devices(150);
  Device& device = DeviceOf(*platform, 0);
  BufferBlocks blocks(10'000);
  TESSERA_ASSERT_OK_AND_ASSIGN(const WritableBuffer buffer,
                               blocks.Allocate(device, 100, MemoryKind::kDevice));
  EXPECT_EQ(device.in_use(), 100);
  EXPECT_THAT(blocks.Allocate(device, 100, MemoryKind::kDevice),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("device 0 has no room for 100 bytes")));
}

TEST_F(BufferBlocksTest, ManyThreadsCutAtOnce) {
  const auto platform = Devices(kNoLimit);
  Device& device = DeviceOf(*platform, 0);
  constexpr int kEach = 1000;
  BufferBlocks blocks(4 * kEach * BufferBlocks::BytesInBlock(300));
  std::vector<std::vector<WritableBuffer>> buffers(4);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          auto buffer = blocks.Allocate(device, 300, MemoryKind::kDevice);
          TESSERA_CHECK(buffer.ok());
          std::memset(buffer->data(), t, 300);
          buffers[t].push_back(*std::move(buffer));
        }
      });
    }
  }
  for (int t = 0; t < 4; ++t) {
    for (const WritableBuffer& buffer : buffers[t]) EXPECT_EQ(buffer.data()[299], std::byte(t));
  }
}

}  // namespace
}  // namespace tessera::device
