#include "tessera/mesh/pattern_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::LogCapture;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<PartitionSpec> SpecOf(std::string_view text, std::string_view name,
                                     PatternSpecOptions options = {}) {
  TESSERA_ASSIGN_OR_RETURN(const auto spec_of, CreatePatternBasedPartitionSpec(text, options));
  return spec_of(name);
}

TEST(PatternSpecTest, TheFirstPatternFoundWins) {
  constexpr std::string_view kText = "attention|mlp->data,hidden->model";
  EXPECT_THAT(SpecOf(kText, "x/attention/q"), IsOkAndHolds(PartitionSpec{"data"}));
  EXPECT_THAT(SpecOf(kText, "mlp/hidden"), IsOkAndHolds(PartitionSpec{"data"}));
  EXPECT_THAT(SpecOf(kText, "hidden_state"), IsOkAndHolds(PartitionSpec{"model"}));
  EXPECT_THAT(SpecOf(kText, "other"), IsOkAndHolds(PartitionSpec()));
  EXPECT_THAT(SpecOf(kText, "other", {.default_spec = {"dp"}}), IsOkAndHolds(PartitionSpec{"dp"}));
}

TEST(PatternSpecTest, AxesAreOnePerDimension) {
  EXPECT_THAT(SpecOf("w$->dp.tp", "w"), IsOkAndHolds(PartitionSpec{"dp", "tp"}));
  EXPECT_THAT(SpecOf("w$->dp.tp", "wb"), IsOkAndHolds(PartitionSpec()));
  EXPECT_THAT(SpecOf("c->dp.None", "c"), IsOkAndHolds(PartitionSpec{"dp", nullptr}));
  EXPECT_THAT(SpecOf("c->null.*.tp", "c"), IsOkAndHolds(PartitionSpec{nullptr, nullptr, "tp"}));
  EXPECT_THAT(SpecOf("c->fsdp+sp.tp", "c"), IsOkAndHolds(PartitionSpec{{"fsdp", "sp"}, "tp"}));
  EXPECT_THAT(SpecOf("c->", "c"), IsOkAndHolds(PartitionSpec{nullptr}));
}

TEST(PatternSpecTest, BlanksAroundThePartsDoNotCount) {
  EXPECT_THAT(SpecOf("a->dp, b->tp", "b"), IsOkAndHolds(PartitionSpec{"tp"}));
  EXPECT_THAT(SpecOf(" a | b -> dp . tp ", "b"), IsOkAndHolds(PartitionSpec{"dp", "tp"}));
}

TEST(PatternSpecTest, EscapedSeparatorsBelongToThePattern) {
  EXPECT_THAT(SpecOf(R"(^a{2\,3}$->dp)", "aaa"), IsOkAndHolds(PartitionSpec{"dp"}));
  EXPECT_THAT(SpecOf(R"(^(a\|b)$->dp)", "b"), IsOkAndHolds(PartitionSpec{"dp"}));
  EXPECT_THAT(SpecOf(R"(^\d+$->dp)", "12"), IsOkAndHolds(PartitionSpec{"dp"}));
}

TEST(PatternSpecTest, EmptyTextIsAlwaysTheDefault) {
  EXPECT_THAT(SpecOf("", "a"), IsOkAndHolds(PartitionSpec()));
}

TEST(PatternSpecTest, APieceWithoutAnArrowIsPassedOverWithAWarning) {
  LogCapture log;
  EXPECT_THAT(SpecOf("a{1,2}->dp", "2}"), IsOkAndHolds(PartitionSpec{"dp"}));
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_THAT(log.lines()[0].second, HasSubstr("'a{1' has no '->'"));
}

TEST(PatternSpecTest, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(SpecOf("a", "a"), StatusIs(kInvalid, HasSubstr("found no '->'")));
  EXPECT_THAT(SpecOf("a->b->c", "a"), StatusIs(kInvalid, HasSubstr("'a->b->c' has two '->'")));
  EXPECT_THAT(SpecOf("[->dp", "a"), StatusIs(kInvalid, HasSubstr("pattern spec '[->dp'")));
  EXPECT_THAT(SpecOf("a->xx", "a", {.mesh = *Mesh::MakeHost({{"dp", 2}})}),
              StatusIs(kInvalid, HasSubstr("the mesh has no axis 'xx'")));
}

}  // namespace
}  // namespace tessera::mesh
