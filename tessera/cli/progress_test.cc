#include "tessera/cli/progress.h"

#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(ProgressTextTest, TellsBytesArraysSpeedAndTimeLeft) {
  EXPECT_EQ(ProgressText("verifying", {kGiB, 4 * kGiB, 12, 1040}, 2, 0),
            "verifying  1.00 GiB of 4.00 GiB (25%)  12 of 1,040 arrays  0.54 GB/s  6 s left");
}

TEST(ProgressTextTest, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(ProgressText("hashing", {}, 0, 0), "hashing");
  EXPECT_EQ(ProgressText("hashing", {10, 10, 0, 0}, 1, 0),
            "hashing  10 B of 10 B (100%)  0.00 GB/s");
}

TEST(ProgressTextTest, CutsAtWholePartsFirst) {
  const ProgressState state{kGiB, 4 * kGiB, 12, 40};
  EXPECT_EQ(ProgressText("verifying", state, 2, 45), "verifying  1.00 GiB of 4.00 GiB (25%)");
  EXPECT_EQ(ProgressText("verifying", state, 2, 5), "verif");
}

TEST(ProgressTextTest, LongTimesAreInMinutesAndHours) {
  EXPECT_TRUE(ProgressText("x", {1, 601, 0, 0}, 1, 0).ends_with("  10 min left"));
  EXPECT_TRUE(ProgressText("x", {1, 9001, 0, 0}, 1, 0).ends_with("  2 h 30 min left"));
}

TEST(ProgressLineTest, ShortWorkIsNotToldOf) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    ProgressLine line("work", ends[1], {});
    for (int i = 0; i < 100; ++i) line.Update({i, 100, 0, 0});
  }
  close(ends[1]);
  char c;
  EXPECT_EQ(read(ends[0], &c, 1), 0);
  close(ends[0]);
}

TEST(ProgressLineTest, ALineOnATerminalIsTakenAwayInTheEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    ProgressLine line("work", ends[1], {.is_terminal = true, .columns = 80});
    usleep(200'000);
    line.Update({50, 100, 0, 0});
    line.Update({60, 100, 0, 0});  // too soon
  }
  close(ends[1]);
  char buffer[256];
  const ssize_t size = read(ends[0], buffer, sizeof(buffer));
  close(ends[0]);
  const std::string shown(buffer, static_cast<size_t>(size));
  EXPECT_TRUE(shown.starts_with("\r\x1b[Kwork  50 B of 100 B (50%)")) << shown;
  EXPECT_TRUE(shown.ends_with("\r\x1b[K")) << shown;
  EXPECT_EQ(shown.find("60 B"), std::string::npos);
}

}  // namespace
}  // namespace tessera::cli
