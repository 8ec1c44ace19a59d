#include "tessera/regex/code_point_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::regex {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CodePointSetTest, JoinsRangesThatOverlapOrTouch) {
  CodePointSet set;
  set.Add(U'p', U'z');
  set.Add(U'a', U'c');
  set.Add(U'd', U'd');
  set.Add(U'q', U'r');
  EXPECT_THAT(set.Ranges(), ElementsAre(CodePointRange{U'a', U'd'}, CodePointRange{U'p', U'z'}));
  EXPECT_EQ(set.size(), 15u);
}

TEST(CodePointSetTest, LeavesSurrogatesOut) {
  CodePointSet set;
  set.Add(0xD700, 0xE0FF);
  EXPECT_THAT(set.Ranges(),
              ElementsAre(CodePointRange{0xD700, 0xD7FF}, CodePointRange{0xE000, 0xE0FF}));
  CodePointSet surrogate;
  surrogate.Add(0xD800, 0xD800);
  EXPECT_THAT(surrogate.Ranges(), IsEmpty());
  EXPECT_EQ(surrogate.size(), 0u);
}

TEST(CodePointSetTest, ComplementIsTheRest) {
  CodePointSet set;
  set.Add(0, U'a');
  set.Add(U'c', 0xFFFF);
  EXPECT_THAT(set.Complement().Ranges(),
              ElementsAre(CodePointRange{U'b', U'b'}, CodePointRange{0x10000, 0x10FFFF}));
  EXPECT_THAT(CodePointSet().Complement().Complement().Ranges(), IsEmpty());
}

TEST(CodePointSetTest, AddsAnotherSet) {
  CodePointSet a;
  a.Add(1, 2);
  CodePointSet b;
  b.Add(3, 4);
  a.Add(b);
  EXPECT_THAT(a.Ranges(), ElementsAre(CodePointRange{1, 4}));
}

}  // namespace
}  // namespace tessera::regex
