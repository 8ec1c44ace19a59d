#include "tessera/probe/mounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::probe {
namespace {

using ::testing::Optional;

constexpr std::string_view kMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "30 22 0:26 / /mnt rw - tmpfs tmpfs rw,size=1024k\n"
    "31 22 0:27 / /mnt/big\\040disk ro,nosuid shared:5 master:2 - nfs4 server:/export rw,vers=4.2\n"
    "32 22 0:28 / /mnt rw,noatime - xfs /dev/sdb rw\n";

TEST(FindMountTest, TakesTheDeepestFolder) {
  EXPECT_THAT(FindMount(kMounts, "/mnt/big disk/run"),
              Optional(Mount{"/mnt/big disk", "nfs4", "server:/export", "ro,nosuid,rw,vers=4.2"}));
  EXPECT_THAT(FindMount(kMounts, "/home"),
              Optional(Mount{"/", "ext4", "/dev/sda1", "rw,relatime,errors=remount-ro"}));
}

TEST(FindMountTest, TakesTheMountThatHidesAnother) {
  EXPECT_THAT(FindMount(kMounts, "/mnt"), Optional(Mount{"/mnt", "xfs", "/dev/sdb", "rw,noatime"}));
}

TEST(FindMountTest, DoesNotTakeAFolderWhoseNameOnlyBeginsAlike) {
  EXPECT_EQ(FindMount(kMounts, "/mntx")->folder, "/");
}

TEST(FindMountTest, PassesOverLinesThatCannotBeRead) {
  EXPECT_EQ(FindMount("", "/"), std::nullopt);
  EXPECT_EQ(FindMount("1 2 3\n - \n22 1 8:1 / / rw - ext4\n\\04", "/"), std::nullopt);
}

}  // namespace
}  // namespace tessera::probe
