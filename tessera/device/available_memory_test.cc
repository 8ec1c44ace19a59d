#include "tessera/device/available_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"

namespace tessera::device {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

// A folder that looks like the root of a system.
class AvailableHostMemoryTest : public ::testing::Test {
 protected:
  AvailableHostMemoryTest() {
    std::filesystem::remove_all(root_);
    Write("/proc/meminfo", "MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:    50 kB\n");
  }
  ~AvailableHostMemoryTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  const std::string root_ = ::testing::TempDir() + "tessera_available_memory_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AvailableHostMemoryTest, IsWhatTheSystemSaysWithoutGroups) {
  EXPECT_THAT(AvailableHostMemory(root_), IsOkAndHolds(51200));
}

TEST_F(AvailableHostMemoryTest, IsTheTightestLimitOfVersionTwo) {
  Write("/proc/self/cgroup", "0::/user/job\n");
  Write("/sys/fs/cgroup/user/job/memory.max", "max\n");
  Write("/sys/fs/cgroup/user/job/memory.current", "10000\n");
  EXPECT_THAT(AvailableHostMemory(root_), IsOkAndHolds(51200));
  Write("/sys/fs/cgroup/user/memory.max", "30000\n");
  Write("/sys/fs/cgroup/user/memory.current", "20000\n");
  EXPECT_THAT(AvailableHostMemory(root_), IsOkAndHolds(10000));
  Write("/sys/fs/cgroup/user/memory.stat", "active_file 1\ninactive_file 5000\n");
  EXPECT_THAT(AvailableHostMemory(root_), IsOkAndHolds(15000));
  Write("/sys/fs/cgroup/user/job/memory.max", "9000\n");
  EXPECT_THAT(AvailableHostMemory(root_), IsOkAndHolds(0));
}

TEST_F(AvailableHostMemoryTest, FindsAContainersLimitAtTheMount) {
  Write("/proc/self/cgroup", "0::/docker/0123abcd\n");
  Write("/sys/fs/cgroup/memory.max", "30000\n");
  Write("/sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_THAT(AvailableHostMemory(root_), IsOkAndHolds(29000));
}

TEST_F(AvailableHostMemoryTest, IsTheLimitOfVersionOne) {
  Write("/proc/self/cgroup", "9:cpu,cpuacct:/job\n8:hugetlb,memory:/job\n0::/\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "40000\n");
  Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "30000\n");
  Write("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "30000\n");
  EXPECT_THAT(AvailableHostMemory(root_), IsOkAndHolds(12000));
}

TEST_F(AvailableHostMemoryTest, IgnoresGroupsThatSayNothing) {
  Write("/proc/self/cgroup", "nonsense\n0::\n3:memory:relative\n");
  EXPECT_THAT(AvailableHostMemory(root_), IsOkAndHolds(51200));
}

TEST_F(AvailableHostMemoryTest, SaysWhereItFoundNothing) {
  Write("/proc/meminfo", "MemTotal: 100 kB\n");
  EXPECT_THAT(AvailableHostMemory(root_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no line 'MemAvailable:'")));
}

MemoryEstimate Estimate(int64_t host, int64_t count, int64_t limit, int64_t held = 0) {
  const auto platform = *MakeHostPlatform({.count = count, .limit_bytes = limit});
  const auto buffer = count > 0 ? *platform->devices()[0]->Allocate(held) : WritableBuffer();
  return EstimateAvailableMemory(host, platform->devices());
}

TEST(EstimateAvailableMemoryTest, TheVectorsOfTheReference) {
  EXPECT_EQ(Estimate(kGiB, 0, 0), (MemoryEstimate{536870912, false}));
  EXPECT_EQ(Estimate(kGiB, 1, kGiB), (MemoryEstimate{429496729, false}));
  EXPECT_EQ(Estimate(1000, 0, 0), (MemoryEstimate{104857600, true}));
}

TEST(EstimateAvailableMemoryTest, CountsWhatIsFreeOnTheFullestDevice) {
  EXPECT_EQ(Estimate(kGiB, 2, kGiB, kGiB - (200 << 20)), (MemoryEstimate{200 << 20, false}));
  EXPECT_EQ(Estimate(kGiB, 2, kNoLimit, 1000), (MemoryEstimate{536870912, false}));
}

TEST(EstimateAvailableMemoryTest, KnowsThisMachine) {
  const auto platform = *MakeHostPlatform({});
  TESSERA_ASSERT_OK_AND_ASSIGN(const MemoryEstimate estimate, EstimateAvailableMemory(*platform));
  EXPECT_GE(estimate.bytes, kLeastMemoryEstimate);
}

}  // namespace
}  // namespace tessera::device
