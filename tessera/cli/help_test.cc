#include "tessera/cli/help.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VerbTableTest, EveryVerbSaysWhatItDoesAndGivesAnExample) {
  for (const Verb& verb : AllVerbs()) {
    EXPECT_NE(verb.run, nullptr) << verb.name;
    EXPECT_FALSE(verb.summary.empty()) << verb.name;
    ASSERT_FALSE(verb.examples.empty()) << verb.name;
    for (const Example& example : verb.examples) {
      EXPECT_THAT(std::string(example.command), HasSubstr("tessera " + std::string(verb.name)));
      EXPECT_FALSE(example.tells.empty()) << verb.name;
    }
    for (const Option& option : verb.options) {
      EXPECT_TRUE(option.name.starts_with("--")) << option.name;
      EXPECT_FALSE(option.help.empty()) << verb.name << " " << option.name;
    }
  }
}

TEST(VerbTableTest, NoNameStandsTwice) {
  std::vector<std::string_view> names;
  for (const Verb& verb : AllVerbs()) {
    names.push_back(verb.name);
    std::vector<std::string_view> options;
    for (const Option& option : verb.options) options.push_back(option.name);
    for (const Option& option : CommonOptions()) options.push_back(option.name);
    std::sort(options.begin(), options.end());
    EXPECT_EQ(std::adjacent_find(options.begin(), options.end()), options.end()) << verb.name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(HelpTextTest, ShowsUsageOptionsAndExamples) {
  const Verb verb = {
      .name = "paint",
      .summary = "paints a wall",
      .positionals = {{"WALL", "what is painted"}},
      .options = {{.name = "--colour", .value = "C", .help = "with what", .letter = 'c'}},
      .details = "First paragraph.\n\nSecond one.",
      .examples = {{"tessera paint north", "paints north"}}};
  EXPECT_EQ(HelpText(verb, {}),
            "tessera paint: paints a wall\n\n"
            "usage:\n  tessera paint WALL [--colour C]\n\n"
            "First paragraph.\n\nSecond one.\n\n"
            "  WALL                  what is painted\n"
            "  -c, --colour C        with what\n"
            "  --json                print one JSON document and nothing else\n"
            "  -q, --quiet           no progress\n"
            "  -h, --help            what the verb does, with an example\n"
            "\nexample:\n  tessera paint north\n      paints north\n");
}

TEST(HelpTextTest, FitsANarrowTerminal) {
  for (int columns : {40, 60, 80}) {
    const Terminal terminal{.is_terminal = true, .columns = columns};
    std::istringstream lines(Overview(AllVerbs(), terminal));
    for (std::string line; std::getline(lines, line);) {
      // Words are not cut: a single one may be longer.
      if (line.find(' ', line.find_first_not_of(' ')) != std::string::npos) {
        EXPECT_LE(DisplayWidth(line), static_cast<size_t>(columns) + 12) << line;
      }
    }
  }
}

TEST(OverviewTest, NamesEveryVerb) {
  const std::string text = Overview(AllVerbs(), {});
  for (const Verb& verb : AllVerbs()) {
    const std::string line = "\n  " + std::string(verb.name) + " ";
    EXPECT_EQ(text.find(line) == std::string::npos, verb.is_hidden) << verb.name;
  }
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace tessera::cli
