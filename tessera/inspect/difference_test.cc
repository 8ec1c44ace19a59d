#include "tessera/inspect/difference.h"

#include <complex>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/testing/stored_set.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/inspect/blocks.h"
#include "tessera/inspect/testing/opened.h"

namespace tessera::inspect {
namespace {

using ::tessera::inspect::testing::BytesOf;
using ::tessera::inspect::testing::Opened;
using ::tessera::inspect::testing::RandomElements;
using ::tessera::inspect::testing::TestArray;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using What = ChangedArray::What;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();

TestArray Floats(std::string path, Dims shape, Dims chunks, const std::vector<float>& values) {
  return {std::move(path), {std::move(shape), DType::kFloat32}, std::move(chunks), BytesOf(values)};
}

CheckpointDifference Diff(const Opened& a, Opened& b, const DiffOptions& options = {}) {
  auto found = DiffCheckpoints(a.checkpoint(), b.checkpoint(), options, b.io());
  EXPECT_THAT(found, IsOk());
  return found.ok() ? *std::move(found) : CheckpointDifference();
}

template <typename A, typename B>
Comparison Compare(DType dtype_a, const std::vector<A>& a, DType dtype_b, const std::vector<B>& b) {
  const auto bytes_a = BytesOf(a);
  const auto bytes_b = BytesOf(b);
  return CompareElements(dtype_a, bytes_a.data(), dtype_b, bytes_b.data(), a.size(), true);
}

TEST(DiffCheckpointsTest, FindsNothingBetweenOtherChunksAndOrders) {
  const auto values = RandomElements(DType::kInt16, 20 * 30, 1);
  Opened a({{"x", {{20, 30}, DType::kInt16}, {7, 11}, values},
            {"y", {{}, DType::kInt16}, {}, RandomElements(DType::kInt16, 1, 2)}});
  Opened b({{"y", {{}, DType::kInt16}, {}, RandomElements(DType::kInt16, 1, 2)},
            {"x", {{20, 30}, DType::kInt16}, {13, 5}, values}},
           {.budget_bytes = 1 << 13});
  for (const DiffLevel level : {DiffLevel::kStructure, DiffLevel::kElements, DiffLevel::kValues}) {
    const CheckpointDifference found = Diff(a, b, {.level = level});
    EXPECT_TRUE(found.same());
    EXPECT_EQ(found.same_arrays, 2);
  }
}

TEST(DiffCheckpointsTest, ListsKeysInNaturalOrder) {
  const TestArray other = Floats("c", {1}, {1}, {0});
  Opened a({Floats("a/10", {1}, {1}, {0}), Floats("a/2", {1}, {1}, {0}), other});
  Opened b({Floats("b", {1}, {1}, {0}), other});
  const CheckpointDifference found = Diff(a, b);
  EXPECT_THAT(found.only_a, ElementsAre("a.2", "a.10"));
  EXPECT_THAT(found.only_b, ElementsAre("b"));
  EXPECT_FALSE(found.same());
  EXPECT_EQ(found.same_arrays, 1);
}

TEST(DiffCheckpointsTest, TellsShapeFromDtypeFromValues) {
  Opened a({Floats("dtype", {2}, {2}, {1, 2}), Floats("shape", {2}, {2}, {1, 2}),
            Floats("values", {2, 2}, {1, 2}, {1, 2, 3, 4})});
  Opened b({{"dtype", {{2}, DType::kFloat64}, {2}, BytesOf(std::vector<double>{1, 2.5})},
            Floats("shape", {1, 2}, {1, 2}, {1, 2}),
            Floats("values", {2, 2}, {2, 1}, {1, 2, 4, 4})});
  const CheckpointDifference found = Diff(a, b);
  ASSERT_THAT(found.changed, SizeIs(3));
  EXPECT_EQ(found.changed[0].what, What::kDtype);
  EXPECT_EQ(found.changed[0].comparison, std::nullopt);
  EXPECT_EQ(found.changed[1].what, What::kShape);
  EXPECT_EQ(found.changed[1].b.shape, (Dims{1, 2}));
  EXPECT_EQ(found.changed[2].what, What::kValues);
  EXPECT_EQ(found.changed[2].comparison->different, 1);
  EXPECT_EQ(found.changed[2].first_different, (Dims{1, 0}));
  EXPECT_EQ(found.changed[2].comparison->distances, std::nullopt);
  const CheckpointDifference values = Diff(a, b, {.level = DiffLevel::kValues});
  EXPECT_EQ(values.changed[0].comparison->distances->max_abs, Number(0.5));
  EXPECT_EQ(values.changed[0].first_different, Dims{1});
  EXPECT_THAT(Diff(a, b, {.level = DiffLevel::kStructure}).changed, SizeIs(2));
}

TEST(DiffCheckpointsTest, FindsTheFirstInTheOrderOfTheArrayAndNotOfTheBlocks) {
  std::vector<float> values(64 * 64, 1);
  Opened a({Floats("x", {64, 64}, {64, 1}, values)});
  values[5 * 64 + 1] = 2;   // in the first columns
  values[3 * 64 + 60] = 2;  // earlier, in the last ones
  Opened b({Floats("x", {64, 64}, {64, 1}, values)}, {.budget_bytes = 1 << 14});
  const CheckpointDifference found = Diff(a, b);
  EXPECT_EQ(found.changed[0].first_different, (Dims{3, 60}));
  EXPECT_EQ(found.changed[0].comparison->different, 2);
}

TEST(DiffCheckpointsTest, RenamesTheKeysOfA) {
  Opened a({Floats("model/layers/0/w", {1}, {1}, {1}), Floats("model/layers/1/w", {1}, {1}, {2})});
  Opened b({Floats("blocks/0/w", {1}, {1}, {1}), Floats("blocks/1/w", {1}, {1}, {3})});
  const CheckpointDifference found =
      Diff(a, b, {.renames = {{"^model\\.", ""}, {"layers\\.(\\d+)", "blocks.\\1"}}});
  EXPECT_THAT(found.only_a, IsEmpty());
  ASSERT_THAT(found.changed, SizeIs(1));
  EXPECT_EQ(found.changed[0].key_a, "model.layers.1.w");
  EXPECT_EQ(found.changed[0].key_b, "blocks.1.w");
}

TEST(DiffCheckpointsTest, ComparesKeysThatMatchAlone) {
  Opened a({Floats("x", {1}, {1}, {1}), Floats("y", {1}, {1}, {1})});
  Opened b({Floats("z", {1}, {1}, {1}), Floats("y", {1}, {1}, {1})});
  EXPECT_TRUE(Diff(a, b, {.match = "^y$"}).same());
  EXPECT_TRUE(Diff(a, b, {.renames = {{"^x$", "z"}}, .match = "z"}).same());
}

TEST(DiffCheckpointsTest, RefusesRenamesThatCollide) {
  Opened a({Floats("x", {1}, {1}, {1}), Floats("y", {1}, {1}, {1})});
  EXPECT_THAT(
      DiffCheckpoints(a.checkpoint(), a.checkpoint(), {.renames = {{"[xy]", "z"}}}, a.io()),
      StatusIs(absl::StatusCode::kInvalidArgument, "the keys 'x' and 'y' are both renamed to 'z'"));
  EXPECT_THAT(DiffCheckpoints(a.checkpoint(), a.checkpoint(), {.renames = {{"(", "z"}}}, a.io()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rename: ")));
  EXPECT_THAT(DiffCheckpoints(a.checkpoint(), a.checkpoint(), {.match = "("}, a.io()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("match: ")));
}

TEST(DiffCheckpointsTest, ReadsNothingWhereManifestsAgree) {
  Opened a({Floats("x", {2}, {1}, {1, 2})}, {}, true);
  Opened b({Floats("x", {2}, {1}, {1, 2})}, {}, true);
  ASSERT_THAT(b.store().Write("x/1", Bytes::CopyOf("short").span()), IsOk());
  EXPECT_TRUE(Diff(a, b).same());
}

TEST(DiffCheckpointsTest, NamesTheSideThatIsDamaged) {
  Opened a({Floats("x", {2}, {1}, {1, 2})});
  Opened b({Floats("x", {2}, {1}, {1, 2})});
  ASSERT_THAT(b.store().Write("x/1", Bytes::CopyOf("short").span()), IsOk());
  EXPECT_THAT(
      DiffCheckpoints(a.checkpoint(), b.checkpoint(), {}, a.io()),
      StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("x of B: "), HasSubstr("x/1"))));
}

TEST(DiffCheckpointsTest, ComparesAcrossFormats) {
  checkpoint::testing::StoredSet set;
  set.Add("model.safetensors", "x", {4, 6}).WriteFiles();
  IoContext io;
  const auto a = checkpoint::Checkpoint::Open(set.store(), io);
  ASSERT_THAT(a, IsOk());
  Opened b({{"x", {{4, 6}, DType::kInt32}, {3, 2}, BytesOf(array::testing::Iota(24))}});
  const auto found = DiffCheckpoints(*a, b.checkpoint(), {}, io);
  ASSERT_THAT(found, IsOk());
  EXPECT_TRUE(found->same());
}

TEST(DiffCheckpointsTest, TellsHowFarItIs) {
  Opened a({Floats("x", {100}, {10}, std::vector<float>(100, 1)), Floats("y", {1}, {1}, {2})});
  DiffProgress last;
  Diff(a, a, {.on_progress = [&](const DiffProgress& now) { last = now; }});
  EXPECT_EQ(last.bytes_done, 808);
  EXPECT_EQ(last.bytes_total, 808);
  EXPECT_EQ(last.arrays_done, 2);
  EXPECT_EQ(last.arrays_total, 2);
}

TEST(CompareElementsTest, MeasuresFloats) {
  const Comparison found = Compare<float, float>(DType::kFloat32, {1, 2, 3}, DType::kFloat32,
                                                 {1, 2.5F, std::nextafter(3.0F, 4.0F)});
  EXPECT_EQ(found.different, 2);
  EXPECT_EQ(found.first_different, 1);
  EXPECT_EQ(found.distances->max_abs, Number(0.5));
  EXPECT_DOUBLE_EQ(found.distances->max_rel, 0.2);
  EXPECT_EQ(found.distances->max_ulp, 1U << 21);
  EXPECT_NEAR(*found.distances->Cosine(), 15 / std::sqrt(14 * 16.25), 1e-6);
}

TEST(CompareElementsTest, TakesNanForNanAndZeroForZero) {
  const Comparison found =
      Compare<float, float>(DType::kFloat32, {0, kFloatNan, 1, kFloatNan}, DType::kFloat32,
                            {-0.0F, -kFloatNan, kFloatNan, kFloatNan});
  EXPECT_EQ(found.different, 3);
  EXPECT_EQ(found.distances->same_number, 2);
  EXPECT_EQ(found.distances->nan_mismatches, 1);
  EXPECT_EQ(found.distances->max_abs, Number(0.0));
  EXPECT_EQ(found.distances->max_ulp, 0U);
  EXPECT_EQ(found.distances->Cosine(), std::nullopt);
}

TEST(CompareElementsTest, CallsInfinityFarFromNumbers) {
  const Comparison found = Compare<double, double>(DType::kFloat64, {kInfinity, kInfinity, 1},
                                                   DType::kFloat64, {kInfinity, 1, 1});
  EXPECT_EQ(found.different, 1);
  EXPECT_EQ(found.distances->max_abs, Number(kInfinity));
  EXPECT_EQ(found.distances->max_rel, kInfinity);
  EXPECT_EQ(found.distances->Cosine(), 1);
}

TEST(CompareElementsTest, CountsStepsAcrossZero) {
  EXPECT_EQ((Compare<double, double>(DType::kFloat64, {-5e-324}, DType::kFloat64, {5e-324})
                 .distances->max_ulp),
            2U);
  EXPECT_EQ((Compare<uint8_t, uint8_t>(DType::kFloat8E4m3fn, {0x81}, DType::kFloat8E4m3fn, {0x02})
                 .distances->max_ulp),
            3U);
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ((Compare<double, double>(DType::kFloat64, {-most}, DType::kFloat64, {most})
                 .distances->max_ulp),
            2 * uint64_t{0x7FEFFFFFFFFFFFFF});
}

TEST(CompareElementsTest, ComparesLargeIntegersExactly) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  const int64_t odd = (int64_t{1} << 53) + 1;
  EXPECT_EQ((Compare<int64_t, int64_t>(DType::kInt64, {odd}, DType::kInt64, {odd - 1})
                 .distances->max_abs),
            Number(uint64_t{1}));
  EXPECT_EQ((Compare<int64_t, uint64_t>(DType::kInt64, {odd, 0}, DType::kUint64,
                                        {static_cast<uint64_t>(odd), most})
                 .distances->max_abs),
            Number(most));
  EXPECT_EQ((Compare<int64_t, uint64_t>(DType::kInt64, {least}, DType::kUint64, {most})
                 .distances->max_abs),
            Number(27670116110564327423.0));
  const Comparison mixed =
      Compare<int64_t, double>(DType::kInt64, {odd}, DType::kFloat64, {static_cast<double>(odd)});
  EXPECT_EQ(mixed.different, 1);
  EXPECT_EQ(mixed.distances->max_abs, Number(1.0));
  EXPECT_EQ(mixed.distances->max_ulp, std::nullopt);
}

TEST(CompareElementsTest, ComparesTwoDtypesByTheirNumbers) {
  const Comparison found =
      Compare<uint16_t, float>(DType::kBfloat16, {0x3F80, 0x3DCD}, DType::kFloat32, {1, 0.1F});
  EXPECT_EQ(found.different, 1);
  EXPECT_EQ(found.first_different, 1);
  EXPECT_NEAR(AsDouble(found.distances->max_abs), 9.766e-5, 1e-7);
}

TEST(CompareElementsTest, ComparesComplexNumbersAndWithRealOnes) {
  using Complex = std::complex<float>;
  EXPECT_EQ((Compare<Complex, Complex>(DType::kComplex64, {{1, 1}}, DType::kComplex64, {{4, 5}})
                 .distances->max_abs),
            Number(5.0));
  EXPECT_EQ((Compare<Complex, int8_t>(DType::kComplex64, {{1, 0}, {2, 0}}, DType::kInt8, {1, 2})
                 .different),
            0);
}

TEST(CompareElementsTest, AppendsWhatFollows) {
  Comparison all = Compare<int32_t, int32_t>(DType::kInt32, {1, 2}, DType::kInt32, {1, 2});
  all.Append(Compare<int32_t, int32_t>(DType::kInt32, {1, 2}, DType::kInt32, {1, 7}));
  all.Append(Compare<int32_t, int32_t>(DType::kInt32, {1}, DType::kInt32, {2}));
  EXPECT_EQ(all.elements, 5);
  EXPECT_EQ(all.different, 2);
  EXPECT_EQ(all.first_different, 3);
  EXPECT_EQ(all.distances->max_abs, Number(5.0));
}

TEST(BlockShapeForTest, TakesWholeChunksInnerDimensionsFirst) {
  EXPECT_EQ(BlockShapeFor(Dims{100, 100}, Dims{10, 10}, Dims{5, 20}, 4000), (Dims{40, 100}));
  EXPECT_EQ(BlockShapeFor(Dims{100, 100}, Dims{10, 10}, Dims{5, 20}, 700), (Dims{10, 60}));
  EXPECT_EQ(BlockShapeFor(Dims{100, 100}, Dims{10, 10}, Dims{5, 20}, 50), (Dims{2, 20}));
  EXPECT_EQ(BlockShapeFor(Dims{100, 100}, Dims{10, 10}, Dims{5, 20}, 1), (Dims{1, 1}));
  EXPECT_EQ(BlockShapeFor(Dims{100, 100}, Dims{10, 10}, Dims{5, 20}, 1 << 20), (Dims{100, 100}));
  EXPECT_EQ(BlockShapeFor(Dims{}, Dims{}, Dims{}, 1), Dims{});
}

}  // namespace
}  // namespace tessera::inspect
