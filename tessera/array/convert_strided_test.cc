#include "tessera/array/convert_strided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::array {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

// Small whole numbers are exact in both types, so that the values tell the places.
std::vector<float> Counted(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 60000);
  return values;
}

void ExpectConverted(const Dims& shape, const Dims& source_strides, const Dims& target_strides) {
  const int64_t count = *NumElements(shape);
  const auto source = Counted(count);
  std::vector<double> found(static_cast<size_t>(count), -1);
  const ConstStridedView from{reinterpret_cast<const std::byte*>(source.data()), shape,
                              source_strides, 4};
  const StridedView to{reinterpret_cast<std::byte*>(found.data()), shape, target_strides, 8};
  ASSERT_THAT(ConvertStrided(DType::kFloat32, from, DType::kFloat64, to), IsOk());
  int64_t wrong = 0;
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) {
      const auto a = static_cast<size_t>((i * source_strides[0] + j * source_strides[1]) / 4);
      const auto b = static_cast<size_t>((i * target_strides[0] + j * target_strides[1]) / 8);
      if (found[b] != static_cast<double>(source[a])) ++wrong;
    }
  }
  EXPECT_EQ(wrong, 0) << ShapeText(shape);
}

TEST(ConvertStridedTest, ConvertsWhateverTheStrides) {
  for (const Dims& shape : {Dims{3, 5}, Dims{700, 300}, Dims{1, 100000}, Dims{100000, 1}}) {
    const Dims rows4 = RowMajorStrides(shape, 4);
    const Dims columns4 = ColumnMajorStrides(shape, 4);
    const Dims rows8 = RowMajorStrides(shape, 8);
    const Dims columns8 = ColumnMajorStrides(shape, 8);
    ExpectConverted(shape, rows4, rows8);
    ExpectConverted(shape, rows4, columns8);
    ExpectConverted(shape, columns4, rows8);
    ExpectConverted(shape, columns4, columns8);
  }
}

TEST(ConvertStridedTest, CopiesEqualDTypesAndEmptyArrays) {
  const std::vector<float> source = Counted(6);
  std::vector<float> found(6);
  const auto from = RowMajorView(reinterpret_cast<const std::byte*>(source.data()), Dims{6}, 4);
  const auto to = RowMajorView(reinterpret_cast<std::byte*>(found.data()), Dims{6}, 4);
  EXPECT_THAT(ConvertStrided(DType::kFloat32, from, DType::kFloat32, to), IsOk());
  EXPECT_EQ(found, source);
  EXPECT_THAT(ConvertStrided(DType::kFloat32, RowMajorView(from.data, Dims{0}, 4), DType::kBfloat16,
                             RowMajorView(to.data, Dims{0}, 2)),
              IsOk());
}

TEST(ConvertStridedTest, RejectsWhatDoesNotFit) {
  std::byte memory[64] = {};
  const auto from = RowMajorView<const std::byte>(memory, Dims{4}, 4);
  const auto expect = [&](DType source, DType target, const StridedView& to, const char* message) {
    EXPECT_THAT(ConvertStrided(source, from, target, to),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  expect(DType::kFloat32, DType::kBfloat16, RowMajorView(memory + 32, Dims{5}, 2),
         "cannot convert an array of shape [4] to one of shape [5]");
  expect(DType::kFloat32, DType::kBfloat16, RowMajorView(memory + 32, Dims{4}, 4),
         "elements have 4 bytes; bfloat16 has 2");
  expect(DType::kFloat32, DType::kInt32, RowMajorView(memory + 32, Dims{4}, 4),
         "cannot convert float32 to int32");
}

}  // namespace
}  // namespace tessera::array
