#include "tessera/checkpoint/detect_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/testing/stored_set.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::checkpoint::testing::kSetIndex;
using ::tessera::checkpoint::testing::StoredCheckpoint;
using ::tessera::checkpoint::testing::StoredSet;
using ::tessera::checkpoint::testing::TwoFiles;
using ::tessera::checkpoint::testing::WriteText;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FormatNameTest, IsWhatPeopleRead) {
  EXPECT_EQ(FormatName(Format::kTensorstore), "tensorstore");
  EXPECT_EQ(FormatName(Format::kSafetensors), "safetensors");
  EXPECT_EQ(FormatName(Format::kZarr), "zarr");
}

TEST(DecideSetTest, OneIndexOrOneFileIsTheSet) {
  EXPECT_THAT(DecideSet({}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(DecideSet({{}, {"any.bin"}}), IsOkAndHolds(ElementsAre("any.bin")));
  EXPECT_THAT(DecideSet({{{"i.json", {"a", "b"}}}, {"a", "b"}}),
              IsOkAndHolds(ElementsAre("i.json")));
}

TEST(DecideSetTest, AWholeSeriesIsOneSetWithoutAnIndex) {
  const std::vector<std::string> series{"m-00001-of-00003.safetensors",
                                        "m-00002-of-00003.safetensors",
                                        "m-00003-of-00003.safetensors"};
  EXPECT_THAT(DecideSet({{}, series}), IsOkAndHolds(series));
  EXPECT_THAT(DecideSet({{}, {series[0], series[2]}}),
              StatusIs(kInvalid, HasSubstr("2 sets of safetensors files")));
  EXPECT_THAT(DecideSet({{}, {series[0], "n-00002-of-00002.safetensors"}}),
              StatusIs(kInvalid, HasSubstr("2 sets of safetensors files")));
}

TEST(DecideSetTest, SeveralSetsAreNamed) {
  EXPECT_THAT(DecideSet({{}, {"a.safetensors", "b.safetensors"}}),
              StatusIs(kInvalid, HasSubstr("2 sets of safetensors files are here ('a.safetensors', "
                                           "'b.safetensors'), so the file of one must be named")));
  EXPECT_THAT(DecideSet({{{"i.json", {"a"}}, {"j.json", {"b"}}}, {"a", "b"}}),
              StatusIs(kInvalid, HasSubstr("('i.json', 'j.json')")));
  EXPECT_THAT(DecideSet({{{"i.json", {"a"}}}, {"a", "other"}}),
              StatusIs(kInvalid, HasSubstr("('i.json', 'other')")));
}

TEST(DecideSetTest, AnIndexThatCannotBeReadMayNameAnyFile) {
  EXPECT_THAT(DecideSet({{{.name = "i.json", .readable = false}}, {"a", "b"}}),
              IsOkAndHolds(ElementsAre("i.json")));
}

class DetectFormatTest : public ::testing::Test {
 protected:
  // The format and what it is opened with.
  std::string Found(store::KvStore& store, std::string_view file = "") {
    const auto view = commit::OpenView(store);
    EXPECT_THAT(view, IsOk());
    const auto detected = DetectFormat(*view, file, io_);
    if (!detected.ok()) return detected.status().ToString();
    std::string text(FormatName(detected->format));
    for (const std::string& name : detected->files) text += " " + name;
    return text;
  }

  IoContext io_{{.in_flight = 2}};
};

TEST_F(DetectFormatTest, TheIndexOfTensorstoreComesFirst) {
  StoredCheckpoint stored;
  stored.Add("w", {4}, {2}).Index();
  WriteText(stored.store(), "model.safetensors", "");
  EXPECT_EQ(Found(stored.store()), "tensorstore");
}

TEST_F(DetectFormatTest, ContentTellsAndNotTheName) {
  StoredSet set;
  set.Add("weights.bin", "w", {2}).WriteFiles();
  EXPECT_EQ(Found(set.store()), "safetensors weights.bin");
  WriteText(set.store(), "note.safetensors", "a text that is called so");
  WriteText(set.store(), "short.safetensors", "");
  WriteText(set.store(), "config.json", R"({"hidden_size": 8})");
  EXPECT_EQ(Found(set.store()), "safetensors weights.bin");
  WriteText(set.store(), "map", R"({"weight_map": {"w": "weights.bin"}})");
  EXPECT_EQ(Found(set.store()), "safetensors map");
}

TEST_F(DetectFormatTest, AnIndexMayStandBehindMuchMetadata) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex(Concat(R"({"notes": ")", std::string(70'000, 'x'), R"("})"));
  EXPECT_EQ(Found(set.store()), Concat("safetensors ", kSetIndex));
}

TEST_F(DetectFormatTest, ASeriesIsOpenedTogether) {
  StoredSet set = TwoFiles();
  set.WriteFiles();
  EXPECT_EQ(Found(set.store()),
            "safetensors model-00001-of-00002.safetensors model-00002-of-00002.safetensors");
}

TEST_F(DetectFormatTest, OneOfSeveralSetsMustBeNamed) {
  StoredSet set;
  set.Add("a.safetensors", "w", {2}).Add("b.safetensors", "w", {2}).WriteFiles();
  EXPECT_THAT(Found(set.store()), HasSubstr("'a.safetensors', 'b.safetensors'"));
  EXPECT_EQ(Found(set.store(), "b.safetensors"), "safetensors b.safetensors");
}

TEST_F(DetectFormatTest, WhatTesseraKeepsForItselfAndUnfinishedSavesAreNotLookedAt) {
  StoredSet set;
  set.Add("a.safetensors", "w", {2}).WriteFiles();
  WriteText(set.store(), ".tessera/data/x/b.safetensors", set.TextOf("a.safetensors"));
  WriteText(set.store(), "below/b.safetensors", set.TextOf("a.safetensors"));
  EXPECT_EQ(Found(set.store()), "safetensors a.safetensors");
  const std::vector<std::string> unfinished{"a.safetensors"};
  const auto listing = set.store().List("");
  EXPECT_THAT(LookAtFiles(set.store(), *listing, unfinished, io_), IsOkAndHolds(FolderFacts{}));
}

TEST_F(DetectFormatTest, ElseItIsZarr) {
  StoredCheckpoint stored;
  stored.Add("w", {4}, {2});
  EXPECT_EQ(Found(stored.store()), "zarr");
  const auto empty = store::MakeMemoryStore();
  EXPECT_EQ(Found(*empty), "zarr");
}

TEST_F(DetectFormatTest, AnIndexThatComesWhileItLooksIsSeen) {
  StoredCheckpoint stored;
  stored.Add("w", {4}, {2});
  const auto view = commit::OpenView(stored.store());
  ASSERT_THAT(view.status(), IsOk());
  WriteText(stored.store(), std::string(ledger::kIndexName), "replaced");
  EXPECT_THAT(DetectFormat(*view, "", io_),
              StatusIs(absl::StatusCode::kAborted, HasSubstr(std::string(ledger::kIndexName))));
}

TEST_F(DetectFormatTest, ASealedSetCountsThoughItsFilesAreDamagedOrGone) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  const std::string index(kSetIndex);
  for (const std::string& damaged : {std::string("nothing"), std::string("{}")}) {
    WriteText(set.store(), index, damaged);
    EXPECT_EQ(Found(set.store()), "safetensors " + index);
  }
  ASSERT_THAT(set.store().Delete(index), IsOk());
  EXPECT_EQ(Found(set.store()), "safetensors " + index);
}

}  // namespace
}  // namespace tessera::checkpoint
