#include "tessera/safetensors/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "tessera/core/chunk_grid.h"
#include "tessera/safetensors/header.h"

namespace tessera::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BlockShapeTest, ASmallTensorIsOneBlock) {
  EXPECT_THAT(BlockShape(Dims{3, 5}, DType::kFloat32, 60), ElementsAre(3, 5));
  EXPECT_THAT(BlockShape(Dims{}, DType::kFloat32, 1), IsEmpty());
}

TEST(BlockShapeTest, CutsTheOutermostDimensionWhoseRowsFit) {
  EXPECT_THAT(BlockShape(Dims{3, 5}, DType::kFloat32, 59), ElementsAre(2, 5));
  EXPECT_THAT(BlockShape(Dims{3, 5}, DType::kFloat32, 20), ElementsAre(1, 5));
  EXPECT_THAT(BlockShape(Dims{3, 5}, DType::kFloat32, 19), ElementsAre(1, 4));
  EXPECT_THAT(BlockShape(Dims{2, 3, 5}, DType::kInt8, 12), ElementsAre(1, 2, 5));
}

TEST(BlockShapeTest, HoldsAtLeastOneElement) {
  EXPECT_THAT(BlockShape(Dims{3, 5}, DType::kFloat64, 0), ElementsAre(1, 1));
}

TEST(BlockShapeTest, FourMebibytesOfALargeTensor) {
  EXPECT_THAT(BlockShape(Dims{32000, 4096}, DType::kBfloat16), ElementsAre(512, 4096));
  EXPECT_THAT(BlockShape(Dims{int64_t{1} << 40}, DType::kUint8), ElementsAre(4 << 20));
}

TEST(BlockShapeTest, AnEmptyTensorHasBlocksOfOneElement) {
  EXPECT_THAT(BlockShape(Dims{0, int64_t{1} << 62, int64_t{1} << 62}, DType::kFloat64),
              ElementsAre(1, 1, 1));
}

TEST(BlockShapeTest, ElementsUnderAByteAreCutAtWholeBytes) {
  EXPECT_THAT(BlockShape(Dims{7, 2}, DType::kFloat4E2m1fn, 3), ElementsAre(3, 2));
  EXPECT_THAT(BlockShape(Dims{8, 3}, DType::kFloat4E2m1fn, 4), ElementsAre(2, 3));
  EXPECT_THAT(BlockShape(Dims{100}, DType::kFloat6E2m3fn, 10), ElementsAre(12));
}

TEST(BlockShapeTest, WhereRowsEndWithinAByteTheSmallestWholeCutIsTaken) {
  // Two rows of 1001 halves of a byte; one row alone would end within a byte.
  EXPECT_THAT(BlockShape(Dims{4, 1001}, DType::kFloat4E2m1fn, 64), ElementsAre(2, 1001));
  EXPECT_THAT(BlockShape(Dims{3, 2, 3}, DType::kFloat4E2m1fn, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(BlockShape(Dims{2, 5}, DType::kFloat4E2m1fn, 1), ElementsAre(2, 5));
}

TEST(SpanOfTest, CountsFromTheFirstByteOfTheTensor) {
  EXPECT_EQ(SpanOf(*Box::Make(Dims{1, 0}, Dims{2, 5}), Dims{3, 5}, DType::kFloat32),
            (ByteSpan{20, 60}));
  EXPECT_EQ(SpanOf(*Box::Make(Dims{2, 1}, Dims{1, 2}), Dims{3, 5}, DType::kUint8),
            (ByteSpan{11, 13}));
  EXPECT_EQ(SpanOf(Box(), Dims{}, DType::kComplex64), (ByteSpan{0, 8}));
  EXPECT_EQ(SpanOf(*Box::Make(Dims{4}, Dims{8}), Dims{16}, DType::kFloat6E3m2fn), (ByteSpan{3, 9}));
}

TEST(SpanOfTest, AnEmptyBoxHasNoBytes) {
  EXPECT_EQ(SpanOf(*Box::Make(Dims{1, 0}, Dims{0, 5}), Dims{3, 5}, DType::kFloat32).size(), 0u);
}

TEST(IsContiguousTest, AllOfTheInnerDimensionsAndSomeRowsOfOne) {
  const Dims shape{3, 4, 5};
  EXPECT_TRUE(IsContiguous(Box::Whole(shape), shape));
  EXPECT_TRUE(IsContiguous(*Box::Make(Dims{1, 0, 0}, Dims{2, 4, 5}), shape));
  EXPECT_TRUE(IsContiguous(*Box::Make(Dims{1, 1, 0}, Dims{1, 2, 5}), shape));
  EXPECT_TRUE(IsContiguous(*Box::Make(Dims{1, 1, 2}, Dims{1, 1, 2}), shape));
  EXPECT_TRUE(IsContiguous(*Box::Make(Dims{1, 1, 2}, Dims{2, 0, 2}), shape));
  EXPECT_TRUE(IsContiguous(Box(), Dims{}));
  EXPECT_FALSE(IsContiguous(*Box::Make(Dims{1, 0, 0}, Dims{2, 3, 5}), shape));
  EXPECT_FALSE(IsContiguous(*Box::Make(Dims{1, 1, 0}, Dims{1, 2, 4}), shape));
}

// A box is contiguous when the numbers of its elements in C order are.
bool ElementsFollowOneAnother(const Box& box, DimsView shape) {
  const CellRange all = *CellRange::Of(box, Dims(box.rank(), 1));
  for (int64_t i = 1; i < all.size(); ++i) {
    if (CellNumber(all.at(i), shape) != CellNumber(all.at(i - 1), shape) + 1) return false;
  }
  return true;
}

Dims AnyShape(int64_t least) {
  const auto sizes = *rc::gen::container<std::vector<int64_t>>(*rc::gen::inRange(0, 5),
                                                               rc::gen::inRange<int64_t>(least, 7));
  return Dims(sizes.begin(), sizes.end());
}

RC_GTEST_PROP(BlocksProperty, ContiguousMeansThatElementsFollowOneAnother, ()) {
  const Dims shape = AnyShape(1);
  Dims origin(shape.size());
  Dims size(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    origin[d] = *rc::gen::inRange<int64_t>(0, shape[d]);
    size[d] = *rc::gen::inRange<int64_t>(1, shape[d] - origin[d] + 1);
  }
  const Box box = *Box::Make(origin, size);
  RC_ASSERT(IsContiguous(box, shape) == ElementsFollowOneAnother(box, shape));
}

RC_GTEST_PROP(BlocksProperty, BlocksInOrderAreTheBytesOfTheTensorInOrder, ()) {
  const Dims shape = AnyShape(0);
  const DType dtype = *rc::gen::element(DType::kFloat4E2m1fn, DType::kFloat6E2m3fn, DType::kUint8,
                                        DType::kInt16, DType::kComplex64);
  const auto bytes = StoredBytes(dtype, shape);
  RC_PRE(bytes.ok());
  const uint64_t most = *rc::gen::inRange<uint64_t>(0, 200);
  const Dims block = BlockShape(shape, dtype, most);
  const CellRange cells = *CellRange::Of(Box::Whole(shape), block);
  uint64_t end = 0;
  for (int64_t i = 0; i < cells.size(); ++i) {
    const Box box = CellBox(cells.at(i), block, shape);
    RC_ASSERT(IsContiguous(box, shape));
    const ByteSpan span = SpanOf(box, shape, dtype);
    RC_ASSERT(span.begin == end);
    RC_ASSERT(span.size() * 8 == static_cast<uint64_t>(*box.num_elements() * InfoOf(dtype).bits));
    if (InfoOf(dtype).bits >= 8) {
      RC_ASSERT(span.size() <= std::max<uint64_t>(most, DTypeBytes(dtype)));
    }
    end = span.end;
  }
  RC_ASSERT(end == *bytes);
}

}  // namespace
}  // namespace tessera::safetensors
