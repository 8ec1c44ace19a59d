// The texts of records: round trips, damage, and what a hostile hand may write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/commit/checked_text.h"
#include "tessera/commit/commit_record.h"
#include "tessera/commit/owner.h"
#include "tessera/commit/paths.h"
#include "tessera/commit/save_record.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::commit {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

constexpr const char* kSaveId = "20260131T120000-0123456789abcdef";
constexpr const char* kOtherId = "20260131T120001-fedcba9876543210";

SaveRecord SampleSave() {
  return {kSaveId,       "model",   {"model/a", "model/b c"}, Placement::kInPlace, false, kOtherId,
          ThisProcess(), 1769860800};
}

CommitRecord SampleCommit() {
  CommittedSave save{.id = kSaveId,
                     .paths = {"model/a"},
                     .side_files = {"checkpoint_metadata.json"},
                     .obsolete_keys = {"model/a/7", ".tessera/manifests/x.json"},
                     .obsolete_folders = {"model/gone"},
                     .index = ledger::IndexChange{.prefix = "model",
                                                  .arrays = {{"model/a", {2}, "float32"}},
                                                  .note = {.manifest = "m", .nbytes = 8}},
                     .index_before = "{}"};
  return {kOtherId, ThisProcess(), 1769860800, save};
}

// The record's text with one part of it exchanged, and a hash that fits.
std::string Exchanged(std::string_view text, std::string_view part, std::string_view by) {
  std::string document(*RemoveHash(text));
  const size_t at = document.find(part);
  EXPECT_NE(at, std::string::npos) << part << " in " << document;
  return AddHash(document.replace(at, part.size(), by));
}

TEST(SaveRecordTest, ComesBackAsItWas) {
  EXPECT_THAT(DecodeSaveRecord(EncodeSaveRecord(SampleSave())), IsOkAndHolds(SampleSave()));
}

TEST(SaveRecordTest, EveryCutAndEveryFlippedByteIsFound) {
  const std::string text = EncodeSaveRecord(SampleSave());
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_THAT(DecodeSaveRecord(text.substr(0, i)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the record")));
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    EXPECT_THAT(DecodeSaveRecord(flipped),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the record")));
  }
}

TEST(SaveRecordTest, NamesTheFieldThatIsWrong) {
  const std::string text = EncodeSaveRecord(SampleSave());
  const auto expect = [&](std::string_view part, std::string_view by, absl::StatusCode code,
                          std::string_view message) {
    EXPECT_THAT(DecodeSaveRecord(Exchanged(text, part, by)),
                StatusIs(code, HasSubstr(std::string(message))));
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  expect("\"schema\":1", "\"schema\":2", absl::StatusCode::kUnimplemented,
         "schema: expected 1, found 2");
  expect(kSaveId, "../x", kInvalid, "id: expected an id, found '../x'");
  expect(kOtherId, "", kInvalid, "holder: expected an id, found ''");
  expect("\"model/a\"", "\"../a\"", kInvalid, "paths: key '../a'");
  expect("\"model/a\"", "\".tessera/saves\"", kInvalid, "paths: path '.tessera/saves' lies in");
  expect("\"model/a\"", "\".tessera\"", kInvalid, "paths: path '.tessera' lies in");
  expect("\"model/a\"", "7", kInvalid, "paths: expected a list of texts");
  expect("in_place", "elsewhere", kInvalid, "placement: expected 'staged' or 'in_place'");
  expect("\"started\":1769860800", "\"started\":true", kInvalid, "started");
  expect("\"start\":\"", "\"start\":\"x", kInvalid, "owner.start: expected a number, found 'x");
  expect("\"pid\":", "\"pit\":", kInvalid, "owner.pid");
}

TEST(SaveRecordTest, KeysAreOfIdsOnly) {
  EXPECT_EQ(IdOfSaveKey(SaveKey(kSaveId)), kSaveId);
  for (const char* key : {".tessera/saves/x.json", ".tessera/saves/.json", ".tessera/saves/",
                          "saves/20260131T120000-0123456789abcdef.json"}) {
    EXPECT_EQ(IdOfSaveKey(key), "") << key;
  }
}

TEST(CommitRecordTest, ComesBackAsItWas) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string text, EncodeCommitRecord(SampleCommit()));
  EXPECT_THAT(DecodeCommitRecord(text), IsOkAndHolds(SampleCommit()));
  CommitRecord lock = SampleCommit();
  lock.save.reset();
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string locked, EncodeCommitRecord(lock));
  EXPECT_THAT(DecodeCommitRecord(locked), IsOkAndHolds(lock));
}

TEST(CommitRecordTest, TheFilesOfASetComeBackAsTheyWere) {
  CommitRecord record = SampleCommit();
  record.save->index.reset();
  record.save->is_files = true;
  record.save->side_files = {".tessera/seals/x.json"};
  record.save->obsolete_keys = {"x.safetensors", ".tessera/seals/y.json"};
  for (const std::vector<std::string>& last : {std::vector<std::string>{}, {"x.index.json"}}) {
    record.save->last_files = last;
    TESSERA_ASSERT_OK_AND_ASSIGN(const std::string text, EncodeCommitRecord(record));
    EXPECT_THAT(DecodeCommitRecord(text), IsOkAndHolds(record));
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string text, EncodeCommitRecord(record));
  EXPECT_THAT(DecodeCommitRecord(Exchanged(text, "\"x.index.json\"", "\"../x\"")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("last_files: key '../x'")));
}

TEST(CommitRecordTest, EveryCutIsFound) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string text, EncodeCommitRecord(SampleCommit()));
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_THAT(DecodeCommitRecord(text.substr(0, i)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the record")));
  }
}

TEST(CommitRecordTest, NamesWhatNoSaveMayTouch) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string text, EncodeCommitRecord(SampleCommit()));
  const auto expect = [&](std::string_view part, std::string_view by, std::string_view message) {
    EXPECT_THAT(DecodeCommitRecord(Exchanged(text, part, by)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message))));
  };
  expect("\"committed\"", "\"done\"", "state: expected 'locked' or 'committed', found 'done'");
  expect("\"model/a/7\"", "\"../x\"", "save.obsolete_keys: key '../x'");
  expect("\"model/a/7\"", "\".tessera/saves/x\"", "save.obsolete_keys: path '.tessera/saves/x'");
  expect("\"model/a/7\"", "\"tensorstore_index.json\"", "is where the index is");
  expect("\"model/gone\"", "\"/\"", "save.obsolete_folders: key '/'");
  expect("\"model/gone\"", "\"\"", "save.obsolete_folders: key ''");
  expect("\"checkpoint_metadata.json\"", "\"tensorstore_index.json\"",
         "save.side_files: side file 'tensorstore_index.json'");
  expect("\"index\":\"{", "\"index\":\"[", "save.index");
}

TEST(PathSetTest, TellsWhatLiesBelow) {
  const PathSet paths({"a/b", "c"});
  EXPECT_EQ(paths.Over("a/b/0"), "a/b");
  EXPECT_EQ(paths.Over("a/b"), "a/b");
  EXPECT_EQ(paths.Over("a/bc"), std::nullopt);
  EXPECT_EQ(paths.Over("a"), std::nullopt);
  EXPECT_EQ(paths.Over("c/d/e/f"), "c");
  EXPECT_EQ(paths.Meeting("a"), "a/b");
  EXPECT_EQ(paths.Meeting("a/b/c"), "a/b");
  EXPECT_EQ(paths.Meeting("a/bc"), std::nullopt);
}

TEST(OwnerTest, AnIdIsAliveWhileThisProcessSaysSo) {
  const Owner me = ThisProcess();
  const auto hour = std::chrono::hours(1);
  EXPECT_EQ(LivenessOf(me, kSaveId, Now(), hour), Liveness::kDead);
  {
    const LiveId live(kSaveId);
    EXPECT_EQ(LivenessOf(me, kSaveId, 0, hour), Liveness::kAlive);
  }
  EXPECT_EQ(LivenessOf(me, kSaveId, Now(), hour), Liveness::kDead);
}

TEST(OwnerTest, AProcessOfThisBootIsLookedUp) {
  Owner other = ThisProcess();
  other.start += 1;  // the number was used again
  EXPECT_EQ(LivenessOf(other, kSaveId, Now(), std::chrono::hours(1)), Liveness::kDead);
  other = ThisProcess();
  other.pid = 1;
  other.start = 0;
  other.pid = int64_t{1} << 40;
  EXPECT_EQ(LivenessOf(other, kSaveId, Now(), std::chrono::hours(1)), Liveness::kDead);
}

TEST(OwnerTest, WhatCannotBeLookedUpHasALease) {
  const auto hour = std::chrono::hours(1);
  const auto expect_lease = [&](const Owner& owner) {
    EXPECT_EQ(LivenessOf(owner, kSaveId, Now() - 3500, hour), Liveness::kAlive);
    EXPECT_EQ(LivenessOf(owner, kSaveId, Now() - 3700, hour), Liveness::kExpired);
    EXPECT_EQ(LivenessOf(owner, kSaveId, INT64_MAX, hour), Liveness::kAlive);
    EXPECT_EQ(LivenessOf(owner, kSaveId, INT64_MIN, hour), Liveness::kExpired);
  };
  Owner other = ThisProcess();
  other.boot = "another";
  other.machine = "another";
  expect_lease(other);
  Owner twin = ThisProcess();  // made from the same image
  twin.boot = "another";
  twin.host = "twin";
  expect_lease(twin);
  Owner contained = ThisProcess();
  contained.pid_namespace = "pid:[1]";
  expect_lease(contained);
}

TEST(OwnerTest, ARebootEndsWhatRanBefore) {
  Owner before = ThisProcess();
  before.boot = "another";
  before.machine = ThisProcess().machine.empty() ? "m" : before.machine;
  const bool known = !ThisProcess().machine.empty() && !ThisProcess().boot.empty();
  EXPECT_EQ(LivenessOf(before, kSaveId, Now(), std::chrono::hours(1)),
            known ? Liveness::kDead : Liveness::kAlive);
}

TEST(OwnerTest, IdsAreNewAndOfOneForm) {
  const std::string id = NewId();
  EXPECT_TRUE(IsId(id)) << id;
  EXPECT_NE(id, NewId());
  for (const char* text :
       {"", "seal", "20260131T120000-0123456789abcdeg", "20260131T120000_0123456789abcdef",
        "20260131T120000-0123456789abcde/"}) {
    EXPECT_FALSE(IsId(text)) << text;
  }
  EXPECT_EQ(TimeText(1769860800), "2026-01-31T12:00:00Z");
}

}  // namespace
}  // namespace tessera::commit
