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

std::vector<std::byte> Counted(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 13);
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

TEST(CopyStridedInParallelTest, RejectsOtherShapes) {
  std::byte memory[8] = {};
  EXPECT_THAT(CopyStridedInParallel(RowMajorView<const std::byte>(memory, Dims{2}, 1),
                                    RowMajorView(memory + 4, Dims{3}, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[3]")));
}

}  // namespace
}  // namespace tessera::device
