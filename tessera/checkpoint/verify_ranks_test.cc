// Verify by several ranks: the report of one, on every rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

#include "tessera/array/testing/arrays.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/testing/stored_set.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::HostIota;
using ::tessera::checkpoint::testing::StoredSet;
using ::tessera::checkpoint::testing::WriteText;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using StorePtr = std::shared_ptr<store::KvStore>;

// What each rank gets, and the bytes that each was told of.
struct Outcome {
  std::vector<absl::StatusOr<VerifyReport>> reports;
  std::vector<int64_t> bytes;
};

Outcome VerifyWith(int ranks, const std::function<store::KvStore&(int rank)>& store_of,
                   bool quick = false) {
  Outcome outcome{std::vector<absl::StatusOr<VerifyReport>>(static_cast<size_t>(ranks)),
                  std::vector<int64_t>(static_cast<size_t>(ranks))};
  EXPECT_THAT(
      comm::RunRanks(
          ranks,
          [&](comm::Comm& comm) {
            const auto rank = static_cast<size_t>(comm.rank());
            IoContext io({.in_flight = 2});
            const auto progress = [&, rank](int64_t done, int64_t) { outcome.bytes[rank] = done; };
            outcome.reports[rank] = VerifyCheckpoint(
                store_of(comm.rank()), io,
                {.quick = quick, .file = {}, .progress = progress, .comm = &comm, .limit = {}});
            return absl::OkStatus();
          }),
      IsOk());
  return outcome;
}

// Damages a byte of some stored values, takes one away, and makes one longer.
void Damage(store::KvStore& store, const std::vector<std::string>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    std::string text(store.Read(keys[i])->value->text());
    if (i % 3 == 0) text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    if (i % 3 == 2) text += "x";
    if (i % 3 == 1) {
      ASSERT_THAT(store.Delete(keys[i]), IsOk());
    } else {
      WriteText(store, keys[i], text);
    }
  }
}

std::vector<std::string> EveryNth(store::KvStore& store, std::string_view prefix, size_t n) {
  std::vector<std::string> keys;
  const auto listed = store.List(prefix).value();
  for (size_t i = 0; i < listed.size(); i += n) keys.push_back(listed[i].key);
  return keys;
}

void ExpectSameForAnyRanks(store::KvStore& store, bool quick = false) {
  IoContext io({.in_flight = 2});
  TESSERA_ASSERT_OK_AND_ASSIGN(const VerifyReport alone,
                               VerifyCheckpoint(store, io, {.quick = quick}));
  for (const int ranks : {1, 2, 3, 5}) {
    SCOPED_TRACE(ranks);
    const Outcome outcome = VerifyWith(
        ranks, [&](int) -> store::KvStore& { return store; }, quick);
    for (const auto& report : outcome.reports) {
      ASSERT_THAT(report, IsOk());
      EXPECT_EQ(ToJson(*report).dump(1), ToJson(alone).dump(1));
    }
  }
}

StorePtr Saved() {
  StorePtr store = store::MakeMemoryStore();
  array::ValueTree::Items items;
  for (int i = 0; i < 20; ++i) {
    items.emplace_back(Concat("w", i), array::Value(HostIota({8 + i, 4})));
  }
  EXPECT_THAT(Save(array::ValueTree::MakeDict(std::move(items)))
                  .To(store)
                  .Prefix("model")
                  .ChunkBytes(32)
                  .Run(),
              IsOk());
  return store;
}

StorePtr Unsealed() {
  StorePtr store = store::MakeMemoryStore();
  IoContext io({.in_flight = 2});
  for (int i = 0; i < 10; ++i) {
    const ShapeDtype about{{9, 4}, DType::kInt32};
    const auto array =
        zarr::Array::Create(*store, Concat("a/", i), zarr::JaxMetadata(about, Dims{2, 4})).value();
    EXPECT_THAT(array.Write(Box::Whole(about.shape), HostIota({9, 4}).view(), io), IsOk());
  }
  return store;
}

TEST(VerifyRanksTest, AWholeCheckpointIsWholeForAnyRanks) {
  ExpectSameForAnyRanks(*Saved());
  ExpectSameForAnyRanks(*Unsealed());
}

TEST(VerifyRanksTest, DamagedChunksAreReportedAsOneRankDoes) {
  const StorePtr store = Saved();
  Damage(*store, EveryNth(*store, "model/", 5));
  ExpectSameForAnyRanks(*store);
  ExpectSameForAnyRanks(*store, true);
}

TEST(VerifyRanksTest, DamagedChunksThatNobodyVouchesForAreReportedAsOneRankDoes) {
  const StorePtr store = Unsealed();
  Damage(*store, EveryNth(*store, "a/", 4));
  WriteText(*store, "a/7/.zarray", "{");
  ExpectSameForAnyRanks(*store);
  ExpectSameForAnyRanks(*store, true);
}

TEST(VerifyRanksTest, DamagedBlocksOfFilesAreReportedAsOneRankDoes) {
  StoredSet set;
  for (int i = 0; i < 12; ++i) set.Add("model.safetensors", Concat("t", i), {50 + i});
  set.WriteFiles();
  IoContext io({.in_flight = 2});
  ASSERT_THAT(SealCheckpoint(set.store(), io), IsOk());
  ExpectSameForAnyRanks(set.store());
  std::string text = set.TextOf("model.safetensors");
  for (size_t at = text.size() - 800; at < text.size(); at += 200) text[at] ^= 1;
  WriteText(set.store(), "model.safetensors", text);
  TESSERA_ASSERT_OK_AND_ASSIGN(const VerifyReport alone, VerifyCheckpoint(set.store(), io));
  EXPECT_THAT(alone.problems, SizeIs(4));
  ExpectSameForAnyRanks(set.store());
  WriteText(set.store(), "model.safetensors", text.substr(0, 20));
  ExpectSameForAnyRanks(set.store());
}

TEST(VerifyRanksTest, EveryRankReadsAShare) {
  const StorePtr store = Saved();
  const Outcome outcome = VerifyWith(3, [&](int) -> store::KvStore& { return *store; });
  EXPECT_THAT(outcome.bytes, Each(Gt(outcome.reports[0]->bytes / 4)));
  EXPECT_THAT(outcome.reports[0]->problems, IsEmpty());
}

TEST(VerifyRanksTest, RanksThatSeeDifferentCheckpointsAreTold) {
  const StorePtr one = Saved(), other = Saved();
  const Outcome outcome =
      VerifyWith(2, [&](int rank) -> store::KvStore& { return rank == 0 ? *one : *other; });
  EXPECT_THAT(outcome.reports,
              Each(StatusIs(absl::StatusCode::kAborted,
                            HasSubstr("rank 1 has found another checkpoint than rank 0"))));
}

TEST(VerifyRanksTest, TheErrorOfOneIsTheErrorOfAll) {
  const StorePtr one = Saved(), nothing = store::MakeMemoryStore();
  const Outcome outcome =
      VerifyWith(3, [&](int rank) -> store::KvStore& { return rank == 1 ? *nothing : *one; });
  EXPECT_THAT(outcome.reports, Each(StatusIs(absl::StatusCode::kNotFound, HasSubstr("rank 1: "))));
}

TEST(SealProgressTest, TellsOfEveryByte) {
  const StorePtr store = Unsealed();
  IoContext io({.in_flight = 2});
  int64_t last = 0, total = 0;
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const SealReport report,
      SealCheckpoint(*store, io, {.file = {}, .progress = [&](int64_t done, int64_t all) {
                                    EXPECT_GT(done, last);
                                    last = done;
                                    total = all;
                                  }}));
  EXPECT_EQ(report.chunks, 50);
  EXPECT_EQ(last, 2 * report.bytes);
  EXPECT_GT(total, last);  // metadata is listed as well
  EXPECT_THAT(VerifyCheckpoint(*store, io)->problems, IsEmpty());
}

}  // namespace
}  // namespace tessera::checkpoint
