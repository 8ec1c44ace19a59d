#include "tessera/checkpoint/open_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Key = std::vector<std::string>;

ledger::TensorstoreIndex OneList(std::vector<ledger::ArrayRecord> records) {
  return {"1.0", {}, std::move(records)};
}

std::vector<Key> EntryKeys(const absl::StatusOr<Entries>& entries) {
  std::vector<Key> keys;
  if (!entries.ok()) return {{entries.status().ToString()}};
  for (const ArrayEntry& entry : entries->arrays) keys.push_back(entry.key);
  return keys;
}

TEST(EntriesOfIndexTest, FollowsThePrecedenceOfLists) {
  const ledger::TensorstoreIndex both{
      "0.1.0", {{{"model", {{"model/w", {2}, "int32"}}}, {"tx", {}}}}, {{{"z", {1}, "int32"}}}};
  EXPECT_THAT(EntryKeys(EntriesOfIndex(both, "model", false)), ElementsAre(Key{"w"}));
  EXPECT_THAT(EntryKeys(EntriesOfIndex(both, "tx", false)), ElementsAre());
  EXPECT_THAT(EntryKeys(EntriesOfIndex(both, "", false)), ElementsAre(Key{"z"}));
  EXPECT_THAT(EntriesOfIndex(both, "opt", false),
              StatusIs(kInvalid, AllOf(HasSubstr("'opt'"), HasSubstr("'model', 'tx'"))));
  const ledger::TensorstoreIndex prefixes{"2.0", {{{"model", {{"model/w", {2}, "int32"}}}}}, {}};
  EXPECT_THAT(EntriesOfIndex(prefixes, "", false), StatusIs(kInvalid, HasSubstr("'model'")));
  EXPECT_THAT(EntryKeys(EntriesOfIndex(OneList({{"m/w", {2}, "int32"}}), "m", false)),
              ElementsAre(Key{"w"}));
  EXPECT_THAT(EntryKeys(EntriesOfIndex(OneList({{"m/w", {2}, "int32"}}), "", false)),
              ElementsAre(Key{"m", "w"}));
}

TEST(EntriesOfIndexTest, AllPrefixesAreListedUnderTheirNames) {
  const ledger::TensorstoreIndex index{
      "0.1.0",
      {{{"model", {{"model/w", {2}, "int32"}}}, {"odd", {{"elsewhere/w", {2}, "int32"}}}}},
      {{{"z", {1}, "int32"}}}};
  EXPECT_THAT(EntryKeys(EntriesOfIndex(index, "", true)),
              ElementsAre(Key{"model", "w"}, Key{"odd", "elsewhere", "w"}, Key{"z"}));
}

TEST(EntriesOfIndexTest, UnsafeAndCollidingPathsAreRefused) {
  EXPECT_THAT(
      EntriesOfIndex(OneList({{"ok", {2}, "int32"}, {"../../etc", {2}, "int32"}}), "", false),
      StatusIs(kInvalid, AllOf(HasSubstr("index entry 1"), HasSubstr("../../etc"))));
  EXPECT_THAT(EntriesOfIndex(OneList({{"a", {2}, "int32"}, {"a", {2}, "int32"}}), "", false),
              StatusIs(kInvalid, HasSubstr("'a'")));
  EXPECT_THAT(EntriesOfIndex(OneList({{"a", {2}, "int32"}, {"a/b", {2}, "int32"}}), "", false),
              StatusIs(kInvalid, HasSubstr("lies inside")));
  EXPECT_THAT(EntriesOfIndex(OneList({{".", {2}, "int32"}, {"b", {2}, "int32"}}), "", false),
              StatusIs(kInvalid, HasSubstr("not the only one")));
}

TEST(EntriesOfIndexTest, OfTwoRecordsOfOneKeyTheLaterCounts) {
  const auto entries = EntriesOfIndex(
      OneList({{"a", {2}, "int32", Key{"k"}}, {"b", {2}, "int32"}, {"c", {2}, "int32", Key{"k"}}}),
      "", false);
  EXPECT_THAT(EntryKeys(entries), ElementsAre(Key{"k"}, Key{"b"}));
  EXPECT_EQ(entries->arrays[0].path, "c");
}

TEST(EntriesOfListingTest, FindsArraysOutsideOfOurFolderAndOfUnfinishedOnes) {
  const auto store = store::MakeMemoryStore();
  for (const char* key : {"a/.zarray", "a/0", "b/c/zarr.json", ".tessera/data/x/.zarray",
                          "half/w/.zarray", "model/w/.zarray"}) {
    testing::WriteText(*store, key, "{}");
  }
  const std::vector<std::string> unfinished{"half"};
  EXPECT_THAT(EntryKeys(EntriesOfListing(*store, *store->List(""), "", false, unfinished)),
              ElementsAre(Key{"a"}, Key{"b", "c"}, Key{"model", "w"}));
  EXPECT_THAT(EntryKeys(EntriesOfListing(*store, *store->List(""), "model", false, unfinished)),
              ElementsAre(Key{"w"}));
  EXPECT_THAT(EntriesOfListing(*store, *store->List(""), "tx", false, unfinished),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("below tx/")));
}

TEST(EntriesOfListingTest, AnOcdbtStoreIsNamed) {
  const auto store = store::MakeMemoryStore();
  testing::WriteText(*store, "manifest.ocdbt", "x");
  EXPECT_THAT(EntriesOfListing(*store, *store->List(""), "", false, {}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("OCDBT")));
}

}  // namespace
}  // namespace tessera::checkpoint
