#include "tessera/convert/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/convert/testing/folders.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/ledger/index_file.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::convert {
namespace {

using ::tessera::convert::testing::ZarrFolder;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class PlanConvertTest : public ::testing::Test {
 protected:
  std::string Path(std::string_view name) const { return (folder_.path() / name).string(); }

  // The arrays of two layers.
  std::string Layers() {
    ZarrFolder source(Path("layers"));
    source.Add({"layers/0/kernel", {{8, 4}, DType::kFloat32}, {4, 4}})
        .Add({"layers/1/kernel", {{8, 4}, DType::kBfloat16}, {4, 4}})
        .Add({"layers/1/scale", {{8}, DType::kInt32}, {4}});
    return source.path();
  }

  // An index that lists arrays of prefixes.
  std::string Prefixed(const std::vector<std::pair<std::string, std::string>>& prefix_and_path) {
    ZarrFolder source(Path("prefixed"), zarr::Format::kV2);
    std::map<std::string, ledger::IndexChange> changes;
    for (const auto& [prefix, path] : prefix_and_path) {
      const std::string whole = prefix.empty() ? path : prefix + "/" + path;
      source.Add({whole, {{4}, DType::kInt32}, {4}});
      changes[prefix].prefix = prefix;
      changes[prefix].arrays.push_back({whole, {4}, "int32"});
    }
    std::optional<std::string> text;
    for (const auto& [prefix, change] : changes) text = *ledger::ApplyIndexChange(text, change);
    EXPECT_THAT(source.store().Write(ledger::kIndexName, std::as_bytes(std::span(*text))), IsOk());
    return source.path();
  }

  absl::StatusOr<ConvertPlan> Plan(const std::string& location, const ConvertRequest& request,
                                   const PlanFacts& facts = {}) {
    TESSERA_ASSIGN_OR_RETURN(const ConvertSource source,
                             OpenSource(location, request.source_prefix, io_));
    return PlanConvert(source, request, facts);
  }

  // Prefix and key of every array.
  static std::vector<std::pair<std::string, std::string>> KeysOf(const ConvertPlan& plan) {
    std::vector<std::pair<std::string, std::string>> keys;
    for (const ConvertArray& array : plan.arrays) keys.emplace_back(array.prefix, array.new_key);
    return keys;
  }

  store::testing::TemporaryFolder folder_;
  IoContext io_{{.in_flight = 2}};
};

ConvertRequest ToFormat(TargetFormat format) { return {.target = {.format = format}}; }

TEST_F(PlanConvertTest, NamesPlacesAndUnits) {
  ConvertRequest request = ToFormat(TargetFormat::kZarr2);
  request.float_dtype = DType::kFloat32;
  request.transposes = {{"0.*kernel"}};
  request.renames = {{"layers\\.(\\d+)\\.", "h\\1."}, {"kernel$", "weight"}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertPlan plan, Plan(Layers(), request));
  ASSERT_EQ(plan.arrays.size(), 3u);
  EXPECT_EQ(plan.nbytes, 128 + 128 + 32);
  const ConvertArray& first = plan.arrays[0];
  EXPECT_EQ(first.source_key, "layers.0.kernel");
  EXPECT_EQ(first.new_key, "h0.weight");
  EXPECT_EQ(first.target, (ShapeDtype{{4, 8}, DType::kFloat32}));
  EXPECT_EQ(first.permutation, (Dims{1, 0}));
  EXPECT_EQ(first.place.record.path, "h0/weight");
  EXPECT_EQ(first.unit, (UnitChoice{{4, 8}, UnitKind::kWhole, 1, 128, 1}));
  EXPECT_EQ(first.SourceBox(*Box::Make(Dims{1, 2}, Dims{3, 4})),
            *Box::Make(Dims{2, 1}, Dims{4, 3}));
  // bfloat16 and what it becomes are both in memory.
  EXPECT_EQ(plan.arrays[1].unit.bytes, 32 * 6);
  EXPECT_EQ(plan.arrays[2].target.dtype, DType::kInt32);
  EXPECT_THAT(plan.Text(),
              HasSubstr("layers.0.kernel -> h0.weight float32[8,4] -> float32[4,8] transposed "
                        "[1,0] at h0/weight cells [4,8]; 1 units [4,8] (whole, 128 bytes)\n"));
  EXPECT_EQ(ToJson(plan)["arrays"][1]["new_dtype"], "float32");
}

TEST_F(PlanConvertTest, PutsTensorsIntoFilesOfALimitedSize) {
  ConvertRequest request = ToFormat(TargetFormat::kSafetensors);
  request.target.shard_bytes = 150;
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertPlan plan, Plan(Layers(), request));
  ASSERT_EQ(plan.set->files.size(), 2u);
  EXPECT_EQ(plan.set->name, "model.safetensors.index.json");
  EXPECT_EQ(plan.arrays[0].place.file, 0u);
  EXPECT_EQ(plan.arrays[2].place.file, 1u);
  EXPECT_THAT(plan.Text(), HasSubstr("at model-00001-of-00002.safetensors@"));
}

TEST_F(PlanConvertTest, TakesSelectedArraysOnly) {
  ConvertRequest request = ToFormat(TargetFormat::kZarr3);
  request.match = "1\\..*kernel";
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertPlan plan, Plan(Layers(), request));
  EXPECT_THAT(KeysOf(plan), ElementsAre(Pair("", "layers.1.kernel")));
  request.match = "nothing";
  EXPECT_THAT(Plan(Layers(), request), StatusIs(absl::StatusCode::kNotFound,
                                                HasSubstr("no array of the source is selected")));
}

TEST_F(PlanConvertTest, ListsEveryArrayThatCannotBeTransposed) {
  ConvertRequest request = ToFormat(TargetFormat::kZarr2);
  request.transposes = {{"scale"}, {"kernel", Dims{2, 0, 1}}};
  EXPECT_THAT(
      Plan(Layers(), request),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("layers.0.kernel: it has 2 dimensions, and the order [2,0,1] has 3"),
                     HasSubstr("layers.1.kernel: it has 2 dimensions"),
                     HasSubstr("layers.1.scale: it has 1 dimensions, expected two or more"))));
  request.transposes = {{"kernel", Dims{0, 2}}};
  EXPECT_THAT(Plan(Layers(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("transpose: [0,2] is no order of the dimensions 0 to 1")));
}

TEST_F(PlanConvertTest, ListsEveryKeyThatSeveralArraysWouldGet) {
  ConvertRequest request = ToFormat(TargetFormat::kSafetensors);
  request.renames = {{"layers\\.\\d+", "h"}};
  EXPECT_THAT(Plan(Layers(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("several arrays would get one key: h.kernel (from layers.0.kernel "
                                 "and layers.1.kernel)")));
  request = ToFormat(TargetFormat::kZarr2);
  request.renames = {{"^layers\\.1\\.scale$", "layers.0.kernel.scale"}};
  EXPECT_THAT(Plan(Layers(), request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("layers.0.kernel")));
}

TEST_F(PlanConvertTest, ListsEveryNewKeyWithAnEmptyPart) {
  ConvertRequest request = ToFormat(TargetFormat::kZarr2);
  request.renames = {{"kernel$", ""}, {"\\.scale", "..scale"}};
  EXPECT_THAT(Plan(Layers(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("layers.0.kernel: 'layers.0.' has an empty part"),
                             HasSubstr("layers.1.scale: 'layers.1..scale' has an empty part"))));
}

TEST_F(PlanConvertTest, ListsEveryArrayWhoseDTypeTheFormatLacks) {
  ZarrFolder source(Path("odd"));
  source.Add({"a", {{4}, DType::kComplex128}, {4}})
      .Add({"b", {{4}, DType::kInt4}, {4}})
      .Add({"c", {{4}, DType::kInt8}, {4}});
  EXPECT_THAT(Plan(source.path(), ToFormat(TargetFormat::kSafetensors)),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("safetensors has no such dtype"), HasSubstr("a: complex128"),
                             HasSubstr("b: int4"), Not(HasSubstr("c: int8")))));
}

TEST_F(PlanConvertTest, ListsEveryArrayThatIsNoWholeBytesInAFile) {
  ZarrFolder source(Path("packed"));
  source.Add({"a", {{3}, DType::kFloat4E2m1fn}, {3}})
      .Add({"b", {{}, DType::kFloat4E2m1fn}, {}})
      .Add({"c", {{4}, DType::kFloat4E2m1fn}, {4}});
  EXPECT_THAT(Plan(source.path(), ToFormat(TargetFormat::kSafetensors)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a: "), HasSubstr("b: "), Not(HasSubstr("c: ")))));
}

TEST_F(PlanConvertTest, RefusesAPartOfAKeyThatIsNoNameOfAFolder) {
  ConvertRequest request = ToFormat(TargetFormat::kZarr2);
  request.renames = {{"layers\\.0", "a/b"}};
  EXPECT_THAT(Plan(Layers(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("layers.0.kernel: 'a/b' cannot be the name of a folder")));
  request.target.format = TargetFormat::kTensorstore;
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertPlan plan, Plan(Layers(), request));
  EXPECT_EQ(plan.arrays[0].place.record.path, "a%2Fb/kernel");
}

TEST_F(PlanConvertTest, NamesTheOptionOfAWrongPattern) {
  ConvertRequest request = ToFormat(TargetFormat::kZarr2);
  request.match = "(";
  EXPECT_THAT(Plan(Layers(), request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("match: pattern '('")));
  request.match = {};
  request.renames = {{"a", "\\1"}};
  EXPECT_THAT(Plan(Layers(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("rename: replacement '\\1': invalid group reference 1")));
}

TEST_F(PlanConvertTest, KeepsPrefixesOrPutsThemBeforeTheKeys) {
  const std::string source = Prefixed({{"model", "a"}, {"tx", "a"}});
  TESSERA_ASSERT_OK_AND_ASSIGN(ConvertPlan plan,
                               Plan(source, ToFormat(TargetFormat::kTensorstore)));
  EXPECT_THAT(KeysOf(plan), ElementsAre(Pair("model", "a"), Pair("tx", "a")));
  EXPECT_EQ(plan.arrays[0].place.record.path, "model/a");
  TESSERA_ASSERT_OK_AND_ASSIGN(plan, Plan(source, ToFormat(TargetFormat::kSafetensors)));
  EXPECT_THAT(KeysOf(plan), ElementsAre(Pair("", "model.a"), Pair("", "tx.a")));
  ConvertRequest request = ToFormat(TargetFormat::kTensorstore);
  request.target.prefix = "all";
  TESSERA_ASSERT_OK_AND_ASSIGN(plan, Plan(source, request));
  EXPECT_THAT(KeysOf(plan), ElementsAre(Pair("all", "model.a"), Pair("all", "tx.a")));
  EXPECT_EQ(plan.arrays[1].place.record.path, "all/tx/a");
  request.source_prefix = "tx";
  TESSERA_ASSERT_OK_AND_ASSIGN(plan, Plan(source, request));
  EXPECT_THAT(KeysOf(plan), ElementsAre(Pair("all", "a")));
}

TEST_F(PlanConvertTest, ShowsOneOnlyPrefixInNoKey) {
  const std::string source = Prefixed({{"model", "a"}, {"model", "b"}});
  TESSERA_ASSERT_OK_AND_ASSIGN(ConvertPlan plan, Plan(source, ToFormat(TargetFormat::kZarr2)));
  EXPECT_THAT(KeysOf(plan), ElementsAre(Pair("", "a"), Pair("", "b")));
  TESSERA_ASSERT_OK_AND_ASSIGN(plan, Plan(source, ToFormat(TargetFormat::kTensorstore)));
  EXPECT_THAT(KeysOf(plan), ElementsAre(Pair("model", "a"), Pair("model", "b")));
}

TEST_F(PlanConvertTest, RefusesARenameThatChangesAPrefixThatIsKept) {
  ConvertRequest request = ToFormat(TargetFormat::kTensorstore);
  request.renames = {{"^tx", "optimizer"}};
  EXPECT_THAT(Plan(Prefixed({{"model", "a"}, {"tx", "a"}}), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tx.a: 'optimizer.a' does not begin with the prefix 'tx'")));
}

TEST_F(PlanConvertTest, SharesUnitsEvenlyAmongRanks) {
  ZarrFolder source(Path("large"));
  source.Add({"a", {{1000, 100}, DType::kInt8}, {10, 100}})
      .Add({"b", {{100}, DType::kInt8}, {100}})
      .Add({"c", {{300, 100}, DType::kInt8}, {10, 100}});
  const PlanFacts facts{.budget_bytes = 2 << 20, .workers = 1, .ranks = 4};
  ConvertRequest request = ToFormat(TargetFormat::kZarr2);
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertPlan plan, Plan(source.path(), request, facts));
  int64_t sum = 0, most = 0;
  for (const int64_t bytes : plan.rank_bytes) sum += bytes, most = std::max(most, bytes);
  EXPECT_EQ(sum, plan.nbytes);
  for (const ConvertArray& array : plan.arrays) {
    int64_t next = 0;
    for (const UnitShare& share : array.shares) {
      EXPECT_EQ(share.begin, next);
      EXPECT_LT(share.begin, share.end);
      next = share.end;
    }
    EXPECT_EQ(next, array.unit.count);
  }
  // The plan is the same conversion whoever does it.
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ConvertPlan alone,
      Plan(source.path(), request, {.budget_bytes = 2 << 20, .workers = 1, .ranks = 1}));
  EXPECT_EQ(alone.Digest(), plan.Digest());
  request.float_dtype = DType::kFloat16;
  request.renames = {{"b", "d"}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertPlan other, Plan(source.path(), request, facts));
  EXPECT_NE(other.Digest(), plan.Digest());
}

TEST_F(PlanConvertTest, RefusesABudgetThatHoldsNotOneChunk) {
  EXPECT_THAT(Plan(Layers(), ToFormat(TargetFormat::kZarr2), {.budget_bytes = 1000}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("layers.0.kernel: ")));
  EXPECT_THAT(Plan(Layers(), ToFormat(TargetFormat::kZarr2), {.budget_bytes = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the budget is 0 bytes")));
}

}  // namespace
}  // namespace tessera::convert
