#include "tessera/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<Verb> Verbs() {
  return {{.name = "paint",
           .summary = "paints: it's [easy]",
           .positionals = {{"WALL", "what is painted"},
                           {.name = "KEY", .help = "which part", .is_path = false}},
           .options = {{.name = "--colour", .value = "C", .choices = {"red", "green"}},
                       {.name = "--output",
                        .value = "FILE",
                        .help = "where",
                        .repeats = true,
                        .is_path = true,
                        .letter = 'o'}}},
          {.name = "secret", .summary = "nobody's business", .is_hidden = true}};
}

TEST(BashCompletionTest, KnowsWhatCompletesEachPlace) {
  const std::string script = BashCompletion(Verbs());
  EXPECT_THAT(script, HasSubstr("_tessera_words 'paint help --help --version'"));
  EXPECT_THAT(script, HasSubstr("    paint)\n"
                                "      options='--colour --output -o --json --quiet -q --help -h'\n"
                                "      valued='|--colour|--output|-o|'\n"
                                "      _tessera_place\n"
                                "      case $place in\n"
                                "        --colour) _tessera_words 'red green' ;;\n"
                                "        --output|-o) _tessera_files ;;\n"
                                "        0) _tessera_files ;;\n"
                                "        1) _tessera_keys ;;\n"
                                "        -) _tessera_words \"$options\" ;;\n"
                                "      esac ;;\n"));
  EXPECT_THAT(script, Not(HasSubstr("secret")));
}

TEST(ZshCompletionTest, DescribesOptionsAndPositionals) {
  const std::string script = ZshCompletion(Verbs());
  EXPECT_THAT(script, HasSubstr(R"('paint:paints\: it'\''s \[easy\]')"));
  EXPECT_THAT(script, HasSubstr("'(--colour)--colour=[]:C:(red green)'"));
  EXPECT_THAT(script, HasSubstr("'*--output=[where]:FILE:_files'"));
  EXPECT_THAT(script, HasSubstr("'*-o+[where]:FILE:_files'"));
  EXPECT_THAT(script, HasSubstr("'1:WALL:_files'"));
  EXPECT_THAT(script, HasSubstr("'2:KEY:_tessera_keys'"));
  EXPECT_THAT(script, HasSubstr("'(-q --quiet)-q[no progress]'"));
  EXPECT_THAT(script, Not(HasSubstr("secret")));
}

TEST(CompleteKeysTest, GivesWholeKeysWhereTheyAreFew) {
  const std::vector<std::string_view> keys = {"a.b", "a.c", "b", "a b", "a$(c)"};
  EXPECT_THAT(CompleteKeys(keys, "a."), ElementsAre("a.b", "a.c"));
  EXPECT_THAT(CompleteKeys(keys, ""), ElementsAre("a.b", "a.c", "b"));
  EXPECT_THAT(CompleteKeys(keys, "x"), IsEmpty());
}

TEST(CompleteKeysTest, GivesPartsWhereTheyAreMany) {
  std::vector<std::string> owned;
  for (int layer = 0; layer < 50; ++layer) {
    owned.push_back("model.layers." + std::to_string(layer) + ".scale");
  }
  owned.push_back("model.norm");
  const std::vector<std::string_view> keys(owned.begin(), owned.end());
  EXPECT_THAT(CompleteKeys(keys, ""), ElementsAre("model."));
  EXPECT_THAT(CompleteKeys(keys, "model."), ElementsAre("model.layers.", "model.norm"));
  EXPECT_THAT(CompleteKeys(keys, "model.layers.49"), ElementsAre("model.layers.49.scale"));
}

}  // namespace
}  // namespace tessera::cli
