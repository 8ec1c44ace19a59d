#include "tessera/core/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Dumped(std::string_view text) {
  const auto value = ParseYaml(text);
  return value.ok() ? value->dump() : value.status().ToString();
}

TEST(ParseYamlTest, BlockAndFlowAreOne) {
  constexpr std::string_view kRules = R"(# who goes where
- [".*/kernel$", [fsdp, tp]]
- - .*/embedding
  - [[fsdp, tp], null]
-
  - '.*'
  - []
)";
  EXPECT_EQ(Dumped(kRules),
            R"([[".*/kernel$",["fsdp","tp"]],[".*/embedding",[["fsdp","tp"],null]],[".*",[]]])");
  EXPECT_EQ(Dumped("a: {b: 1, c: [x, y]}\nd:\n  e: |\n    two\n    lines\n"),
            R"({"a":{"b":1,"c":["x","y"]},"d":{"e":"two\nlines\n"}})");
  EXPECT_EQ(Dumped("--- [1]\n...\n"), "[1]");
}

TEST(ParseYamlTest, TakesJson) {
  EXPECT_EQ(Dumped(R"([["a\u00e9\"b", [null, "tp", ["dp", "tp"]]], {"x": 1.5}])"),
            R"([["aé\"b",[null,"tp",["dp","tp"]]],{"x":1.5}])");
}

TEST(ParseYamlTest, PlainScalarsFollowTheCoreSchema) {
  EXPECT_EQ(Dumped("[null, Null, NULL, ~, ]"), "[null,null,null,null]");
  EXPECT_EQ(Dumped("a:\nb: x"), R"({"a":null,"b":"x"})");
  EXPECT_EQ(Dumped("[true, True, FALSE, yes, no, on, off, y, n]"),
            R"([true,true,false,"yes","no","on","off","y","n"])");
  EXPECT_EQ(Dumped("[0, -7, +8, 007, 0o17, 0xFF, 18446744073709551615, 1_000, 0o8, -0x1]"),
            R"([0,-7,8,7,15,255,18446744073709551615,"1_000","0o8","-0x1"])");
  EXPECT_EQ(Dumped("[1.5, -2., .5, 1e3, 1e, e1, ., +.5E-1, 1.2.3]"),
            R"([1.5,-2.0,0.5,1000.0,"1e","e1",".",0.05,"1.2.3"])");
  EXPECT_EQ(Dumped(R"(["1", '1', "null", 'true', ""])"), R"(["1","1","null","true",""])");
  EXPECT_EQ(ParseYaml("-.inf")->get<double>(), -INFINITY);
  EXPECT_EQ(ParseYaml(".Inf")->get<double>(), INFINITY);
  EXPECT_TRUE(std::isnan(ParseYaml(".nan")->get<double>()));
}

TEST(ParseYamlTest, NothingIsNull) {
  EXPECT_THAT(ParseYaml(""), IsOkAndHolds(Json(nullptr)));
  EXPECT_THAT(ParseYaml("# only a comment\n"), IsOkAndHolds(Json(nullptr)));
}

TEST(ParseYamlTest, TellsTheLinesOfItems) {
  std::vector<int64_t> lines;
  EXPECT_EQ(ParseYaml("# c\n- a\n\n- [b,\n   [c]]\n- - d\n", &lines)->size(), 3);
  EXPECT_THAT(lines, ElementsAre(2, 4, 6));
}

TEST(ParseYamlTest, ErrorsTellLineAndColumn) {
  const auto is_bad = [](std::string_view problem) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(problem));
  };
  EXPECT_THAT(
      ParseYaml("- [a, b\n- c\n"),
      is_bad("bad YAML at line 3, column 1: did not find expected ',' or ']' (while parsing "
             "a flow sequence that begins in line 1)"));
  EXPECT_THAT(ParseYaml("- a\n- \"\\d\"\n"), is_bad("bad YAML at line 2, column 4: "));
  EXPECT_THAT(ParseYaml("a: 1\nb: 2\na: 3\n"),
              is_bad("bad YAML at line 3, column 1: the key 'a' stands twice in one mapping"));
  EXPECT_THAT(ParseYaml("- x\n- \xff\n"), is_bad("bad YAML at line 2, column 3: "));
  EXPECT_THAT(ParseYaml("[a]: b\n"), is_bad("line 1, column 1: a key must be a scalar"));
  EXPECT_THAT(ParseYaml("- 1\n- 18446744073709551616"),
              is_bad("line 2, column 3: the number '18446744073709551616' does not fit 64 bits"));
  EXPECT_THAT(ParseYaml("1e999"), is_bad("line 1, column 1: the number '1e999' does not fit"));
  EXPECT_THAT(ParseYaml("--- a\n--- b\n"), is_bad("line 2, column 1: a second document"));
}

TEST(ParseYamlTest, WhatCanMakeMuchOfLittleIsRefused) {
  const auto is_bad = [](std::string_view problem) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(problem));
  };
  EXPECT_THAT(ParseYaml("- &a [x]\n- *a\n"), is_bad("line 1, column 3: anchors are not"));
  EXPECT_THAT(ParseYaml("- *a\n"), is_bad("line 1, column 3: aliases are not supported"));
  EXPECT_THAT(ParseYaml("*a : b\n"), is_bad("line 1, column 1: aliases are not supported"));
  EXPECT_THAT(ParseYaml("- !!str 1\n"), is_bad("line 1, column 3: tags are not supported"));
  EXPECT_THAT(ParseYaml("- !mine [1]\n"), is_bad("line 1, column 3: tags are not supported"));
  EXPECT_THAT(ParseYaml(std::string(kMaxYamlDepth + 1, '[')), is_bad("nests deeper than 64"));
  EXPECT_EQ(Dumped(std::string(kMaxYamlDepth, '[') + std::string(kMaxYamlDepth, ']')),
            std::string(kMaxYamlDepth, '[') + std::string(kMaxYamlDepth, ']'));
  EXPECT_THAT(ParseYaml(std::string(kMaxYamlBytes + 1, ' ')),
              is_bad("4194305 bytes; at most 4194304 are supported"));
}

}  // namespace
}  // namespace tessera
