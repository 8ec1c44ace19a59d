#include "tessera/cli/terminal.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

const Terminal kNoUnicode{.unicode = false};

TEST(PrintableTest, ANameCannotSteerTheTerminal) {
  EXPECT_EQ(Printable("a\x1b[2Jb\n\t\x7f", {}), "a\\x1b[2Jb\\x0a\\x09\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m",
                      {}),
            "\\x9b31m");  // CSI of C1
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b",
                      {}),
            "a\\u{202e}b");  // right-to-left override
}

TEST(PrintableTest, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(Printable("a\xff\xc3", {}), "a\\xff\\xc3");
}

TEST(PrintableTest, LettersStayWhereTheyCanBeShown) {
  EXPECT_EQ(Printable("größe", {}), "größe");
  EXPECT_EQ(Printable("größe", kNoUnicode), "gr\\u{f6}\\u{df}e");
}

TEST(DisplayWidthTest, CountsColumns) {
  EXPECT_EQ(DisplayWidth("größe"), 5u);
  EXPECT_EQ(DisplayWidth("層.0"), 4u);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1u);
  EXPECT_EQ(DisplayWidth("\x1b[31mx\x1b[0m"), 1u);
}

TEST(CutMiddleTest, KeepsBothEnds) {
  EXPECT_EQ(CutMiddle("abcdefghij", 10, {}), "abcdefghij");
  EXPECT_EQ(CutMiddle("abcdefghij", 7, {}), "ab…ghij");
  EXPECT_EQ(CutMiddle("abcdefghij", 7, kNoUnicode), "a...hij");
  EXPECT_EQ(CutMiddle("abcdefghij", 2, kNoUnicode), "..");
  EXPECT_EQ(CutMiddle("層層層層層層", 8, {}), "層…層層");
}

TEST(TerminalTest, APipeHasNoColoursAndNoWidth) {
  const Terminal terminal = Terminal::Of(-1);
  EXPECT_FALSE(terminal.is_terminal);
  EXPECT_FALSE(terminal.colour);
  EXPECT_EQ(terminal.columns, 0);
  EXPECT_EQ(terminal.Red("x"), "x");
}

TEST(TerminalTest, TheFirstLocaleThatIsSetTells) {
  setenv("LC_ALL", "", 1);
  setenv("LC_CTYPE", "de_DE.ISO-8859-1", 1);
  setenv("LANG", "C.UTF-8", 1);
  EXPECT_FALSE(Terminal::Of(-1).unicode);
  setenv("LC_ALL", "C.utf8", 1);
  EXPECT_TRUE(Terminal::Of(-1).unicode);
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) unsetenv(name);
  EXPECT_FALSE(Terminal::Of(-1).unicode);
}

}  // namespace
}  // namespace tessera::cli
