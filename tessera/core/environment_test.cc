#include "tessera/core/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tessera/core/io_context.h"
#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/core/thread_pool.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::LogCapture;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ParseIntegerTest, TakesWhatPythonTakes) {
  EXPECT_THAT(ParseInteger("16384"), IsOkAndHolds(16384));
  EXPECT_THAT(ParseInteger(" +1_000\n"), IsOkAndHolds(1000));
  EXPECT_THAT(ParseInteger("-5"), IsOkAndHolds(-5));
  EXPECT_THAT(ParseInteger("007"), IsOkAndHolds(7));
}

TEST(ParseIntegerTest, RefusesTheRest) {
  for (const char* text : {"", " ", "x", "1.5", "_1", "1_", "1__0", "+-1", "1 2", "0x10", "- 1"}) {
    EXPECT_THAT(ParseInteger(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not an integer")))
        << text;
  }
  EXPECT_THAT(ParseInteger("9223372036854775808"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit 64 bits")));
}

TEST(GetEnvironmentTest, TellsUnsetFromEmpty) {
  ASSERT_EQ(setenv("TESSERA_TEST_VARIABLE", "", 1), 0);
  EXPECT_EQ(GetEnvironment("TESSERA_TEST_VARIABLE"), "");
  ASSERT_EQ(unsetenv("TESSERA_TEST_VARIABLE"), 0);
  EXPECT_EQ(GetEnvironment("TESSERA_TEST_VARIABLE"), std::nullopt);
}

TEST(DefaultThreadCountTest, FollowsTheVariableAndWarnsOfBadText) {
  ASSERT_EQ(setenv("TESSERA_THREADS", "3", 1), 0);
  EXPECT_EQ(DefaultThreadCount(), 3);
  ASSERT_EQ(setenv("TESSERA_THREADS", "many", 1), 0);
  LogCapture log;
  EXPECT_GE(DefaultThreadCount(), 1);
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_THAT(log.lines()[0].second, HasSubstr("TESSERA_THREADS='many'"));
  ASSERT_EQ(unsetenv("TESSERA_THREADS"), 0);
}

TEST(IoOptionsTest, WhoAskedForThreadsGetsNoMoreThatCompute) {
  ASSERT_EQ(setenv("TESSERA_THREADS", "3", 1), 0);
  EXPECT_EQ(IoOptions{}.in_flight, 6);
  EXPECT_EQ(IoOptions{}.compute, 3);
  ASSERT_EQ(unsetenv("TESSERA_THREADS"), 0);
  EXPECT_EQ(IoOptions{}.in_flight, 2 * DefaultThreadCount());
  EXPECT_EQ(IoOptions{}.compute, IoOptions{}.in_flight);
}

}  // namespace
}  // namespace tessera
