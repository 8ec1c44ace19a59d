#include "tessera/device/parallel_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::device {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

// Words that tell their places; bytes would be slow under sanitizers.
std::vector<std::byte> Counted(size_t size) {
  std::vector<std::byte> bytes(size);
  for (uint64_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t word = (i + 1) * 0x9e3779b97f4a7c15u;
    std::memcpy(bytes.data() + i, &word, 8);
  }
  return bytes;
}

// Both ways give the same bytes, whatever the order of the target's dimensions.
void ExpectAsOneCore(const Dims& shape, const Dims& target_strides, int64_t element_bytes) {
  const auto bytes = static_cast<size_t>(*NumElements(shape) * element_bytes);
  const auto source = Counted(bytes);
  std::vector<std::byte> expected(bytes);
  std::vector<std::byte> found(bytes);
  const auto from = RowMajorView(source.data(), shape, element_bytes);
  const StridedView to_expected{expected.data(), shape, target_strides, element_bytes};
  const StridedView to_found{found.data(), shape, target_strides, element_bytes};
  ASSERT_THAT(CopyStrided(from, to_expected), IsOk());
  ASSERT_THAT(CopyStridedInParallel(from, to_found), IsOk());
  EXPECT_EQ(found == expected, true) << ShapeText(shape);
}

TEST(CopyStridedInParallelTest, CopiesAsOneCoreDoes) {
  for (const Dims& shape : {Dims{}, Dims{0, 3}, Dims{7}, Dims{(16 << 20) + 3}, Dims{1, 3, 5000001},
                            Dims{2, 3000017, 3}, Dims{5000, 3001}, Dims{3, 1, 1, (4 << 20) + 1}}) {
    ExpectAsOneCore(shape, RowMajorStrides(shape, 1), 1);
    ExpectAsOneCore(shape, ColumnMajorStrides(shape, 1), 1);
  }
  ExpectAsOneCore({1000, 1201, 3}, RowMajorStrides(Dims{1000, 1201, 3}, 8), 8);
}

// Cuts an array into a grid, moves the boxes to buffers of their own, and back again.
void ExpectRoundTrip(const Dims& shape, const Dims& cuts) {
  const auto bytes = static_cast<size_t>(*NumElements(shape) * 2);
  const auto source = Counted(bytes);
  std::vector<std::byte> found(bytes);
  const auto whole = RowMajorView(source.data(), shape, 2);
  const auto target = RowMajorView(found.data(), shape, 2);
  std::vector<std::vector<std::byte>> buffers;
  std::vector<BoxCopy> out;
  std::vector<BoxCopy> back;
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) count *= cuts[d];
  for (int64_t i = 0; i < count; ++i) {
    Dims origin(shape.size());
    Dims size(shape.size());
    for (size_t d = 0, rest = static_cast<size_t>(i); d < shape.size(); ++d) {
      size[d] = shape[d] / cuts[d];
      origin[d] = static_cast<int64_t>(rest) % cuts[d] * size[d];
      rest /= static_cast<size_t>(cuts[d]);
    }
    const Box box = *Box::Make(origin, size);
    buffers.emplace_back(static_cast<size_t>(*box.num_elements() * 2));
    const auto own = RowMajorView(buffers.back().data(), size, 2);
    out.push_back({box, SubView(whole, box), own});
    back.push_back({box, AsConst(own), SubView(target, box)});
  }
  ASSERT_THAT(CopyBoxes(out), IsOk());
  ASSERT_THAT(CopyBoxes(back), IsOk());
  EXPECT_EQ(found == source, true) << ShapeText(shape) << ShapeText(cuts);
}

TEST(CopyBoxesTest, MovesEveryElement) {
  ExpectRoundTrip({}, {});
  ExpectRoundTrip({0, 4}, {1, 2});
  ExpectRoundTrip({1024, 512}, {1, 64});
  ExpectRoundTrip({64, 1024, 256}, {2, 4, 8});  // streams: 32 MiB
  ExpectRoundTrip({8, 2097152}, {8, 1});        // streams whole rows
  ExpectRoundTrip({4096, 4099}, {4, 1});        // at odd addresses
  EXPECT_THAT(CopyBoxes({}), IsOk());
}

TEST(CopyBoxesTest, RejectsViewsThatAreNotTheBoxes) {
  std::byte memory[16] = {};
  const Box box = Box::Whole(Dims{4});
  const auto from = RowMajorView<const std::byte>(memory, Dims{4}, 1);
  const BoxCopy good = {box, from, RowMajorView(memory + 8, Dims{4}, 1)};
  const BoxCopy shorter = {box, from, RowMajorView(memory + 8, Dims{3}, 1)};
  const BoxCopy wider = {box, RowMajorView<const std::byte>(memory, Dims{4}, 2),
                         RowMajorView(memory + 8, Dims{4}, 2)};
  EXPECT_THAT(
      CopyBoxes(std::vector{good, shorter}),
      StatusIs(absl::StatusCode::kInvalidArgument, "box [0:4] is copied from shape [4] to [3]"));
  EXPECT_THAT(CopyBoxes(std::vector{good, wider}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("of 2 and 2 bytes is copied with box [0:4] of elements of 1")));
}

TEST(CopyStridedInParallelTest, RejectsOtherShapes) {
  std::byte memory[8] = {};
  EXPECT_THAT(CopyStridedInParallel(RowMajorView<const std::byte>(memory, Dims{2}, 1),
                                    RowMajorView(memory + 4, Dims{3}, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[3]")));
}

}  // namespace
}  // namespace tessera::device
