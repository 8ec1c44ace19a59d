#include "tessera/cli/man_page.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ManPageTest, TellsAllOfAVerb) {
  const std::vector<Verb> verbs = {
      {.name = "paint",
       .summary = ".paints a wall",
       .positionals = {{"WALL", "it's \\ that"}},
       .options = {{.name = "--colour",
                    .value = "C",
                    .help = "with what",
                    .repeats = true,
                    .choices = {"red", "grün"},
                    .letter = 'c'}},
       .details = "First\nparagraph.\n\nSecond one.",
       .examples = {{"tessera paint north | jq '.a'", "paints north"}}},
      {.name = "secret", .summary = "nobody's business", .is_hidden = true}};
  const std::string page = ManPage(verbs, "1.2.3");
  EXPECT_THAT(page, StartsWith(".TH TESSERA 1 \"\" \"tessera 1.2.3\" \"User Commands\"\n"));
  EXPECT_THAT(page, HasSubstr(".SS paint\n"
                              "\\fBtessera paint\\fR \\fIWALL\\fR "
                              "[\\fB\\-\\-colour\\fR \\fIC\\fR]...\n"
                              ".PP\n\\&.paints a wall\n"
                              ".PP\nFirst paragraph.\n.PP\nSecond one.\n"
                              ".TP\n\\fBWALL\\fR\nit\\(aqs \\e that\n"
                              ".TP\n\\fB\\-c, \\-\\-colour\\fR \\fIC\\fR\n"
                              "with what (may be given several times): red, gr\\[u00FC]n\n"
                              ".PP\nExample: paints north\n.PP\n.nf\n.RS 4\n"
                              "tessera paint north | jq \\(aq.a\\(aq\n.RE\n.fi\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n"));
  EXPECT_THAT(page, Not(HasSubstr("secret")));
}

TEST(ManPageTest, IsAsciiAndHasEveryVerb) {
  const std::string page = ManPage(AllVerbs(), "0");
  EXPECT_TRUE(std::all_of(page.begin(), page.end(),
                          [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  for (const Verb& verb : AllVerbs()) {
    if (!verb.is_hidden) {
      EXPECT_THAT(page, HasSubstr(".SS " + std::string(verb.name) + "\n"));
    }
  }
}

}  // namespace
}  // namespace tessera::cli
