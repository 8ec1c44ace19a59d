#include "tessera/core/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

Box MakeBox(Dims origin, Dims shape) { return *Box::Make(origin, shape); }

// A box of rank 2 with corners in a small range, so that pairs meet, touch and miss.
Box ArbitraryBox() {
  const auto begin = [] { return *rc::gen::inRange<int64_t>(-4, 5); };
  const auto size = [] { return *rc::gen::inRange<int64_t>(0, 6); };
  return MakeBox({begin(), begin()}, {size(), size()});
}

bool Holds(const Box& box, int64_t i, int64_t j) {
  return i >= box.begin(0) && i < box.end(0) && j >= box.begin(1) && j < box.end(1);
}

TEST(BoxTest, MakeRefusesWhatIsNoBox) {
  EXPECT_THAT(Box::Make(Dims{0}, Dims{1, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("differ in rank")));
  EXPECT_THAT(Box::Make(Dims{0}, Dims{-1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("negative size -1")));
  EXPECT_THAT(Box::Make(Dims{std::numeric_limits<int64_t>::max()}, Dims{1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit 63 bits")));
}

TEST(BoxTest, RankZeroHoldsOneIndex) {
  const Box box;
  EXPECT_FALSE(box.empty());
  EXPECT_THAT(box.num_elements(), IsOkAndHolds(1));
  EXPECT_EQ(Intersect(box, box), box);
  EXPECT_TRUE(Contains(box, box));
  EXPECT_EQ(box.Text(), "[]");
}

TEST(BoxTest, TranslateMovesAndChecks) {
  EXPECT_THAT(Translate(MakeBox({1, 2}, {3, 4}), Dims{10, -2}),
              IsOkAndHolds(MakeBox({11, 0}, {3, 4})));
  EXPECT_THAT(Translate(MakeBox({1}, {3}), Dims{std::numeric_limits<int64_t>::max()}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("box [1:4] moved by")));
}

TEST(BoxTest, RelativeToCountsFromTheOrigin) {
  EXPECT_EQ(RelativeTo(MakeBox({5, 7}, {2, 2}), Dims{4, 7}), MakeBox({1, 0}, {2, 2}));
}

RC_GTEST_PROP(BoxProperty, IntersectHoldsExactlyWhatBothHold, ()) {
  const Box a = ArbitraryBox();
  const Box b = ArbitraryBox();
  const Box both = Intersect(a, b);
  for (int64_t i = -5; i < 11; ++i) {
    for (int64_t j = -5; j < 11; ++j) {
      RC_ASSERT(Holds(both, i, j) == (Holds(a, i, j) && Holds(b, i, j)));
    }
  }
}

RC_GTEST_PROP(BoxProperty, CoverIsTheSmallestBoxAroundBoth, ()) {
  const Box a = ArbitraryBox();
  const Box b = ArbitraryBox();
  const Box cover = Cover(a, b);
  RC_ASSERT(Contains(cover, a));
  RC_ASSERT(Contains(cover, b));
  if (a.empty() || b.empty()) return;
  for (int d = 0; d < 2; ++d) {
    RC_ASSERT(cover.begin(d) == std::min(a.begin(d), b.begin(d)));
    RC_ASSERT(cover.end(d) == std::max(a.end(d), b.end(d)));
  }
}

RC_GTEST_PROP(BoxProperty, ContainsMeansThatTheIntersectionIsTheInner, ()) {
  const Box a = ArbitraryBox();
  const Box b = ArbitraryBox();
  if (b.empty()) return;
  RC_ASSERT(Contains(a, b) == (Intersect(a, b) == b));
}

}  // namespace
}  // namespace tessera
