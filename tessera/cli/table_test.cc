#include "tessera/cli/table.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

Table Sizes() {
  Table table({{.title = "KEY", .shrinks = true},
               {.title = "SHAPE", .dispensable = 1},
               {.title = "SIZE", .align = Align::kRight}});
  table.Add({"model.layers.0.attention.kernel", "[8,8]", "1 B"});
  table.Add({"b", "[]", "12 KiB"});
  return table;
}

TEST(TableTest, AlignsColumns) {
  EXPECT_EQ(Sizes().Text({}),
            "KEY                              SHAPE    SIZE\n"
            "model.layers.0.attention.kernel  [8,8]     1 B\n"
            "b                                []     12 KiB\n");
}

TEST(TableTest, CutsInTheMiddleToTheWidth) {
  EXPECT_EQ(Sizes().Text({.is_terminal = true, .columns = 32}),
            "KEY                SHAPE    SIZE\n"
            "model…tion.kernel  [8,8]     1 B\n"
            "b                  []     12 KiB\n");
}

TEST(TableTest, LeavesOutWhatCanBeMissedWhenStillTooWide) {
  EXPECT_EQ(Sizes().Text({.is_terminal = true, .columns = 18, .unicode = false}),
            "KEY           SIZE\n"
            "mo...ernel     1 B\n"
            "b           12 KiB\n");
}

TEST(TableTest, DrawsALineAboveTotals) {
  Table table({{.title = ""}, {.title = "", .align = Align::kRight}});
  table.Add({"a", "1"});
  table.AddLine();
  table.Add({"all", "10"});
  EXPECT_EQ(table.Text({}), "a     1\n───────\nall  10\n");
  EXPECT_EQ(table.Text({.unicode = false}), "a     1\n-------\nall  10\n");
}

TEST(TableTest, ColoursTakeNoRoom) {
  const Terminal terminal{.is_terminal = true, .columns = 80, .colour = true};
  Table table({{.title = "A"}, {.title = "B"}});
  table.Add({terminal.Red("x"), "1"});
  table.Add({"yy", "2"});
  EXPECT_EQ(table.Text(terminal),
            "\x1b[1mA\x1b[0m   \x1b[1mB\x1b[0m\n\x1b[31mx\x1b[0m   1\nyy  2\n");
}

}  // namespace
}  // namespace tessera::cli
