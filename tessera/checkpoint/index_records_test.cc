#include "tessera/checkpoint/index_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SafePathTest, TakesFoldersAndFilesOfTheCheckpoint) {
  EXPECT_THAT(SafePath("model/layers/0/w"), IsOkAndHolds("model/layers/0/w"));
  EXPECT_THAT(SafePath("a/b\\c"), IsOkAndHolds("a/b\\c"));
  EXPECT_THAT(SafePath("."), IsOkAndHolds(""));
}

TEST(SafePathTest, RefusesWhatLeadsElsewhere) {
  const std::string nul("a\0b", 3);
  for (const std::string& path :
       {std::string("../../etc"), std::string("/etc/passwd"), std::string("a//b"),
        std::string("a/./b"), std::string("a/.."), std::string(""), std::string("a/"),
        std::string("..\\etc"), std::string("a\\b"), nul, std::string("a.__lock/b"),
        std::string(".tessera/data"), std::string(".tessera")}) {
    EXPECT_THAT(SafePath(path), StatusIs(kInvalid, HasSubstr("unsafe path"))) << path;
  }
}

TEST(RecordsOfIndexTest, LooksAtTheIndex) {
  const ledger::TensorstoreIndex index{
      "0.1.0",
      {{{"model", {{"model/a/w", {2}, "int32"}}}, {"odd", {{"x%2Ey", {3}, "int8", {{"x.y"}}}}}}},
      {}};
  const auto used = RecordsOfIndex(index, "", true);
  ASSERT_TRUE(used.ok()) << used.status();
  ASSERT_EQ(used->records.size(), 2u);
  const ledger::ArrayRecord& first = index.prefixes->at(0).second[0];
  EXPECT_EQ(used->records[0].record, &first);
  EXPECT_EQ(used->records[0].path.data(), first.path.data());
  EXPECT_THAT(used->records[0].key, ElementsAre("model", "a", "w"));
  EXPECT_THAT(used->records[1].key, ElementsAre("odd", "x.y"));
  EXPECT_EQ(DottedKey(used->records[1].key), "odd.x.y");
  EXPECT_THAT(PrefixesOf(index), ElementsAre("model", "odd"));
}

TEST(RecordsOfIndexTest, TellsWhetherARecordWasLeftOut) {
  using Key = std::vector<std::string>;
  std::vector<ledger::ArrayRecord> list{{"a", {2}, "int32", Key{"k"}}, {"b", {2}, "int32"}};
  EXPECT_TRUE(RecordsOfIndex({"1.0", {}, list}, "", false)->is_whole);
  list.push_back({"c", {2}, "int32", Key{"k"}});
  EXPECT_FALSE(RecordsOfIndex({"1.0", {}, list}, "", false)->is_whole);
}

TEST(RecordsOfIndexTest, ThePathOfTheRootIsEmpty) {
  const ledger::TensorstoreIndex index{"1.0", {}, {{{".", {2}, "int32"}}}};
  const auto used = RecordsOfIndex(index, "", false);
  ASSERT_TRUE(used.ok()) << used.status();
  EXPECT_EQ(used->records.at(0).path, "");
  EXPECT_THAT(used->records.at(0).key, IsEmpty());
}

}  // namespace
}  // namespace tessera::checkpoint
