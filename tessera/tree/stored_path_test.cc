#include "tessera/tree/stored_path.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/tree/testing/random_tree.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Components = std::vector<std::string>;

TEST(EncodeStoredPathTest, PlainComponentsStayAsTheyAre) {
  EXPECT_THAT(EncodeStoredPath(Components{"model", "l1", "w"}), IsOkAndHolds(Eq("model/l1/w")));
  EXPECT_THAT(EncodeStoredPath(Components{"é", "a b", "~", "C:"}), IsOkAndHolds(Eq("é/a b/~/C:")));
  EXPECT_THAT(EncodeStoredPath(Components{}), IsOkAndHolds(Eq("")));
}

TEST(EncodeStoredPathTest, EscapesWhatAFileSystemWouldTakeApart) {
  const auto encoded = [](std::string component) {
    return EncodeStoredPath(Components{std::move(component)}).value();
  };
  EXPECT_EQ(encoded(""), "%-");
  EXPECT_EQ(encoded("."), "%2E");
  EXPECT_EQ(encoded(".."), "%2E%2E");
  EXPECT_EQ(encoded("../x"), "%2E%2E%2Fx");
  EXPECT_EQ(encoded("/etc"), "%2Fetc");
  EXPECT_EQ(encoded(".zarray"), "%2Ezarray");
  EXPECT_EQ(encoded("a.b"), "a%2Eb");
  EXPECT_EQ(encoded("a\\b"), "a%5Cb");
  EXPECT_EQ(encoded("100%"), "100%25");
  EXPECT_EQ(encoded("%-"), "%25-");
  EXPECT_EQ(encoded(std::string("\0\n\x1F\x7F", 4)), "%00%0A%1F%7F");
}

TEST(EncodeStoredPathTest, RefusesWhatCannotBeAFileName) {
  EXPECT_THAT(EncodeStoredPath(Components{"a", "b\xFF"}),
              StatusIs(kInvalid, Eq("component 1, 'b\\xff', is not UTF-8 from byte 1 on")));
  EXPECT_THAT(EncodeStoredPath(Components{std::string(255, 'x')}), IsOk());
  EXPECT_THAT(EncodeStoredPath(Components{std::string(256, 'x')}),
              StatusIs(kInvalid, HasSubstr("needs a file name of 256 bytes; at most 255")));
  EXPECT_THAT(EncodeStoredPath(Components{std::string(86, '.')}),
              StatusIs(kInvalid, HasSubstr("needs a file name of 258 bytes")));
}

TEST(DecodeStoredPathTest, UndoesTheEscapes) {
  EXPECT_THAT(DecodeStoredPath("model/l1/w"), IsOkAndHolds(ElementsAre("model", "l1", "w")));
  EXPECT_THAT(DecodeStoredPath("%-/a%2Eb"), IsOkAndHolds(ElementsAre("", "a.b")));
  EXPECT_THAT(DecodeStoredPath(""), IsOkAndHolds(IsEmpty()));
}

TEST(DecodeStoredPathTest, RefusesWhatIsNeverEncoded) {
  for (const std::string path : {"a.b", "..", "../x", "/a", "a//b", "a/", "%2e", "%41", "a%", "a%2",
                                 "a%-", "%-%-", "%2G", "%+1", "a\\b", "a\nb", "\xFF", "%C3"}) {
    EXPECT_THAT(DecodeStoredPath(path), StatusIs(kDataLoss, HasSubstr("stored path '"))) << path;
  }
  EXPECT_THAT(DecodeStoredPath("x/a%2"),
              StatusIs(kDataLoss, Eq("stored path 'x/a%2': name 'a%2' has a bad escape; % must be "
                                     "followed by two of 0-9A-F")));
  EXPECT_THAT(DecodeStoredPath("%41"),
              StatusIs(kDataLoss, Eq("stored path '%41': name '%41' would be stored as 'A'")));
  EXPECT_THAT(DecodeStoredPath(std::string(256, 'x')),
              StatusIs(kDataLoss, HasSubstr("has 256 bytes; at most 255 are stored")));
}

TEST(SplitLegacyPathTest, SplitsOnSlashesAlone) {
  EXPECT_THAT(SplitLegacyPath("model/a.b/%41"), ElementsAre("model", "a.b", "%41"));
  EXPECT_THAT(SplitLegacyPath("w"), ElementsAre("w"));
}

TEST(CheckUniquePathsTest, NamesBothLeaves) {
  EXPECT_THAT(CheckUniquePaths(Components{"a/b", "a%2Eb", "a/bc"}, Components{"1", "2", "3"}),
              IsOk());
  EXPECT_THAT(CheckUniquePaths(Components{"1", "x", "1"}, Components{"[1]", "['x']", "['1']"}),
              StatusIs(kInvalid, Eq("stored paths: leaves [1] and ['1'] would both be named '1'")));
}

TEST(CheckUniquePathsTest, RefusesALeafInsideAnother) {
  EXPECT_THAT(CheckUniquePaths(Components{"1/x/y", "1"}, Components{"['1']['x'][0]", "[1]"}),
              StatusIs(kInvalid, Eq("stored paths: leaf ['1']['x'][0] at '1/x/y' lies inside leaf "
                                    "[1] at '1'")));
  EXPECT_THAT(CheckUniquePaths(Components{"a/b/x", "a/b/y", "a"}, Components{"1", "2", "3"}),
              StatusIs(kInvalid, HasSubstr("'a/b/x' lies inside leaf 3 at 'a'")));
  EXPECT_THAT(CheckUniquePaths(Components{"", "a"}, Components{"", "['a']"}),
              StatusIs(kInvalid, HasSubstr("lies inside leaf (the root) at ''")));
}

// By what the words mean, one pair after the other.
bool AllApart(const Components& paths) {
  for (size_t i = 0; i < paths.size(); ++i) {
    for (size_t j = 0; j < paths.size(); ++j) {
      const std::string inside = paths[i].empty() ? "" : paths[i] + "/";
      if (i != j && (paths[j] == paths[i] || paths[j].starts_with(inside))) return false;
    }
  }
  return true;
}

TEST(CheckUniquePathsTest, FindsTheSameInEveryOrder) {
  std::mt19937_64 random(11);
  static constexpr std::string_view kAlphabet = "ab/!\xFF";
  std::uniform_int_distribution<size_t> letter(0, kAlphabet.size() - 1), length(0, 4), count(0, 5);
  int apart = 0;
  for (int round = 0; round < 20'000; ++round) {
    Components paths(count(random));
    for (std::string& path : paths) {
      path.resize(length(random));
      for (char& c : path) c = kAlphabet[letter(random)];
    }
    const bool expected = AllApart(paths);
    apart += expected ? 1 : 0;
    ASSERT_EQ(CheckUniquePaths(paths, paths).ok(), expected) << ::testing::PrintToString(paths);
    // In the order of trees, where slashes come first.
    std::sort(paths.begin(), paths.end(), [](std::string a, std::string b) {
      std::replace(a.begin(), a.end(), '/', '\1');
      std::replace(b.begin(), b.end(), '/', '\1');
      return a < b;
    });
    ASSERT_EQ(CheckUniquePaths(paths, paths).ok(), expected) << ::testing::PrintToString(paths);
  }
  EXPECT_GT(apart, 5'000);
}

void ExpectStaysInside(const std::string& path) {
  ASSERT_FALSE(path.starts_with("/")) << path;
  for (const std::string& name : SplitLegacyPath(path)) {
    ASSERT_FALSE(name.empty() || name.starts_with(".")) << path;
    ASSERT_EQ(name.find('\\'), std::string::npos) << path;
  }
}

TEST(StoredPathPropertyTest, KeepsEveryKeyApartAndInsideTheDirectory) {
  std::mt19937_64 random(20240607);
  std::uniform_int_distribution<size_t> length(1, 4);
  std::map<std::string, Components> components_of;
  for (int round = 0; round < 20'000; ++round) {
    Components components(length(random));
    for (std::string& component : components) component = tree::testing::RandomKeyText(random);
    TESSERA_ASSERT_OK_AND_ASSIGN(const std::string path, EncodeStoredPath(components));
    ASSERT_THAT(DecodeStoredPath(path), IsOkAndHolds(components));
    ExpectStaysInside(path);
    const auto [entry, inserted] = components_of.try_emplace(path, components);
    ASSERT_EQ(entry->second, components) << path;
  }
}

// Whatever decodes is exactly what the encoder makes.
TEST(StoredPathPropertyTest, NoTwoPathsDecodeAlike) {
  std::mt19937_64 random(7);
  static constexpr std::string_view kAlphabet = "%-./2EeFf0aA\\";
  std::uniform_int_distribution<size_t> letter(0, kAlphabet.size() - 1);
  int decoded = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string path(1 + round % 8, ' ');
    for (char& c : path) c = kAlphabet[letter(random)];
    const auto components = DecodeStoredPath(path);
    if (!components.ok()) continue;
    ++decoded;
    ASSERT_THAT(EncodeStoredPath(*components), IsOkAndHolds(Eq(path)));
  }
  EXPECT_GT(decoded, 250);
}

}  // namespace
}  // namespace tessera::tree
