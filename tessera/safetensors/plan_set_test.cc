#include "tessera/safetensors/plan_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/index_file.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Pair;

NewTensor Of(std::string name, Dims shape, DType dtype) {
  return {std::move(name), {std::move(shape), dtype}};
}

// The names of a file's tensors, as they lie.
std::vector<std::string> NamesOf(const PlannedFile& file) {
  std::vector<std::string> names;
  for (const Tensor& tensor : file.header.tensors) names.push_back(tensor.name);
  return names;
}

absl::Status ErrorOf(const std::vector<NewTensor>& tensors, const SetOptions& options = {}) {
  return PlanSet(tensors, options).status();
}

TEST(PlanSetTest, PlansTheWorkedFile) {
  SetOptions options;
  options.metadata = {{"format", "pt"}};
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const SetPlan plan, PlanSet({Of("m", {0, 3}, DType::kBool), Of("a", {}, DType::kBfloat16),
                                   Of("b", {2}, DType::kFloat32)},
                                  options));
  EXPECT_EQ(plan.name, "model.safetensors");
  EXPECT_EQ(plan.index_text, std::nullopt);
  EXPECT_EQ(plan.nbytes, 10);
  EXPECT_THAT(plan.places, ElementsAre(Pair(0, 2), Pair(0, 1), Pair(0, 0)));
  ASSERT_EQ(plan.files.size(), 1u);
  const PlannedFile& file = plan.files[0];
  EXPECT_EQ(file.name, "model.safetensors");
  EXPECT_EQ(file.size, 218u);
  EXPECT_EQ(file.data_begin(), 208u);
  EXPECT_EQ(file.header.tensors[1], (Tensor{"a", DType::kBfloat16, {}, 8, 10}));
  EXPECT_THAT(EncodeHeader(file.header), IsOkAndHolds(Eq(file.header_bytes)));
}

TEST(PlanSetTest, WideDTypesComeFirstAndThenNames) {
  std::vector<NewTensor> tensors;
  for (const DTypeInfo& info : AllDTypes()) {
    if (!info.safetensors.empty()) tensors.push_back(Of(std::string(info.name), {4}, info.dtype));
  }
  tensors.push_back(Of("a", {1}, DType::kBool));
  TESSERA_ASSERT_OK_AND_ASSIGN(const SetPlan plan, PlanSet(tensors, {}));
  EXPECT_THAT(
      NamesOf(plan.files[0]),
      ElementsAre("uint64", "int64", "float64", "complex64", "float32", "uint32", "int32",
                  "bfloat16", "float16", "uint16", "int16", "float8_e5m2fnuz", "float8_e4m3fnuz",
                  "float8_e8m0fnu", "float8_e4m3fn", "float8_e5m2", "int8", "uint8",
                  "float6_e3m2fn", "float6_e2m3fn", "float4_e2m1fn", "a", "bool"));
}

TEST(PlanSetTest, ShardsComeWithAnIndex) {
  SetOptions options;
  options.stem = "m";
  options.shard_bytes = 8;
  TESSERA_ASSERT_OK_AND_ASSIGN(const SetPlan plan,
                               PlanSet({Of("b", {2}, DType::kFloat32), Of("a", {3}, DType::kInt8),
                                        Of("c", {4}, DType::kUint8), Of("d", {9}, DType::kInt8)},
                                       options));
  EXPECT_EQ(plan.name, "m.safetensors.index.json");
  ASSERT_EQ(plan.files.size(), 3u);
  EXPECT_EQ(plan.files[1].name, "m-00002-of-00003.safetensors");
  EXPECT_THAT(NamesOf(plan.files[1]), ElementsAre("a", "c"));
  EXPECT_THAT(plan.places, ElementsAre(Pair(0, 0), Pair(1, 0), Pair(1, 1), Pair(2, 0)));
  EXPECT_EQ(plan.nbytes, 24);
  IndexFile index;
  index.total_size = 24;
  index.weight_map = {{"a", "m-00002-of-00003.safetensors"},
                      {"b", "m-00001-of-00003.safetensors"},
                      {"c", "m-00002-of-00003.safetensors"},
                      {"d", "m-00003-of-00003.safetensors"}};
  ASSERT_TRUE(plan.index_text.has_value());
  EXPECT_THAT(DecodeIndexFile(*plan.index_text), IsOkAndHolds(index));
}

TEST(PlanSetTest, KeepsParentsTogether) {
  SetOptions options;
  options.shard_bytes = 4;
  options.packing = Packing::kByParent;
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const SetPlan plan, PlanSet({Of("l.10.a", {2}, DType::kInt8), Of("l.2.a", {1}, DType::kInt8),
                                   Of("l.10.b", {2}, DType::kInt8), Of("l.2.b", {1}, DType::kInt8)},
                                  options));
  ASSERT_EQ(plan.files.size(), 2u);
  EXPECT_THAT(NamesOf(plan.files[0]), ElementsAre("l.2.a", "l.2.b"));
  EXPECT_THAT(NamesOf(plan.files[1]), ElementsAre("l.10.a", "l.10.b"));
}

TEST(PlanSetTest, WithoutTensorsThereIsOneFile) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const SetPlan alone, PlanSet({}, {}));
  ASSERT_EQ(alone.files.size(), 1u);
  EXPECT_EQ(alone.files[0].header_bytes, std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  SetOptions options;
  options.shard_bytes = 1;
  TESSERA_ASSERT_OK_AND_ASSIGN(const SetPlan sharded, PlanSet({}, options));
  ASSERT_EQ(sharded.files.size(), 1u);
  EXPECT_EQ(sharded.files[0].name, "model-00001-of-00001.safetensors");
  EXPECT_EQ(sharded.name, "model.safetensors.index.json");
}

TEST(PlanSetTest, SortsTheMetadataOfEveryFile) {
  SetOptions options;
  options.shard_bytes = 1;
  options.metadata = {{"z", "1"}, {"a", "2"}};
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const SetPlan plan,
      PlanSet({Of("a", {1}, DType::kInt8), Of("b", {1}, DType::kInt8)}, options));
  for (const PlannedFile& file : plan.files) {
    EXPECT_THAT(file.header.metadata, ElementsAre(Pair("a", "2"), Pair("z", "1")));
  }
}

TEST(PlanSetTest, AlignsTheData) {
  SetOptions options;
  options.alignment = 4096;
  TESSERA_ASSERT_OK_AND_ASSIGN(const SetPlan plan, PlanSet({Of("a", {3}, DType::kInt8)}, options));
  EXPECT_EQ(plan.files[0].data_begin(), 4096u);
  EXPECT_EQ(plan.files[0].size, 4099u);
}

TEST(PlanSetTest, NamesEveryDTypeWithoutACode) {
  EXPECT_THAT(ErrorOf({Of("a", {1}, DType::kInt4), Of("b", {1}, DType::kInt8),
                       Of("c", {1}, DType::kComplex128)}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       Eq("dtypes that safetensors cannot store: 'a' (int4), 'c' (complex128)")));
}

TEST(PlanSetTest, NamesEveryKeyThatCannotBe) {
  const auto bytes = DType::kInt8;
  EXPECT_THAT(ErrorOf({Of("a", {1}, bytes), Of("a", {1}, bytes), Of("__metadata__", {1}, bytes),
                       Of("a", {1}, bytes), Of("\xFF", {1}, bytes)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("names that no safetensors file can hold: 'a' (given twice), "
                          "'__metadata__' (reserved), '\\xff' (not UTF-8)")));
}

TEST(PlanSetTest, RefusesAStemThatIsNoName) {
  for (const std::string& stem : {std::string("a/b"), std::string("a\\b"), std::string(),
                                  std::string("a\0", 2), std::string("\xFF")}) {
    SetOptions options;
    options.stem = stem;
    EXPECT_THAT(ErrorOf({}, options),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::StartsWith("stem '")));
  }
}

TEST(PlanSetTest, RefusesSizesThatDoNotFit) {
  constexpr int64_t kHuge = int64_t{1} << 61;
  EXPECT_THAT(ErrorOf({Of("a", {kHuge, kHuge}, DType::kInt8)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("tensor 'a': shape: the bits of int8 of shape [2305843009213693952,"
                          "2305843009213693952] do not fit 63 bits")));
  EXPECT_THAT(ErrorOf({Of("a", {3}, DType::kFloat4E2m1fn)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("tensor 'a': shape: float4_e2m1fn of shape [3] has 12 bits, which are no "
                          "whole bytes")));
  std::vector<NewTensor> many;
  for (int i = 0; i < 9; ++i) many.push_back(Of(Concat(i), {(int64_t{1} << 60) - 1}, DType::kInt8));
  EXPECT_THAT(ErrorOf(many), StatusIs(absl::StatusCode::kInvalidArgument,
                                      Eq("the bytes of all tensors do not fit 63 bits")));
}

TEST(PlanSetTest, PassesOnTheErrorsOfPackingAndHeaders) {
  SetOptions options;
  options.shard_bytes = 0;
  EXPECT_THAT(ErrorOf({}, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("group_keys_by_shard_size: the largest shard size is 0; expected more "
                          "than 0")));
  options = {};
  options.metadata = {{"a", "1"}, {"a", "2"}};
  EXPECT_THAT(ErrorOf({}, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("model.safetensors: __metadata__: 'a': the name stands there twice")));
}

}  // namespace
}  // namespace tessera::safetensors
