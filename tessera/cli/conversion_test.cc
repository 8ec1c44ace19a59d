#include "tessera/cli/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::cli {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ParseRenameTest, SplitsAtTheFirstArrow) {
  EXPECT_THAT(ParseRename("^a\\.=>b."), IsOkAndHolds(convert::RenameRule{"^a\\.", "b."}));
  EXPECT_THAT(ParseRename("a=>"), IsOkAndHolds(convert::RenameRule{"a", ""}));
  EXPECT_THAT(ParseRename("a=>b=>c"), IsOkAndHolds(convert::RenameRule{"a", "b=>c"}));
  for (const char* text : {"a", "a=b", "=>b", ""}) {
    EXPECT_THAT(ParseRename(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 'RE=>TEXT'")));
  }
}

TEST(ParseTransposeTest, TakesAPermutationAtTheEnd) {
  EXPECT_THAT(ParseTranspose("kernel$"), IsOkAndHolds(convert::TransposeRule{"kernel$"}));
  EXPECT_THAT(ParseTranspose("kernel$=1,0,2"),
              IsOkAndHolds(convert::TransposeRule{"kernel$", Dims{1, 0, 2}}));
  EXPECT_THAT(ParseTranspose("(?=kernel)"), IsOkAndHolds(convert::TransposeRule{"(?=kernel)"}));
  EXPECT_THAT(ParseTranspose(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected RE")));
}

TEST(ParseMetadataItemTest, SplitsAtTheFirstEqual) {
  EXPECT_THAT(ParseMetadataItem("format=pt"), IsOkAndHolds(Pair("format", "pt")));
  EXPECT_THAT(ParseMetadataItem("a=b=c"), IsOkAndHolds(Pair("a", "b=c")));
  EXPECT_THAT(ParseMetadataItem("format"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected KEY=VALUE")));
}

}  // namespace
}  // namespace tessera::cli
