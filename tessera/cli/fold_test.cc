#include "tessera/cli/fold.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> KeysOf(const std::vector<Fold>& folds) {
  std::vector<std::string> keys;
  for (const Fold& fold : folds) keys.push_back(fold.key);
  return keys;
}

TEST(FoldKeysTest, FoldsARunOfNumbers) {
  const std::vector<FoldItem> items = {{"l.10.k"}, {"l.2.k"}, {"l.1.k"}, {"l.0.k"}, {"norm"}};
  EXPECT_THAT(FoldKeys(items), ElementsAre(Fold{"l.{0..2,10}.k", {0, 1, 2, 3}}, Fold{"norm", {4}}));
}

TEST(FoldKeysTest, FoldsNumbersInNumbers) {
  std::vector<std::string> keys;
  for (int layer = 0; layer < 4; ++layer) {
    for (int expert = 0; expert < 8; ++expert) {
      keys.push_back("m.layers." + std::to_string(layer) + ".experts." + std::to_string(expert) +
                     ".kernel");
    }
  }
  std::vector<FoldItem> all;
  for (const std::string& key : keys) all.push_back({key});
  EXPECT_THAT(KeysOf(FoldKeys(all)), ElementsAre("m.layers.{0..3}.experts.{0..7}.kernel"));
}

TEST(FoldKeysTest, KeepsOtherKindsApart) {
  const std::vector<FoldItem> items = {
      {"l.0.k", 1}, {"l.1.k", 2}, {"l.2.k", 2}, {"l.3.k", 1}, {"l.4.k", 1}};
  EXPECT_THAT(KeysOf(FoldKeys(items)), ElementsAre("l.{0,3,4}.k", "l.{1,2}.k"));
}

TEST(FoldKeysTest, WhatIsNotAPlainNumberIsAName) {
  const std::vector<FoldItem> items = {
      {"l.00.k"}, {"l.01.k"}, {"l.x1.k"}, {"l.1234567890123456789.k"}, {"l..k"}, {""}};
  EXPECT_EQ(FoldKeys(items).size(), items.size());
}

TEST(FoldKeysTest, ANumberAtEitherEndIsFolded) {
  const std::vector<FoldItem> items = {{"0"}, {"1"}, {"a.5"}, {"a.6"}, {"a.7"}};
  EXPECT_THAT(KeysOf(FoldKeys(items)), ElementsAre("{0,1}", "a.{5..7}"));
}

TEST(FoldKeysTest, LeavesOutNoItem) {
  const std::vector<FoldItem> items = {{"a.0.b.0"}, {"a.0.b.1"}, {"a.1.b.0"}};
  EXPECT_THAT(FoldKeys(items), ElementsAre(Fold{"a.0.b.{0,1}", {0, 1}}, Fold{"a.1.b.0", {2}}));
  EXPECT_THAT(FoldKeys({}), IsEmpty());
}

TEST(UnfoldedKeysTest, KeepsTheOrder) {
  const std::vector<FoldItem> items = {{"l.9"}, {"l.10"}};
  EXPECT_THAT(UnfoldedKeys(items), ElementsAre(Fold{"l.9", {0}}, Fold{"l.10", {1}}));
}

}  // namespace
}  // namespace tessera::cli
