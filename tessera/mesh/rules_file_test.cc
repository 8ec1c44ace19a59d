#include "tessera/mesh/rules_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;

using Rules = std::vector<PartitionRule>;

const Rules kRules{{".*/kernel$", {{"fsdp", "sp"}, "tp"}}, {".*", {}}};

auto IsBad(std::string_view message) {
  return StatusIs(absl::StatusCode::kInvalidArgument, message);
}

TEST(ParseRulesFileTest, TakesJsonAndYaml) {
  EXPECT_THAT(ParseRulesFile(R"([[".*/kernel$", [["fsdp", "sp"], "tp"]], [".*", []]])", "r"),
              IsOkAndHolds(kRules));
  EXPECT_THAT(ParseRulesFile("- [.*/kernel$, [[fsdp, sp], tp]]\n- ['.*', []]\n", "r"),
              IsOkAndHolds(kRules));
  EXPECT_THAT(ParseRulesFile("# ours\n[[.*/kernel$, [[fsdp, sp], tp]], [.*, []]]\n", "r"),
              IsOkAndHolds(kRules));
  EXPECT_THAT(ParseRulesFile(" [[.*/kernel$, [[fsdp, sp], tp]], [.*, []]]\n", "r"),
              IsOkAndHolds(kRules));
  EXPECT_THAT(ParseRulesFile("[]", "r"), IsOkAndHolds(Rules{}));
}

TEST(ParseRulesFileTest, TheNameCanSayJson) {
  EXPECT_THAT(ParseRulesFile("- [.*, []]", "r.json"),
              IsBad("r.json: bad JSON at line 1, column 2"));
  EXPECT_THAT(ParseRulesFile("[[.*, []]]", "r.json"),
              IsBad("r.json: bad JSON at line 1, column 3"));
}

TEST(ParseRulesFileTest, ErrorsAreThoseOfTheFormatThatWasMeant) {
  EXPECT_THAT(ParseRulesFile("[\n  [\"a\", [\"tp\"]],\n  [\"b\" \"tp\"]\n]", "r"),
              IsBad("r: bad JSON at line 3, column 11"));
  EXPECT_THAT(ParseRulesFile("[\n  [\"a\", [\"tp\"]\n", "r"),
              IsBad("r: bad JSON at line 3, column 1"));
  EXPECT_THAT(ParseRulesFile("[\n  [a, [tp]\n", "r"),
              IsBad("r: bad YAML at line 3, column 1: did not find expected ',' or ']' (while "
                    "parsing a flow sequence that begins in line 2)"));
  EXPECT_THAT(ParseRulesFile("[\n  [\"a\", [\"tp\"]\n", "r.yml"),
              IsBad("r.yml: bad YAML at line 3, column 1: did not find expected ',' or ']' (while "
                    "parsing a flow sequence that begins in line 2)"));
  EXPECT_THAT(ParseRulesFile("", "r"),
              IsBad("r: expected a list of [pattern, spec], found nothing"));
  EXPECT_THAT(ParseRulesFile("a: b", "r"),
              IsBad("r: expected a list of [pattern, spec], found object"));
}

TEST(ParseRulesFileTest, ErrorsNameLineAndRule) {
  EXPECT_THAT(ParseRulesFile("# ours\n- [a, [tp]]\n\n- [b, tp]\n", "r"),
              IsBad("r: line 4: rule 1[1]: expected a list of spec entries, found string"));
  EXPECT_THAT(ParseRulesFile("- [a, [tp], x]\n", "r"),
              IsBad("r: line 1: rule 0: expected [pattern, spec], found [\"a\",[\"tp\"],\"x\"]"));
  EXPECT_THAT(ParseRulesFile("[[\"a,]\\\"\", []],\n\n [\"b\", [[]]],\n[\"c\",\n [1]]]", "r"),
              IsBad("r: line 4: rule 2[1][0]: expected null, an axis name or a list of axis names, "
                    "found number"));
  EXPECT_THAT(ParseRulesFile("- [a, [None, tp]]\n", "r"),
              IsBad("r: line 1: rule 0: the spec P('None', 'tp') names an axis 'None'; write null "
                    "for a dimension that is not split"));
}

}  // namespace
}  // namespace tessera::mesh
