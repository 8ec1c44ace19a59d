#include "tessera/device/pieces.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::device {
namespace {

std::vector<std::string> Texts(const Dims& shape, const Dims& strides, int64_t wanted) {
  const PieceGrid grid(shape, strides, wanted);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < grid.count(); ++i) texts.push_back(grid[i].Text());
  return texts;
}

TEST(PieceGridTest, CutsTheSlowestDimensionFirst) {
  using Expected = std::vector<std::string>;
  EXPECT_EQ(Texts({5, 4}, {4, 1}, 2), (Expected{"[0:3,0:4]", "[3:5,0:4]"}));
  EXPECT_EQ(Texts({5, 4}, {1, 5}, 2), (Expected{"[0:5,0:2]", "[0:5,2:4]"}));
  EXPECT_EQ(Texts({2, 4}, {4, 1}, 4),
            (Expected{"[0:1,0:2]", "[0:1,2:4]", "[1:2,0:2]", "[1:2,2:4]"}));
  EXPECT_EQ(Texts({}, {}, 8), (Expected{"[]"}));
  EXPECT_EQ(Texts({2}, {1}, 8), (Expected{"[0:1]", "[1:2]"}));
}

TEST(PieceGridTest, CoversEveryElementOnce) {
  const Dims shape{7, 1, 5, 11};
  const PieceGrid grid(shape, RowMajorStrides(shape, 1), 29);
  EXPECT_GE(grid.count(), 29);
  std::vector<int> seen(7 * 5 * 11);
  for (int64_t i = 0; i < grid.count(); ++i) {
    const Box box = grid[i];
    for (int64_t a = box.begin(0); a < box.end(0); ++a) {
      for (int64_t b = box.begin(2); b < box.end(2); ++b) {
        for (int64_t c = box.begin(3); c < box.end(3); ++c) {
          ++seen[static_cast<size_t>((a * 5 + b) * 11 + c)];
        }
      }
    }
  }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

}  // namespace
}  // namespace tessera::device
