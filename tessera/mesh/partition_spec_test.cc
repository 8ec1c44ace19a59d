#include "tessera/mesh/partition_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;

TEST(PartitionSpecTest, LengthIsPartOfTheValue) {
  EXPECT_FALSE(PartitionSpec() == PartitionSpec({nullptr}));
  EXPECT_FALSE(PartitionSpec({nullptr}) == PartitionSpec({nullptr, nullptr}));
}

TEST(PartitionSpecTest, EntriesAreInNormalForm) {
  EXPECT_EQ(SpecEntry(""), SpecEntry());
  EXPECT_EQ(SpecEntry(std::vector<std::string>{}), SpecEntry());
  EXPECT_EQ(SpecEntry(std::vector<std::string>{"dp"}), SpecEntry("dp"));
  EXPECT_FALSE(SpecEntry({"dp", "tp"}) == SpecEntry({"tp", "dp"}));
  EXPECT_FALSE(SpecEntry::Unconstrained() == SpecEntry());
}

TEST(PartitionSpecTest, TextIsPythons) {
  EXPECT_EQ(PartitionSpec().Text(), "P()");
  EXPECT_EQ(PartitionSpec({"dp", nullptr, {"fsdp", "tp"}}).Text(), "P('dp', None, ('fsdp', 'tp'))");
  EXPECT_EQ(PartitionSpec({SpecEntry::Unconstrained()}).Text(), "P(UNCONSTRAINED)");
}

TEST(PartitionSpecTest, JsonKeepsEveryEntry) {
  const PartitionSpec spec{"dp", nullptr, {"fsdp", "tp"}, SpecEntry::Unconstrained()};
  EXPECT_EQ(ToJson(spec).dump(), R"(["dp",null,["fsdp","tp"],{"unconstrained":true}])");
  EXPECT_THAT(PartitionSpecFromJson(ToJson(spec), "spec"), IsOkAndHolds(spec));
  EXPECT_EQ(ToJson(PartitionSpec()).dump(), "[]");
}

TEST(PartitionSpecTest, JsonErrorsNameTheEntry) {
  EXPECT_THAT(PartitionSpecFromJson(Json::parse("{}"), "rules[0][1]"),
              StatusIs(kInvalid, "rules[0][1]: expected a list of spec entries, found object"));
  EXPECT_THAT(
      PartitionSpecFromJson(Json::parse(R"(["dp", 3])"), "spec"),
      StatusIs(kInvalid,
               "spec[1]: expected null, an axis name or a list of axis names, found number"));
  EXPECT_THAT(PartitionSpecFromJson(Json::parse(R"([["dp", ["tp"]]])"), "spec"),
              StatusIs(kInvalid, R"(spec[0]: expected a list of axis names, found ["dp",["tp"]])"));
}

}  // namespace
}  // namespace tessera::mesh
