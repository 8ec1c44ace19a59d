// Every byte of small safetensors sets is damaged in turn: verify must name the file, and a load
// must refuse.
#include "tessera/checkpoint/verify_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/checkpoint/testing/stored_set.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::checkpoint::testing::kSetIndex;
using ::tessera::checkpoint::testing::StoredSet;
using ::tessera::checkpoint::testing::TwoFiles;
using ::tessera::checkpoint::testing::WriteText;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFirst = "model-00001-of-00002.safetensors";
const std::string kSecond = "model-00002-of-00002.safetensors";

// The files of a problem list, each once.
std::vector<std::string> FilesOf(const VerifyReport& report) {
  std::vector<std::string> files;
  for (const VerifyProblem& problem : report.problems) {
    if (files.empty() || files.back() != problem.file) files.push_back(problem.file);
  }
  return files;
}

class VerifySetTest : public ::testing::Test {
 protected:
  absl::Status TryLoad(store::KvStore& store) {
    TESSERA_ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(store, io_));
    return LoadCheckpoint(opened, {}, {io_, *platform_}).status();
  }
  VerifyReport Verify(store::KvStore& store, bool quick = false) {
    const auto report = VerifyCheckpoint(store, io_, {.quick = quick});
    EXPECT_THAT(report, IsOk());
    return report.ok() ? *report : VerifyReport{};
  }
  // Damages every file in every way and puts it back.
  void DamageAll(store::KvStore& store) {
    const auto files = store.List("").value();
    for (const store::ListEntry& file : files) {
      const Bytes value = store.Read(file.key)->value.value();
      const auto check = [&](const std::string& what) {
        SCOPED_TRACE(Concat(file.key, ": ", what));
        EXPECT_THAT(FilesOf(Verify(store)), ElementsAre(file.key));
        EXPECT_FALSE(TryLoad(store).ok());
      };
      for (size_t at = 0; at < value.size(); ++at) {
        std::string text(value.text());
        text[at] = static_cast<char>(text[at] ^ (1 << (at % 8)));
        WriteText(store, file.key, text);
        check(Concat("byte ", at, " flipped"));
      }
      for (size_t size = 0; size < value.size(); size += 1 + value.size() / 40) {
        WriteText(store, file.key, value.text().substr(0, size));
        check(Concat("cut to ", size, " bytes"));
      }
      WriteText(store, file.key, Concat(value.text(), "x"));
      check("a byte added");
      ASSERT_THAT(store.Delete(file.key), IsOk());
      if (!PrefixOfSeal(file.key).has_value()) check("deleted");
      WriteText(store, file.key, value.text());
    }
    EXPECT_THAT(Verify(store).problems, IsEmpty());
  }

  IoContext io_{{.in_flight = 2}};
  std::unique_ptr<device::Platform> platform_ = device::MakeHostPlatform({.count = 1}).value();
};

TEST_F(VerifySetTest, EveryDamageOfASealedSetIsFoundAndRefused) {
  StoredSet set = TwoFiles();
  set.WriteFiles({{"format", "np"}}).WriteIndex();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  const VerifyReport clean = Verify(set.store());
  ASSERT_THAT(clean.problems, IsEmpty());
  EXPECT_EQ(clean.arrays, 4);
  EXPECT_EQ(clean.chunks, 3);
  EXPECT_EQ(clean.unsealed_arrays, 0);
  const int64_t all =
      static_cast<int64_t>(set.TextOf(kFirst, {{"format", "np"}}).size() +
                           set.TextOf(kSecond, {{"format", "np"}}).size() + set.IndexText().size());
  EXPECT_EQ(clean.bytes, all);
  DamageAll(set.store());
}

TEST_F(VerifySetTest, EveryDamageOfASealedFileIsFoundAndRefused) {
  StoredSet set;
  set.Add("model.safetensors", "w", {3}).WriteFiles();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  DamageAll(set.store());
}

TEST_F(VerifySetTest, EveryDamageOfASealedSeriesIsFoundAndRefused) {
  StoredSet set;
  set.Add(kFirst, "v", {2}).Add(kSecond, "w", {3}).WriteFiles();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  DamageAll(set.store());
}

TEST_F(VerifySetTest, NamesTensorFileAndBytes) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  std::string text = set.TextOf(kFirst);
  text.back() ^= 1;
  WriteText(set.store(), kFirst, text);
  const VerifyReport report = Verify(set.store());
  ASSERT_EQ(report.problems.size(), 1);
  EXPECT_EQ(report.problems[0].key, "flags");
  EXPECT_EQ(report.problems[0].file, kFirst);
  EXPECT_THAT(report.problems[0].problem,
              AllOf(HasSubstr(Concat("bytes [", text.size() - 3, ", ", text.size(), ")")),
                    HasSubstr("its bytes have changed")));
}

TEST_F(VerifySetTest, FilesThatWereSwappedAreBothNamed) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  WriteText(set.store(), kFirst, set.TextOf(kSecond));
  WriteText(set.store(), kSecond, set.TextOf(kFirst));
  EXPECT_THAT(FilesOf(Verify(set.store())), ElementsAre(kFirst, kSecond));
  EXPECT_THAT(TryLoad(set.store()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("does not hold it")));
}

TEST_F(VerifySetTest, QuickLooksAtSizesOnly) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  std::string text = set.TextOf(kSecond);
  text.back() ^= 1;
  WriteText(set.store(), kSecond, text);
  EXPECT_THAT(Verify(set.store(), true).problems, IsEmpty());
  EXPECT_THAT(FilesOf(Verify(set.store())), ElementsAre(kSecond));
  text.pop_back();
  WriteText(set.store(), kSecond, text);
  EXPECT_THAT(FilesOf(Verify(set.store(), true)), ElementsAre(kSecond));
  WriteText(set.store(), kSecond, set.TextOf(kSecond, {{"longer", "header"}}));
  EXPECT_THAT(FilesOf(Verify(set.store(), true)), ElementsAre(kSecond));
}

TEST_F(VerifySetTest, WithoutAManifestHeadersAndSizesMustFit) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  VerifyReport report = Verify(set.store());
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.arrays, 4);
  EXPECT_EQ(report.unsealed_arrays, 4);
  std::string text = set.TextOf(kSecond);
  text.pop_back();
  WriteText(set.store(), kSecond, text);
  EXPECT_THAT(FilesOf(Verify(set.store())), ElementsAre(kSecond));
  ASSERT_THAT(set.store().Delete(kSecond), IsOk());
  EXPECT_THAT(FilesOf(Verify(set.store())), ElementsAre(kSecond));
  set.WriteFiles();
  WriteText(set.store(), kSetIndex,
            Concat(R"({"weight_map": {"gone": ")", kFirst, R"(", "none": ")", kSecond, R"("}})"));
  report = Verify(set.store(), true);
  ASSERT_EQ(report.problems.size(), 1);
  EXPECT_EQ(report.problems[0].file, kSetIndex);
  EXPECT_THAT(report.problems[0].problem, HasSubstr("tensor 'gone' should be in"));
}

TEST_F(VerifySetTest, WhatIsDamagedIsNotSealed) {
  StoredSet set;
  set.Add("model.safetensors", {"flags", DType::kBool, {3}, {"\0\2\1", 3}}).WriteFiles();
  EXPECT_THAT(SealCheckpoint(set.store(), io_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("array 'flags'"), HasSubstr("neither 0 nor 1"))));
  EXPECT_THAT(ListSeals(set.store()).value(), IsEmpty());
}

TEST_F(VerifySetTest, WhatASaveHasPutBesideTheFilesIsVerifiedAndNotNeeded) {
  StoredSet set;
  set.Add("model.safetensors", "w", {3}).WriteFiles();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  const std::string key = SealKey("model.safetensors");
  ledger::Manifest manifest = **ReadManifest(set.store(), key);
  for (const char* name : {"notes.json", "deep/notes.json"}) {
    manifest.files.push_back({name, 2, HashOf("{}")});
    WriteText(set.store(), name, "{}");
  }
  WriteText(set.store(), key, *ledger::EncodeManifest(manifest));
  EXPECT_THAT(Verify(set.store()).problems, IsEmpty());
  for (const std::string& name : {std::string("notes.json"), std::string("deep/notes.json")}) {
    WriteText(set.store(), name, "[]");
    EXPECT_THAT(Verify(set.store(), true).problems, IsEmpty());
    EXPECT_THAT(FilesOf(Verify(set.store())), ElementsAre(name));
    EXPECT_THAT(TryLoad(set.store()), IsOk());
    ASSERT_THAT(set.store().Delete(name), IsOk());
    EXPECT_THAT(FilesOf(Verify(set.store(), true)), ElementsAre(name));
    WriteText(set.store(), name, "{}");
  }
}

TEST_F(VerifySetTest, AManifestOfASaveStaysAsLongAsItHolds) {
  StoredSet set;
  set.Add("model.safetensors", "w", {3}).WriteFiles();
  ASSERT_THAT(SealCheckpoint(set.store(), io_), IsOk());
  const std::string key = SealKey("model.safetensors");
  ledger::Manifest manifest = **ReadManifest(set.store(), key);
  manifest.id = "17";
  WriteText(set.store(), key, *ledger::EncodeManifest(manifest));
  EXPECT_EQ(Checkpoint::Open(set.store(), io_)->integrity(), Integrity::kManifest);
  TESSERA_ASSERT_OK_AND_ASSIGN(const SealReport held, SealCheckpoint(set.store(), io_));
  EXPECT_THAT(held.had_seal, ElementsAre("model.safetensors"));
  EXPECT_THAT(held.sealed, IsEmpty());
  std::string text = set.TextOf("model.safetensors");
  text.back() ^= 1;
  WriteText(set.store(), "model.safetensors", text);
  TESSERA_ASSERT_OK_AND_ASSIGN(const SealReport replaced, SealCheckpoint(set.store(), io_));
  EXPECT_THAT(replaced.sealed, ElementsAre("model.safetensors"));
  EXPECT_THAT(replaced.replaced, ElementsAre("model.safetensors"));
  EXPECT_EQ(Checkpoint::Open(set.store(), io_)->integrity(), Integrity::kSeal);
  EXPECT_THAT(TryLoad(set.store()), IsOk());
}

}  // namespace
}  // namespace tessera::checkpoint
