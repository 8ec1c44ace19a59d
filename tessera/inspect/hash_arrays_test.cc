#include "tessera/inspect/hash_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/array/testing/arrays.h"
#include "tessera/checkpoint/content_hash.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/comm/threads.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"

namespace tessera::inspect {
namespace {

using ::tessera::array::testing::HostIota;
using ::tessera::checkpoint::Checkpoint;
using ::tessera::checkpoint::CheckpointArray;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Each;
using ::testing::Eq;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using StorePtr = std::shared_ptr<store::KvStore>;

// Arrays of many sizes, one of them empty, chunked by rows.
StorePtr Saved() {
  StorePtr store = store::MakeMemoryStore();
  array::ValueTree::Items items;
  for (int i = 0; i < 30; ++i) {
    items.emplace_back(Concat("w", i), array::Value(HostIota({i * 7 % 30, 5})));
  }
  EXPECT_THAT(
      checkpoint::Save(array::ValueTree::MakeDict(std::move(items))).To(store).ChunkBytes(64).Run(),
      IsOk());
  return store;
}

std::vector<const CheckpointArray*> AllOf(const Checkpoint& checkpoint) {
  std::vector<const CheckpointArray*> arrays;
  for (const CheckpointArray& array : checkpoint.arrays()) arrays.push_back(&array);
  return arrays;
}

std::vector<std::string> OneByOne(const Checkpoint& checkpoint, IoContext& io) {
  std::vector<std::string> hashes;
  for (const CheckpointArray& array : checkpoint.arrays()) {
    hashes.push_back(checkpoint::HashContent(checkpoint, array, io).value());
  }
  return hashes;
}

TEST(HashArraysTest, GivesTheHashOfEachArrayWhateverTheThreads) {
  const StorePtr store = Saved();
  for (const int threads : {1, 2, 8}) {
    IoContext io({.in_flight = threads, .budget_bytes = 1 << 16});
    TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(*store, io));
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto hashes, HashArrays(opened, AllOf(opened), {.io = io}));
    EXPECT_EQ(hashes, OneByOne(opened, io));
  }
}

TEST(HashArraysTest, EveryRankGetsAllHashes) {
  const StorePtr store = Saved();
  IoContext alone;
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(*store, alone));
  const std::vector<std::string> expected = OneByOne(checkpoint, alone);
  for (const int ranks : {1, 2, 3, 40}) {
    std::vector<std::vector<std::string>> found(static_cast<size_t>(ranks));
    std::vector<HashProgress> told(static_cast<size_t>(ranks));
    const auto hash = [&](comm::Comm& comm) -> absl::Status {
      const auto rank = static_cast<size_t>(comm.rank());
      IoContext io({.in_flight = 2});
      TESSERA_ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(*store, io));
      TESSERA_ASSIGN_OR_RETURN(found[rank],
                               HashArrays(opened, AllOf(opened), {.io = io, .comm = &comm},
                                          [&](const HashProgress& now) { told[rank] = now; }));
      return absl::OkStatus();
    };
    ASSERT_THAT(comm::RunRanks(ranks, hash), IsOk());
    EXPECT_THAT(found, Each(Eq(expected)));
    if (ranks != 3) continue;
    for (const HashProgress& last : told) {
      EXPECT_EQ(last.arrays_done, 10);
      EXPECT_EQ(last.bytes_done, last.bytes_total);
      EXPECT_THAT(last.bytes_done, Gt(30 * 15 * 20 / 4));
    }
  }
}

TEST(HashArraysTest, NoArraysHaveNoHashes) {
  const StorePtr store = Saved();
  IoContext io;
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(*store, io));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto hashes, HashArrays(opened, {}, {.io = io}));
  EXPECT_THAT(hashes, IsEmpty());
}

TEST(HashArraysTest, AnErrorNamesTheArrayOnEveryRank) {
  const StorePtr store = Saved();
  IoContext alone;
  ASSERT_THAT(store->Write("w13/0.0", std::as_bytes(std::span(std::string_view("no")))), IsOk());
  std::vector<absl::Status> errors(3);
  const auto hash = [&](comm::Comm& comm) -> absl::Status {
    IoContext io({.in_flight = 2});
    TESSERA_ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(*store, io));
    errors[static_cast<size_t>(comm.rank())] =
        HashArrays(opened, AllOf(opened), {.io = io, .comm = &comm}).status();
    return absl::OkStatus();
  };
  ASSERT_THAT(comm::RunRanks(3, hash), IsOk());
  EXPECT_THAT(errors, Each(StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w13: "))));
}

TEST(HashArraysTest, RanksWithOtherArraysAreTold) {
  const StorePtr store = Saved();
  std::vector<absl::Status> errors(2);
  const auto hash = [&](comm::Comm& comm) -> absl::Status {
    IoContext io({.in_flight = 2});
    TESSERA_ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(*store, io));
    auto arrays = AllOf(opened);
    if (comm.rank() == 1) arrays.pop_back();
    errors[static_cast<size_t>(comm.rank())] =
        HashArrays(opened, arrays, {.io = io, .comm = &comm}).status();
    return absl::OkStatus();
  };
  ASSERT_THAT(comm::RunRanks(2, hash), IsOk());
  EXPECT_THAT(errors, Each(StatusIs(absl::StatusCode::kAborted, HasSubstr("has other arrays"))));
}

TEST(HashArraysTest, StopsWhenAsked) {
  const StorePtr store = Saved();
  IoContext io({.in_flight = 2});
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Checkpoint::Open(*store, io));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(HashArrays(opened, AllOf(opened), {.io = io}, nullptr, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
}

}  // namespace
}  // namespace tessera::inspect
