#include "tessera/core/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/log_capture.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(LogTest, ASinkGetsLevelAndLine) {
  testing::LogCapture log;
  LogInfo("read ", 3, " arrays");
  LogWarning("slow");
  EXPECT_THAT(log.lines(), ElementsAre(Pair(LogLevel::kInfo, "read 3 arrays"),
                                       Pair(LogLevel::kWarning, "slow")));
}

TEST(LogTest, ParsesTheLevelsOfTheVariable) {
  EXPECT_EQ(ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("warn"), LogLevel::kWarning);
  EXPECT_EQ(ParseLogLevel("off"), LogLevel::kOff);
  EXPECT_EQ(ParseLogLevel("loud"), std::nullopt);
}

TEST(LogTest, StderrGetsWarningsButNoInfoByDefault) {
  ASSERT_EQ(MinimumLogLevel(), LogLevel::kWarning);
  ::testing::internal::CaptureStderr();
  LogInfo("hidden");
  LogWarning("shown");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "tessera warning: shown\n");
}

}  // namespace
}  // namespace tessera
