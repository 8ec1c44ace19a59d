#include "tessera/core/strided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<std::byte> Counting(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 131 + i / 251);
  return bytes;
}

// A view of fresh memory whose dimensions lie in a random order, with random padding and signs.
struct Layout {
  std::vector<std::byte> memory;
  StridedView view;
};

Layout ArbitraryLayout(const Dims& shape, int64_t element_bytes) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[*rc::gen::inRange<size_t>(0, i)]);
  }
  Layout layout;
  layout.view = {nullptr, shape, Dims(shape.size()), element_bytes};
  int64_t extent = element_bytes;
  int64_t first = 0;
  for (int d : order) {
    const int64_t stride = extent + *rc::gen::element<int64_t>(0, 0, 0, 3);
    const bool reversed = *rc::gen::inRange(0, 5) == 0;
    layout.view.strides[d] = reversed ? -stride : stride;
    if (reversed) first += stride * (shape[d] - 1);
    extent = stride * shape[d];
  }
  layout.memory = Counting(static_cast<size_t>(extent));
  layout.view.data = layout.memory.data() + first;
  return layout;
}

// Calls visit(offset in a, offset in b) for every index.
template <typename Visit>
void ForEachIndex(const StridedView& a, const StridedView& b, Visit visit) {
  Dims index(a.shape.size(), 0);
  while (true) {
    int64_t offset_a = 0;
    int64_t offset_b = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      offset_a += index[d] * a.strides[d];
      offset_b += index[d] * b.strides[d];
    }
    visit(offset_a, offset_b);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == a.shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

RC_GTEST_PROP(CopyStridedProperty, EqualsTheElementwiseCopy, ()) {
  const int rank = *rc::gen::inRange(0, 6);
  Dims shape;
  const int64_t largest = rank > 3 ? 6 : rank > 2 ? 40 : 300;  // past a tile where it is cheap
  for (int i = 0; i < rank; ++i) shape.push_back(*rc::gen::inRange<int64_t>(1, largest));
  const int64_t element_bytes = *rc::gen::element<int64_t>(1, 2, 4, 8, 16, 3);
  const Layout source = ArbitraryLayout(shape, element_bytes);
  Layout target = ArbitraryLayout(shape, element_bytes);
  Layout expected = target;
  expected.view.data = expected.memory.data() + (target.view.data - target.memory.data());
  ForEachIndex(source.view, expected.view, [&](int64_t from, int64_t to) {
    std::copy_n(source.view.data + from, element_bytes, expected.view.data + to);
  });
  RC_ASSERT(CopyStrided(AsConst(source.view), target.view).ok());
  RC_ASSERT(target.memory == expected.memory);  // padding between elements is untouched, too
}

TEST(CopyStridedTest, ABroadcastSourceRepeats) {
  const std::vector<std::byte> source = Counting(4);
  std::vector<std::byte> target(12);
  ASSERT_THAT(
      CopyStrided({source.data(), {3, 4}, {0, 1}, 1}, RowMajorView(target.data(), Dims{3, 4}, 1)),
      IsOk());
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(target[i], source[i % 4]);
}

TEST(CopyStridedTest, AnEmptyArrayTouchesNothing) {
  EXPECT_THAT(CopyStrided({nullptr, {0, 4}, {4, 1}, 1}, {nullptr, {0, 4}, {4, 1}, 1}), IsOk());
}

TEST(CopyStridedTest, ASubViewIsTheBoxOfTheWhole) {
  std::vector<std::byte> memory = Counting(8 * 16);
  const StridedView whole = RowMajorView(memory.data(), Dims{8, 16}, 1);
  std::vector<std::byte> part(2 * 3);
  const Box box = *Box::Make(Dims{4, 5}, Dims{2, 3});
  ASSERT_THAT(CopyStrided(AsConst(SubView(whole, box)), RowMajorView(part.data(), Dims{2, 3}, 1)),
              IsOk());
  EXPECT_EQ(part[0], memory[4 * 16 + 5]);
  EXPECT_EQ(part[5], memory[5 * 16 + 7]);
}

TEST(CopyStridedTest, RefusesDifferentShapesAndElementSizes) {
  EXPECT_THAT(CopyStrided({nullptr, {2}, {1}, 1}, {nullptr, {3}, {1}, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[2] to shape [3]")));
  EXPECT_THAT(CopyStrided({nullptr, {2}, {1}, 1}, {nullptr, {2}, {2}, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 bytes to elements of 2")));
}

}  // namespace
}  // namespace tessera
