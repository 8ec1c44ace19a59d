#include "tessera/checkpoint/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::checkpoint::testing::StoredCheckpoint;
using ::tessera::checkpoint::testing::WriteText;
using ::tessera::testing::IsOk;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpenTest : public ::testing::Test {
 protected:
  absl::StatusOr<Checkpoint> Open(store::KvStore& store, const OpenOptions& options = {}) {
    return Checkpoint::Open(store, io_, options);
  }
  std::vector<std::string> Names(const absl::StatusOr<Checkpoint>& checkpoint) {
    if (!checkpoint.ok()) return {checkpoint.status().ToString()};
    std::vector<std::string> names;
    for (const CheckpointArray& array : checkpoint->arrays()) names.push_back(array.name);
    return names;
  }

  IoContext io_;
};

TEST_F(OpenTest, KnowsTheArraysOfAPrefix) {
  StoredCheckpoint stored("model");
  stored.Add("layers/0/w", {4, 6}, {2, 6}).Add("b", {3}, {3}).Index();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Open(stored.store(), {.prefix = "model"}));
  EXPECT_THAT(Names(opened), ElementsAre("layers.0.w", "b"));
  EXPECT_EQ(opened.prefix(), "model");
  EXPECT_TRUE(opened.has_index());
  EXPECT_EQ(opened.integrity(), Integrity::kNone);
  EXPECT_EQ(opened.arrays()[0].shape_dtype(), (ShapeDtype{{4, 6}, DType::kInt32}));
  EXPECT_EQ(opened.arrays()[0].path, "model/layers/0/w");
  EXPECT_EQ(
      opened.arrays()[0].Record(),
      (ledger::ArrayRecord{
          "model/layers/0/w", {4, 6}, "int32", std::vector<std::string>{"layers", "0", "w"}}));
}

TEST_F(OpenTest, AllPrefixesAtOnce) {
  StoredCheckpoint stored("model");
  stored.Add("w", {4}, {4}).Sealed();
  EXPECT_THAT(Names(Open(stored.store(), {.all_prefixes = true})), ElementsAre("model.w"));
}

TEST_F(OpenTest, AFolderWithoutAnIndexIsTheArraysInIt) {
  StoredCheckpoint stored;
  stored.Add("a", {4}, {2}).Add("b/c", {4}, {2});
  WriteText(stored.store(), "zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Open(stored.store()));
  EXPECT_THAT(Names(opened), ElementsAre("a", "b.c"));
  EXPECT_FALSE(opened.has_index());
}

TEST_F(OpenTest, NothingAtAllIsNotFound) {
  StoredCheckpoint stored;
  EXPECT_THAT(Open(stored.store()), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no index")));
}

TEST_F(OpenTest, AManifestBelongsToItsIndexAndMetadata) {
  StoredCheckpoint stored("model");
  stored.Add("w", {4}, {2}).Sealed();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Open(stored.store(), {.prefix = "model"}));
  EXPECT_EQ(opened.integrity(), Integrity::kManifest);
  ASSERT_NE(opened.arrays()[0].manifest, nullptr);
  EXPECT_EQ(opened.arrays()[0].manifest->chunks.size(), 2);

  TESSERA_ASSERT_OK_AND_ASSIGN(const auto document, stored.store().Read("model/w/.zarray"));
  WriteText(stored.store(), "model/w/.zarray", std::string(document.value->text()) + " ");
  EXPECT_THAT(Open(stored.store(), {.prefix = "model"}),
              StatusIs(kDataLoss, AllOf(HasSubstr("'model/w'"), HasSubstr(".zarray"))));
  EXPECT_THAT(Open(stored.store(), {.prefix = "model", .verify = false}), IsOk());
}

TEST_F(OpenTest, AManifestThatIsGoneOrAnothersIsDataLoss) {
  StoredCheckpoint stored("model");
  stored.Add("w", {4}, {2}).Sealed();
  stored.Add("v", {4}, {2}).Index();
  EXPECT_THAT(Open(stored.store(), {.prefix = "model"}),
              StatusIs(kDataLoss, HasSubstr("the index is not the one")));
  ASSERT_THAT(stored.store().Delete(".tessera/manifests/1.json"), IsOk());
  EXPECT_THAT(Open(stored.store(), {.prefix = "model"}),
              StatusIs(kDataLoss, HasSubstr("manifest that the index names is missing")));
}

TEST_F(OpenTest, ListedArraysMustBeThereAndBeWhatTheIndexSays) {
  StoredCheckpoint stored;
  stored.Add("w", {4}, {2});
  const auto index = [&](std::string_view record) {
    WriteText(stored.store(), ledger::kIndexName,
              Concat(R"({"format":"tensorstore","arrays":[)", record, "]}"));
    return Open(stored.store());
  };
  EXPECT_THAT(index(R"({"path":"w","shape":[4],"dtype":"int32"})"), IsOk());
  EXPECT_THAT(index(R"({"path":"v","shape":[4],"dtype":"int32"})"),
              StatusIs(kDataLoss, HasSubstr("v/.zarray: array metadata not found")));
  EXPECT_THAT(index(R"({"path":"w","shape":[5],"dtype":"int32"})"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("'int32'[5]"), HasSubstr("'int32'[4]"))));
  EXPECT_THAT(index(R"({"path":"w","shape":[4],"dtype":"quaternion"})"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'quaternion'[4]")));
  EXPECT_THAT(index(R"({"path":"../../etc","shape":[4],"dtype":"int32"})"),
              StatusIs(kInvalid, AllOf(HasSubstr("tensorstore_index.json: index entry 0"),
                                       HasSubstr("unsafe path"))));
  EXPECT_THAT(index(R"({"path":"/etc","shape":[4],"dtype":"int32"})"),
              StatusIs(kInvalid, HasSubstr("unsafe path '/etc'")));
  EXPECT_THAT(index(R"({"shape":[4],"dtype":"int32"})"), StatusIs(kInvalid, HasSubstr("path")));
}

TEST_F(OpenTest, AnIndexOfAnotherKindIsRefused) {
  StoredCheckpoint stored;
  WriteText(stored.store(), ledger::kIndexName, R"({"format":"orbax"})");
  EXPECT_THAT(Open(stored.store()), StatusIs(kInvalid, HasSubstr("'orbax'")));
  WriteText(stored.store(), ledger::kIndexName, "{");
  EXPECT_THAT(Open(stored.store()), StatusIs(kInvalid, HasSubstr("tensorstore_index.json")));
}

// The first array that is missing ends the work.
TEST_F(OpenTest, ManyEntriesCostBoundedTime) {
  StoredCheckpoint stored;
  std::string text = R"({"format":"tensorstore","arrays":[)";
  for (int i = 0; i < 100000; ++i) {
    text += Concat(i == 0 ? "" : ",", R"({"path":"a)", i, R"(/w","shape":[4],"dtype":"int32"})");
  }
  WriteText(stored.store(), ledger::kIndexName, text + "]}");
  EXPECT_THAT(Open(stored.store()), StatusIs(kDataLoss, HasSubstr("array metadata not found")));
}

TEST_F(OpenTest, AnotherStateIsNoticed) {
  StoredCheckpoint stored;
  stored.Add("w", {4}, {2}).Index();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Open(stored.store()));
  EXPECT_THAT(opened.CheckUnchanged(), IsOk());
  stored.Add("v", {4}, {2}).Index();
  EXPECT_THAT(opened.CheckUnchanged(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("replaced while it was read")));
}

}  // namespace
}  // namespace tessera::checkpoint
