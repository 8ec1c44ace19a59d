#include "tessera/explain/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::explain {
namespace {

using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using mesh::PartitionRule;
using Rules = std::vector<PartitionRule>;

LintArray Array(std::string rule_name, Dims shape) {
  std::string name = rule_name;
  for (char& c : name) c = c == '/' ? '.' : c;
  return {name, std::move(rule_name), {std::move(shape), DType::kFloat32}};
}

const std::vector<LintArray> kModel{Array("embed/embedding", {64, 16}),
                                    Array("layers/0/attn/q_proj/kernel", {16, 16}),
                                    Array("layers/1/attn/q_proj/kernel", {16, 16}),
                                    Array("layers/0/norm/scale", {6}),
                                    Array("layers/1/norm/scale", {10}),
                                    Array("step", {})};

std::optional<mesh::Mesh> ParsedMesh(std::string_view text) { return *mesh::ParseMesh(text); }

std::vector<std::string> Linted(const Rules& rules, const std::optional<mesh::Mesh>& mesh = {}) {
  const auto problems = Lint(kModel, rules, mesh);
  if (!problems.ok()) return {problems.status().ToString()};
  std::vector<std::string> texts;
  for (const LintProblem& each : *problems) {
    texts.push_back(Concat(each.kind, " ", each.rule.has_value() ? Concat(*each.rule) : "-", " ",
                           each.keys.size(), ": ", each.detail, " | ", each.suggestion));
  }
  return texts;
}

TEST(LintTest, GoodRulesHaveNoProblems) {
  EXPECT_THAT(Linted({{"kernel$", {"fsdp", "tp"}}, {"embedding", {"tp"}}, {".*", {}}},
                     ParsedMesh("fsdp=2,tp=4")),
              ElementsAre("replicated 2 2: 'layers.1.norm.scale', 'layers.0.norm.scale': whole on "
                          "every device, 64 B of 6.07 KiB | "));
}

TEST(LintTest, TellsAllProblemsAtOnce) {
  EXPECT_THAT(
      Linted({{"kernel(", {}},
              {"kernel$", {"fdsp", "tp"}},
              {"q_proj/kernel", {"tp"}},
              {"scale", {"tp"}},
              {"embeding$", {{"tp", "tp"}}}},
             ParsedMesh("fsdp=2,tp=4")),
      ElementsAre(
          HasSubstr("bad_pattern 0 0: "),
          "unknown_axis 1 2: P('fdsp', 'tp') names the axis 'fdsp', but the mesh is fsdp=2,tp=4; "
          "it takes 2 keys | did you mean 'fsdp'?",
          "duplicate_axis 4 0: P(('tp', 'tp')) names the axis 'tp' twice; an axis can split one "
          "dimension | ",
          "indivisible 3 2: 'layers.0.norm.scale', 'layers.1.norm.scale': dimension 0 of size 6 is "
          "no multiple of tp=4, and 1 other size | a corrected load leaves it whole; write null, "
          "or put a rule for these keys before this",
          "unmatched_key - 2: 'embed.embedding', 'step': no rule takes them (4.00 KiB) | add a "
          "rule, such as [\".*\", []] at the end",
          "shadowed_rule 2 2: all that it would match is taken by rule 1 'kernel$' before: "
          "'layers.0.attn.q_proj.kernel', 'layers.1.attn.q_proj.kernel' | move it up, or remove it",
          "unused_rule 4 0: it is found in none of the 6 keys | did you mean 'embedding$', which "
          "is found in 'embed/embedding'?",
          "replicated 3 2: 'layers.1.norm.scale', 'layers.0.norm.scale': whole on every device, 64 "
          "B of 6.07 KiB | "));
}

TEST(LintTest, WithoutAMeshAxesAreNotLookedAt) {
  EXPECT_THAT(Linted({{"scale", {"nothing"}}, {".*", {"x"}}}), IsEmpty());
}

TEST(LintTest, SpecsMustNotSplitWhatIsNotThere) {
  EXPECT_THAT(
      Linted({{"scale", {nullptr, "tp"}}, {"step", {"tp", "x"}}, {".*", {"tp", nullptr, nullptr}}}),
      ElementsAre("spec_too_long 0 2: 'layers.0.norm.scale', 'layers.1.norm.scale': "
                  "P(None, 'tp') splits dimension 1, but the array is [6] | the spec is cut "
                  "to the rank; put a rule for these keys before this"));
}

TEST(LintTest, DimensionsThatAreLeftToTheRuntimeAreToldOnce) {
  const auto open = mesh::SpecEntry::Unconstrained();
  EXPECT_THAT(Linted({{".*", mesh::PartitionSpec({nullptr, open, open})}}),
              ::testing::Contains("unconstrained 0 6: dimension 1 is left to the runtime, but a "
                                  "load must know where to put it; it takes 6 keys | write null, "
                                  "or an axis"));
}

TEST(LintTest, CommonMistakesAreUndone) {
  const auto meant = [](std::string pattern) {
    const auto problems = Lint(kModel, Rules{{".*", {}}, {std::move(pattern), {}}});
    for (const LintProblem& each : *problems) {
      if (each.kind == "unused_rule") return each.suggestion;
    }
    return std::string("none");
  };
  EXPECT_EQ(meant("layers\\.0\\.attn"),
            "did you mean 'layers/0/attn', which is found in 'layers/0/attn/q_proj/kernel'?");
  EXPECT_EQ(meant("^kernel"),
            "did you mean 'kernel', which is found in 'layers/0/attn/q_proj/kernel'?");
  EXPECT_EQ(meant("q_porj/.*"),
            "did you mean 'q_proj/.*', which is found in 'layers/0/attn/q_proj/kernel'?");
  EXPECT_EQ(meant("lm_head"), "");
}

TEST(LintTest, PatternsThatBacktrackWithoutEndDoNotStopTheRest) {
  const std::vector<LintArray> arrays{Array(std::string(40, 'a') + "!", {4})};
  const auto problems = Lint(arrays, Rules{{"^(a|a|aa)+$", {}}, {"b", {}}});
  ASSERT_TRUE(problems.ok());
  std::vector<std::string> kinds;
  for (const LintProblem& each : *problems) kinds.push_back(each.kind);
  EXPECT_THAT(kinds, UnorderedElementsAre("bad_pattern", "unmatched_key", "unused_rule"));
}

TEST(LintTest, NamesThatNoPatternCanBeSearchedInAreAnError) {
  const std::vector<LintArray> arrays{Array("\xff", {4})};
  EXPECT_THAT(Lint(arrays, Rules{{".*", {}}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the key '\\xff': ")));
}

}  // namespace
}  // namespace tessera::explain
