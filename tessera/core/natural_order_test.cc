#include "tessera/core/natural_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(NaturalLessTest, CountsRunsOfDigits) {
  const std::vector<std::string> sorted = {"",
                                           "a",
                                           "layers.1.b",
                                           "layers.2.a",
                                           "layers.02.a",
                                           "layers.10.a",
                                           "layers.x",
                                           "m",
                                           "m10",
                                           "m99999999999999999999",
                                           "m100000000000000000000"};
  std::vector<std::string> shuffled = sorted;
  std::reverse(shuffled.begin(), shuffled.end());
  std::sort(shuffled.begin(), shuffled.end(), NaturalLess);
  // Equal but for the zero: by bytes, where '0' is before '2'.
  std::vector<std::string> expected = sorted;
  std::swap(expected[3], expected[4]);
  EXPECT_EQ(shuffled, expected);
}

TEST(NaturalLessTest, IsStrict) {
  EXPECT_FALSE(NaturalLess("a.1", "a.1"));
  EXPECT_FALSE(NaturalLess("", ""));
}

}  // namespace
}  // namespace tessera
