#include "tessera/device/host_platform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::device {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

std::unique_ptr<Platform> Make(const HostPlatformOptions& options) {
  return *MakeHostPlatform(options);
}

TEST(MemoryKindTest, NamesGoBothWays) {
  for (const MemoryKind kind :
       {MemoryKind::kDevice, MemoryKind::kPinnedHost, MemoryKind::kUnpinnedHost}) {
    EXPECT_THAT(ParseMemoryKind(MemoryKindName(kind)), IsOkAndHolds(kind));
  }
  EXPECT_THAT(ParseMemoryKind(""), IsOkAndHolds(MemoryKind::kDevice));
  EXPECT_THAT(ParseMemoryKind("hbm"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "memory kind 'hbm'; expected 'device', 'pinned_host' or 'unpinned_host'"));
}

TEST(HostPlatformTest, FindsItsDevicesById) {
  const auto platform = Make({.process = 3, .ids = {9, 4, 7}});
  EXPECT_EQ(platform->process(), 3);
  ASSERT_EQ(platform->devices().size(), 3u);
  EXPECT_EQ(platform->devices()[0]->id(), 4);
  EXPECT_EQ(platform->Find(7)->id(), 7);
  EXPECT_EQ(platform->Find(8), nullptr);
  EXPECT_EQ(platform->Find(10), nullptr);
}

TEST(HostPlatformTest, CountsFromZeroWithoutIds) {
  const auto platform = Make({.count = 512});
  EXPECT_EQ(platform->devices().size(), 512u);
  EXPECT_EQ(platform->Find(511)->id(), 511);
}

TEST(HostPlatformTest, RejectsWhatCannotBe) {
  EXPECT_THAT(MakeHostPlatform({.ids = {1, 2, 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "device 1 is given twice"));
  EXPECT_THAT(MakeHostPlatform({.count = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1 devices")));
  EXPECT_THAT(MakeHostPlatform({.limit_bytes = -5}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-5 bytes each")));
}

TEST(HostDeviceTest, CountsItsMemoryAloneUntilTheLastReferenceGoes) {
  const auto platform = Make({.count = 2, .limit_bytes = 1000});
  Device& device = *platform->Find(0);
  TESSERA_ASSERT_OK_AND_ASSIGN(WritableBuffer buffer, device.Allocate(600));
  EXPECT_EQ(device.in_use(), 600);
  EXPECT_EQ(platform->Find(1)->in_use(), 0);
  DeviceBuffer published = std::move(buffer).Publish();
  DeviceBuffer part = published.Slice(100, 50);
  published = DeviceBuffer();
  EXPECT_EQ(device.in_use(), 600);
  part = DeviceBuffer();
  EXPECT_EQ(device.in_use(), 0);
  EXPECT_EQ(device.peak(), 600);
  EXPECT_EQ(device.limit(), 1000);
}

TEST(HostDeviceTest, SaysWhatIsMissingWhenFull) {
  const auto platform = Make({.limit_bytes = 1000, .ids = {5}});
  Device& device = *platform->Find(5);
  TESSERA_ASSERT_OK_AND_ASSIGN(const WritableBuffer held, device.Allocate(600));
  EXPECT_THAT(device.Allocate(401),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "device 5 has no room for 401 bytes: 600 of its limit of 1000 are in use"));
  EXPECT_EQ(device.in_use(), 600);
  EXPECT_THAT(device.Allocate(400), IsOk());
}

TEST(HostDeviceTest, GivesBackWhatTheSystemDoesNotHave) {
  const auto platform = Make({});
  Device& device = *platform->Find(0);
  EXPECT_THAT(device.Allocate(kNoLimit),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("device 0: the system has no 9223372036854775807 bytes")));
  EXPECT_EQ(device.in_use(), 0);
}

TEST(HostDeviceTest, BuffersOutliveTheirDevice) {
  auto platform = Make({});
  TESSERA_ASSERT_OK_AND_ASSIGN(WritableBuffer buffer, platform->Find(0)->Allocate(8));
  std::memset(buffer.data(), 7, 8);
  const DeviceBuffer published = std::move(buffer).Publish();
  platform.reset();
  EXPECT_EQ(published.data()[7], std::byte{7});
}

TEST(HostDeviceTest, BorrowedAndStagingMemoryCountNothing) {
  const auto platform = Make({.limit_bytes = 0});
  Device& device = *platform->Find(0);
  const auto owner = std::make_shared<std::vector<std::byte>>(100);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Placement placement, device.PlacementOf(MemoryKind::kDevice));
  const DeviceBuffer borrowed = DeviceBuffer::Borrow(placement, *owner, owner);
  EXPECT_EQ(borrowed.size(), 100);
  EXPECT_EQ(owner.use_count(), 2);
  TESSERA_ASSERT_OK_AND_ASSIGN(const WritableBuffer staging, device.AllocateStaging(4096));
  EXPECT_EQ(staging.placement().kind, MemoryKind::kPinnedHost);
  EXPECT_EQ(device.in_use(), 0);
}

TEST(HostDeviceTest, CopiesThereAndBack) {
  const auto platform = Make({.count = 2});
  Device& one = *platform->Find(0);
  Device& two = *platform->Find(1);
  TESSERA_ASSERT_OK_AND_ASSIGN(const WritableBuffer a, one.Allocate(6));
  TESSERA_ASSERT_OK_AND_ASSIGN(const WritableBuffer b, two.Allocate(6));
  const char text[] = "abcdef";
  char back[] = "......";
  const Dims shape{2, 3};
  const auto bytes = [](const char* data) { return reinterpret_cast<const std::byte*>(data); };
  const StridedView on_a = RowMajorView(a.data(), shape, 1);
  // Transposed on the second device, so that the strides are seen to count.
  const StridedView on_b{b.data(), {2, 3}, {1, 2}, 1};
  const std::vector<Event> events = {
      one.copies().CopyToDevice(RowMajorView(bytes(text), shape, 1), on_a),
      two.copies().CopyBetween(AsConst(on_a), one.id(), on_b),
      two.copies().CopyToHost(RowMajorView<const std::byte>(b.data(), shape, 1),
                              RowMajorView(reinterpret_cast<std::byte*>(back), shape, 1))};
  EXPECT_THAT(WaitForAll(events), IsOk());
  EXPECT_STREQ(back, "adbecf");
  EXPECT_TRUE(two.copies().Mark().done());
}

TEST(HostDeviceTest, ACopyOfOtherShapesFailsAtItsEvent) {
  const auto platform = Make({});
  Device& device = *platform->Find(0);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto queue, device.MakeQueue());
  std::byte memory[8] = {};
  const Event event = queue->CopyToDevice(RowMajorView<const std::byte>(memory, Dims{2}, 1),
                                          RowMajorView(memory + 4, Dims{3}, 1));
  EXPECT_THAT(WaitForAll(std::vector{Event(), event}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[3]")));
}

TEST(HostDeviceTest, ThreadsShareOneAccount) {
  const auto platform = Make({.limit_bytes = 1 << 20});
  Device& device = *platform->Find(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&device] {
      for (int i = 0; i < 200; ++i) {
        auto buffer = device.Allocate(1 << 10);
        TESSERA_CHECK(buffer.ok());
        const DeviceBuffer published = std::move(*buffer).Publish();
        const DeviceBuffer copy = published;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device.in_use(), 0);
  EXPECT_LE(device.peak(), 4 << 10);
}

}  // namespace
}  // namespace tessera::device
