#include "tessera/steps/catalogue.h"

#include <memory>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"

namespace tessera::steps {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kIndex = R"({"format": "tensorstore", "version": "0.1.0"})";

std::string Metadata(int64_t step, std::string_view timestamp, bool temporary = false) {
  return Concat("{\"step\": ", step, ", \"timestamp\": \"", timestamp,
                "\", \"is_temporary\": ", temporary, "}");
}

class CatalogueTest : public ::testing::Test {
 protected:
  void Put(std::string_view key, std::string_view text) {
    ASSERT_THAT(store_->Write(key, std::as_bytes(std::span(text))), IsOk());
  }
  Catalogue Read(std::string_view base = "ckpts", LatestBy by = LatestBy::kStep) {
    auto catalogue = ReadCatalogue(*store_, base, by);
    EXPECT_THAT(catalogue, IsOk());
    return *std::move(catalogue);
  }
  std::string LatestPath(LatestBy by = LatestBy::kStep) {
    const Catalogue catalogue = Read("ckpts", by);
    return catalogue.latest.has_value() ? catalogue.steps[*catalogue.latest].path : "none";
  }

  std::unique_ptr<store::KvStore> store_ = store::MakeMemoryStore();
};

TEST_F(CatalogueTest, ListsTheRunsBySteps) {
  Put("ckpts/run-10/metadata.json", Metadata(10, "2026-01-01T00:00:00", true));
  Put("ckpts/run-10/model/w/0", "12345");
  Put("ckpts/run-9/metadata.json", Metadata(9, "2026-01-02T00:00:00"));
  Put("ckpts/run-11/model/w/0", "123");
  Put("ckpts/logs/train.txt", "loss");
  Put("other/run-12/metadata.json", Metadata(12, "2026-01-03T00:00:00"));
  const Catalogue catalogue = Read();
  ASSERT_EQ(catalogue.steps.size(), 3u);
  const uint64_t size = Metadata(9, "2026-01-02T00:00:00").size();
  EXPECT_EQ(catalogue.steps[0],
            (StepInfo{9, "ckpts/run-9", true, false, size, "2026-01-02T00:00:00", "", true}));
  EXPECT_EQ(catalogue.steps[1],
            (StepInfo{10, "ckpts/run-10", true, true, size + 5, "2026-01-01T00:00:00", "", true}));
  EXPECT_EQ(catalogue.steps[2], (StepInfo{11, "ckpts/run-11", false, false, 3, "", "", true}));
  EXPECT_EQ(catalogue.latest, 1u);
  EXPECT_EQ(LatestPath(LatestBy::kTimestamp), "ckpts/run-9");
}

TEST_F(CatalogueTest, NothingThereIsAnEmptyCatalogue) {
  EXPECT_THAT(Read().steps, IsEmpty());
  EXPECT_EQ(Read().latest, std::nullopt);
}

TEST_F(CatalogueTest, TheRootOfTheStoreCanBeTheBase) {
  Put("run-3/metadata.json", Metadata(3, "2026-01-01T00:00:00"));
  Put("metadata.json", Metadata(4, "2026-01-02T00:00:00"));
  Put("model/w/0", "12");
  const Catalogue catalogue = Read("");
  ASSERT_EQ(catalogue.steps.size(), 2u);
  EXPECT_EQ(catalogue.steps[0].path, "run-3");
  EXPECT_EQ(catalogue.steps[1].path, "");
  EXPECT_EQ(catalogue.steps[1].step, 4);
  EXPECT_EQ(catalogue.steps[1].bytes, Metadata(4, "2026-01-02T00:00:00").size() + 2);
  EXPECT_EQ(catalogue.latest, 1u);
}

TEST_F(CatalogueTest, TheBaseAndOtherFoldersAreCandidatesWithMetadata) {
  Put("ckpts/metadata.json", Metadata(1, "2026-01-01T00:00:00"));
  Put("ckpts/best/metadata.json", Metadata(7, "2026-01-01T00:00:00"));
  Put("ckpts/deeper/run-8/metadata.json", Metadata(8, "2026-01-01T00:00:00"));
  const Catalogue catalogue = Read();
  ASSERT_EQ(catalogue.steps.size(), 2u);
  EXPECT_EQ(catalogue.steps[0].path, "ckpts");
  EXPECT_EQ(catalogue.steps[1].path, "ckpts/best");
  EXPECT_EQ(catalogue.steps[1].step, 7);
}

TEST_F(CatalogueTest, WithoutMetadataAnIndexCounts) {
  Put("ckpts/run-5/tensorstore_index.json", kIndex);
  EXPECT_EQ(LatestPath(), "ckpts/run-5");
  Put("ckpts/run-6/tensorstore_index.json", "{");
  EXPECT_EQ(LatestPath(), "ckpts/run-5");
  EXPECT_THAT(Read().steps[1].problem, HasSubstr("tensorstore_index.json: bad JSON"));
  Put("ckpts/run-7/tensorstore_index.json", kIndex);
  Put("ckpts/run-7/.tessera/saves/1.json", "{}");
  EXPECT_EQ(LatestPath(), "ckpts/run-5");
}

TEST_F(CatalogueTest, WithMetadataASaveThatGoesOnDoesNotMatter) {
  Put("ckpts/run-5/metadata.json", Metadata(5, "2026-01-01T00:00:00"));
  Put("ckpts/run-5/.tessera/saves/1.json", "{}");
  EXPECT_EQ(LatestPath(), "ckpts/run-5");
}

TEST_F(CatalogueTest, UnreadableMetadataIsReportedAndComesLast) {
  Put("ckpts/run-1/metadata.json", Metadata(1, "2026-01-01T00:00:00"));
  Put("ckpts/run-2/metadata.json", "{");
  Put("ckpts/run-2/tensorstore_index.json", kIndex);
  Put("ckpts/run-3/metadata.json", Metadata(3, "yesterday"));
  const Catalogue catalogue = Read();
  EXPECT_EQ(LatestPath(), "ckpts/run-1");
  EXPECT_TRUE(catalogue.steps[1].committed);
  EXPECT_THAT(catalogue.steps[1].problem, HasSubstr("metadata.json: bad JSON"));
  EXPECT_FALSE(catalogue.steps[2].committed);
  EXPECT_EQ(
      catalogue.steps[2].problem,
      "metadata.json: timestamp: expected a time like 2026-06-21T08:08:41, found 'yesterday'");
  ASSERT_THAT(store_->Delete("ckpts/run-1/metadata.json"), IsOk());
  EXPECT_EQ(LatestPath(), "ckpts/run-2");
}

TEST_F(CatalogueTest, TheNameTellsTheStep) {
  Put("ckpts/run-5/metadata.json", Metadata(-1, "2026-01-01T00:00:00"));
  Put("ckpts/run-6/metadata.json", Metadata(60, "2026-01-01T00:00:00"));
  const Catalogue catalogue = Read();
  EXPECT_EQ(catalogue.steps[0].step, 5);
  EXPECT_EQ(catalogue.steps[0].problem, "");
  EXPECT_EQ(catalogue.steps[1].step, 6);
  EXPECT_EQ(catalogue.steps[1].problem, "metadata.json: expected step 6, found 60");
}

TEST_F(CatalogueTest, ABaseThatIsNoPrefixIsAnError) {
  EXPECT_THAT(ReadCatalogue(*store_, "../ckpts"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("../ckpts")));
}

TEST(RunFolderNameTest, IsReadBack) {
  EXPECT_EQ(RunFolderName(1000), "run-1000");
  EXPECT_EQ(StepOfRunFolder("run-1000"), 1000);
  EXPECT_EQ(StepOfRunFolder("run-0"), 0);
  for (const char* name : {"run-", "run-01", "run--1", "run-+1", "run-1x", "runs-1", "run- 1",
                           "run-9223372036854775808"}) {
    EXPECT_EQ(StepOfRunFolder(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace tessera::steps
