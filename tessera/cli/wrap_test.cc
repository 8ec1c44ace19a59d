#include "tessera/cli/wrap.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(WrappedTest, BreaksBetweenWordsAndKeepsParagraphs) {
  EXPECT_EQ(Wrapped("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(Wrapped("one\n\ntwo", 0, 80), "one\n\ntwo\n");
  EXPECT_EQ(Wrapped("a longerthanwide b", 0, 5), "a\nlongerthanwide\nb\n");
  EXPECT_EQ(Wrapped("", 4, 80), "");
}

TEST(WrappedCommandTest, CanBeCopiedIntoAShell) {
  EXPECT_EQ(WrappedCommand("tessera ls a", 2, 80), "  tessera ls a\n");
  EXPECT_EQ(WrappedCommand("tessera ls run --match 'a b' --all", 2, 20),
            "  tessera ls run \\\n      --match \\\n      'a b' --all\n");
  EXPECT_EQ(WrappedCommand("x \"it's a\" y", 0, 8), "x \\\n    \"it's a\" \\\n    y\n");
}

}  // namespace
}  // namespace tessera::cli
