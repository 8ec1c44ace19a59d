#include "tessera/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::cli {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

class OutputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(ends_), 0);
  }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  std::string ReadAll() {
    char buffer[4096];
    const ssize_t size = read(ends_[0], buffer, sizeof(buffer));
    return {buffer, static_cast<size_t>(size)};
  }

  int ends_[2] = {-1, -1};
};

TEST_F(OutputTest, WritesWhenFlushed) {
  Output out(ends_[1]);
  out.Write("a");
  out.WriteLine("b");
  out.WriteJson({{"z", 1}, {"a", nullptr}});
  ASSERT_THAT(out.Flush(), IsOk());
  EXPECT_EQ(ReadAll(), "ab\n{\n  \"z\": 1,\n  \"a\": null\n}\n");
}

TEST_F(OutputTest, AClosedPipeIsNoError) {
  Output out(ends_[1]);
  close(ends_[0]);
  EXPECT_FALSE(out.closed());
  out.Write("a");
  EXPECT_THAT(out.Flush(), IsOk());
  EXPECT_TRUE(out.closed());
  out.Write(std::string(1 << 20, 'x'));
  EXPECT_THAT(out.Flush(), IsOk());
}

TEST_F(OutputTest, AFullDiskIs) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  {
    Output out(full);
    out.Write("a");
    EXPECT_THAT(out.Flush(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("No space left on device")));
  }
  close(full);
}

TEST_F(OutputTest, NowhereTakesEverything) {
  Output out(-1);
  out.Write("a");
  EXPECT_THAT(out.Flush(), IsOk());
}

}  // namespace
}  // namespace tessera::cli
