#include "tessera/inspect/values.h"

#include <complex>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/inspect/testing/opened.h"
#include "tessera/inspect/values_text.h"

namespace tessera::inspect {
namespace {

using ::tessera::inspect::testing::BytesOf;
using ::tessera::inspect::testing::Opened;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<int32_t> Iota(int64_t count) { return array::testing::Iota(count); }

std::vector<int32_t> IntsOf(const Values& values) {
  std::vector<int32_t> ints(values.bytes().size() / 4);
  if (!ints.empty()) std::memcpy(ints.data(), values.bytes().data(), values.bytes().size());
  return ints;
}

// Values that are all there.
template <typename T>
Values Made(DType dtype, Dims shape, const std::vector<T>& elements) {
  std::shared_ptr<std::byte> memory(new std::byte[elements.size() * sizeof(T) + 1],
                                    std::default_delete<std::byte[]>());
  for (size_t i = 0; i < elements.size(); ++i) {
    const T element = elements[i];
    std::memcpy(memory.get() + i * sizeof(T), &element, sizeof(T));
  }
  if (elements.empty()) memory = nullptr;
  return {dtype, shape, shape, memory};
}

std::string JsonOf(const Values& values) {
  std::string json;
  WriteValuesJson(values, [&](std::string_view text) { json += text; });
  return json;
}

RC_GTEST_PROP(ReadValuesTest, ReadsWhatANaiveLoopPicks, ()) {
  const Dims shape = {*rc::gen::inRange(1, 8), *rc::gen::inRange(1, 8)};
  const Dims chunks = {*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 5)};
  Opened opened({{"a", {shape, DType::kInt32}, chunks, BytesOf(Iota(shape[0] * shape[1]))}},
                {.in_flight = 2});
  std::string text;
  for (int d = 0; d < 2; ++d) {
    const auto number = rc::gen::inRange(-9, 10);
    const std::string step = std::to_string(*rc::gen::element(-3, -1, 1, 2, 5));
    text +=
        (d == 0 ? "" : ",") + std::to_string(*number) + ":" + std::to_string(*number) + ":" + step;
  }
  const auto selection = ParseSlice(text, shape);
  RC_ASSERT(selection.ok());
  std::vector<int32_t> expected;
  for (int64_t i = 0; i < selection->dimensions[0].count; ++i) {
    for (int64_t j = 0; j < selection->dimensions[1].count; ++j) {
      expected.push_back(static_cast<int32_t>(selection->dimensions[0].at(i) * shape[1] +
                                              selection->dimensions[1].at(j)));
    }
  }
  const auto values = ReadValues(opened.checkpoint(), opened.array(), *selection, opened.io());
  RC_ASSERT(values.ok());
  RC_ASSERT(IntsOf(*values) == expected);
  RC_ASSERT(values->shape == selection->shape());
}

TEST(ReadValuesTest, ReadsOnlyTheChunksThatItNeeds) {
  Opened opened({{"a", {{12}, DType::kInt32}, {2}, BytesOf(Iota(12))}});
  for (const char* chunk : {"a/1", "a/2", "a/4", "a/5"}) {
    ASSERT_THAT(opened.store().Write(chunk, Bytes::CopyOf("short").span()),
                ::tessera::testing::IsOk());
  }
  const auto some =
      ReadValues(opened.checkpoint(), opened.array(), *ParseSlice(":8:7", Dims{12}), opened.io());
  ASSERT_THAT(some, ::tessera::testing::IsOk());
  EXPECT_EQ(IntsOf(*some), (std::vector<int32_t>{0, 7}));
  EXPECT_THAT(
      ReadValues(opened.checkpoint(), opened.array(), *ParseSlice("2:4", Dims{12}), opened.io()),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a/1")));
}

TEST(ReadValuesTest, RefusesMoreThanTheBudget) {
  Opened opened({{"a", {{1 << 20}, DType::kInt32}, {1 << 10}, BytesOf(Iota(1 << 20))}},
                {.budget_bytes = 1 << 20});
  EXPECT_THAT(
      ReadValues(opened.checkpoint(), opened.array(), SelectAll(Dims{1 << 20}), opened.io()),
      StatusIs(absl::StatusCode::kResourceExhausted,
               "a: the values take 4194304 bytes, more than the budget of 1048576; take a smaller "
               "slice"));
}

TEST(ReadEdgesTest, ReadsTheCornersOfALargeArray) {
  Opened opened({{"a", {{40, 30}, DType::kInt32}, {7, 30}, BytesOf(Iota(1200))}});
  const auto values =
      ReadEdges(opened.checkpoint(), opened.array(), SelectAll(Dims{40, 30}), opened.io());
  ASSERT_THAT(values, ::tessera::testing::IsOk());
  EXPECT_EQ(values->held, (Dims{6, 6}));
  EXPECT_EQ(ValuesText(*values),
            "[[   0    1    2 ...   27   28   29]\n"
            " [  30   31   32 ...   57   58   59]\n"
            " [  60   61   62 ...   87   88   89]\n"
            " ...\n"
            " [1110 1111 1112 ... 1137 1138 1139]\n"
            " [1140 1141 1142 ... 1167 1168 1169]\n"
            " [1170 1171 1172 ... 1197 1198 1199]]");
}

TEST(ReadEdgesTest, ReadsAllOfASmallArray) {
  Opened opened({{"a", {{10, 100}, DType::kInt32}, {7, 30}, BytesOf(Iota(1000))}});
  const auto values =
      ReadEdges(opened.checkpoint(), opened.array(), SelectAll(Dims{10, 100}), opened.io());
  ASSERT_THAT(values, ::tessera::testing::IsOk());
  EXPECT_EQ(values->held, (Dims{10, 100}));
}

// The expected texts are what NumPy 2.4 prints with floatmode='unique'.
TEST(ValuesTextTest, LinesUpFloats) {
  EXPECT_EQ(ValuesText(Made<float>(DType::kFloat32, {2, 3}, {1, 0.1F, -12.25F, 0, 3.5F, 100})),
            "[[  1.     0.1  -12.25]\n [  0.     3.5  100.  ]]");
  EXPECT_EQ(ValuesText(Made<float>(DType::kFloat32, {3}, {1e-7F, 1, -2.5F})),
            "[ 1.0e-07  1.0e+00 -2.5e+00]");
  EXPECT_EQ(ValuesText(Made<float>(DType::kFloat32, {4}, {NAN, -INFINITY, 1, 0.5F})),
            "[ nan -inf  1.   0.5]");
  EXPECT_EQ(ValuesText(Made<double>(DType::kFloat64, {2}, {0.1, 1e300})), "[1.e-001 1.e+300]");
  EXPECT_EQ(ValuesText(Made<float>(DType::kFloat32, {}, {1})), "1.");
}

TEST(ValuesTextTest, WritesTheDigitsOfNarrowFloats) {
  EXPECT_EQ(ValuesText(Made<uint16_t>(DType::kBfloat16, {2}, {0x3DCD, 0x3F80})), "[0.1 1. ]");
  EXPECT_EQ(ValuesText(Made<uint16_t>(DType::kFloat16, {2}, {0x2E66, 0x7BFF})),
            "[1.00e-01 6.55e+04]");
  EXPECT_EQ(ValuesText(Made<uint8_t>(DType::kFloat8E4m3fn, {2}, {0x1D, 0x7F})), "[0.1 nan]");
}

TEST(ValuesTextTest, LinesUpOtherElements) {
  EXPECT_EQ(ValuesText(Made<uint8_t>(DType::kBool, {2}, {1, 0})), "[ True False]");
  EXPECT_EQ(ValuesText(Made<uint8_t>(DType::kBool, {}, {1})), "True");
  EXPECT_EQ(ValuesText(Made<uint8_t>(DType::kInt4, {3}, {0x0F, 0x07, 0x08})), "[-1  7 -8]");
  EXPECT_EQ(ValuesText(Made<uint64_t>(DType::kUint64, {1}, {~uint64_t{0}})),
            "[18446744073709551615]");
  EXPECT_EQ(ValuesText(Made<std::complex<float>>(DType::kComplex64, {2}, {{1, -2.5F}, {0, 10}})),
            "[1. -2.5j 0.+10.j ]");
}

TEST(ValuesTextTest, BreaksLinesAndNests) {
  EXPECT_EQ(ValuesText(Made<int32_t>(DType::kInt32, {2, 2, 2}, Iota(8))),
            "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
  EXPECT_EQ(ValuesText(Made<int32_t>(DType::kInt32, {9}, Iota(9)), 10), "[0 1 2 3\n 4 5 6 7\n 8]");
  EXPECT_EQ(ValuesText(Made<int32_t>(DType::kInt32, {0, 3}, {})), "[]");
}

TEST(WriteValuesJsonTest, NestsListsAndSaysWhatJsonCannot) {
  EXPECT_EQ(JsonOf(Made<float>(DType::kFloat32, {2, 2}, {0.1F, NAN, -INFINITY, INFINITY})),
            R"([[0.1,"NaN"],["-Infinity","Infinity"]])");
  EXPECT_EQ(JsonOf(Made<std::complex<double>>(DType::kComplex128, {1}, {{1, -0.5}})),
            "[[1.0,-0.5]]");
  EXPECT_EQ(JsonOf(Made<uint8_t>(DType::kBool, {2}, {0, 1})), "[false,true]");
  EXPECT_EQ(JsonOf(Made<int64_t>(DType::kInt64, {}, {std::numeric_limits<int64_t>::min()})),
            "-9223372036854775808");
  EXPECT_EQ(JsonOf(Made<int32_t>(DType::kInt32, {2, 0}, {})), "[[],[]]");
}

TEST(WriteValuesJsonTest, HandsOnLongTextsInPieces) {
  size_t pieces = 0;
  WriteValuesJson(Made<int32_t>(DType::kInt32, {100, 1000}, Iota(100000)),
                  [&](std::string_view) { ++pieces; });
  EXPECT_GT(pieces, 5U);
}

}  // namespace
}  // namespace tessera::inspect
