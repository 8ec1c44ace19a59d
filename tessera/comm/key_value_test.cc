// The engine of ranks that meet in a store of keys and values through the conformance suite, and
// what is special to it.
#include "tessera/comm/key_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tessera/comm/testing/conformance.h"
#include "tessera/comm/testing/memory_key_values.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::comm {
namespace {

using std::chrono::milliseconds;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using testing::CommConformance;
using testing::CommFailureConformance;
using ::testing::ElementsAre;
using testing::EngineMaker;
using testing::EngineName;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryKeyValues;
using ::testing::Not;
using testing::RankBody;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int64_t kMiB = int64_t{1} << 20;

// Runs the body as every rank, each on a thread of its own.
void RunOn(MemoryKeyValues& values, int ranks, int64_t block_bytes,
           const std::function<void(Comm&)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      TESSERA_ASSERT_OK_AND_ASSIGN(
          const auto comm,
          OpenKeyValue(values.MakeClient(),
                       {.session = "s", .rank = rank, .size = ranks, .block_bytes = block_bytes}));
      body(*comm);
    });
  }
}

EngineMaker KeyValues(int ranks, int64_t block_bytes) {
  return {Concat("ranks", ranks, "_blocks", block_bytes), [=](const RankBody& body) {
            MemoryKeyValues values;
            RunOn(values, ranks, block_bytes, [&](Comm& comm) { EXPECT_THAT(body(comm), IsOk()); });
            EXPECT_THAT(values.Keys(), IsEmpty());
            return absl::OkStatus();
          }};
}

INSTANTIATE_TEST_SUITE_P(KeyValue, CommConformance,
                         ::testing::Values(KeyValues(1, kMiB), KeyValues(2, kMiB),
                                           KeyValues(5, kMiB), KeyValues(3, 20'000)),
                         EngineName);
INSTANTIATE_TEST_SUITE_P(KeyValue, CommFailureConformance,
                         ::testing::Values(KeyValues(2, kMiB), KeyValues(5, kMiB)), EngineName);

TEST(KeyValueTest, ValuesAreSmallAndFewOfThemAreThereAtOnce) {
  MemoryKeyValues values;
  RunOn(values, 2, 1000, [](Comm& comm) {
    const std::vector<std::byte> out(100'000, std::byte{7});
    std::vector<std::byte> in(out.size());
    const std::vector<Send> sends = {{1 - comm.rank(), out}};
    const std::vector<Receive> receives = {{1 - comm.rank(), in}};
    ASSERT_THAT(comm.Exchange(sends, receives), IsOk());
    EXPECT_EQ(in, out);
    const Bytes value = Bytes::Take(out);
    EXPECT_THAT(comm.Broadcast(comm.rank() == 1 ? value : Bytes(), 1), IsOkAndHolds(value));
  });
  EXPECT_EQ(values.largest(), 1000u);
  EXPECT_LT(values.most(), 40'000u);
}

TEST(KeyValueTest, WhatWasReadIsDeletedWithTheNextMeeting) {
  MemoryKeyValues values;
  RunOn(values, 3, kMiB, [&](Comm& comm) {
    for (int i = 0; i < 100; ++i) ASSERT_THAT(comm.AllGather(Bytes::CopyOf("x")), IsOk());
    EXPECT_LT(values.Keys().size(), 20u);
    ASSERT_THAT(comm.Barrier(), IsOk());
  });
  EXPECT_THAT(values.Keys(), IsEmpty());
}

TEST(KeyValueTest, ALateFirstRankIsNamed) {
  MemoryKeyValues values;
  RunOn(values, 3, kMiB, [](Comm& comm) {
    if (comm.rank() == 0) {
      std::this_thread::sleep_for(milliseconds(500));
      return;
    }
    EXPECT_THAT(comm.Barrier({.timeout = milliseconds(100)}),
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         HasSubstr("Barrier (call 0): rank 0 did not come within 0.1 s")));
  });
}

// A client whose process dies after it has set some keys: nothing that it does is seen any more.
class DyingClient final : public KeyValueClient {
 public:
  DyingClient(std::shared_ptr<KeyValueClient> client, int sets)
      : client_(std::move(client)), sets_(sets) {}

  absl::Status Set(std::string_view key, std::span<const std::byte> value) override {
    return sets_-- > 0 ? client_->Set(key, value) : Dead();
  }
  absl::StatusOr<std::optional<Bytes>> Get(std::string_view key, milliseconds timeout) override {
    return sets_ < 0 ? Dead() : client_->Get(key, timeout);
  }
  absl::StatusOr<std::vector<KeyValue>> List(std::string_view folder) override {
    return sets_ < 0 ? Dead() : client_->List(folder);
  }
  absl::Status Delete(std::string_view key) override {
    return sets_ < 0 ? Dead() : client_->Delete(key);
  }

 private:
  static absl::Status Dead() { return Unavailable("dead"); }

  const std::shared_ptr<KeyValueClient> client_;
  int sets_;
};

// Ranks 0 and 1 of two, of which `dying` sets only `sets` keys; what the other one's exchange says.
absl::Status ExchangeWithADyingRank(int dying, int sets) {
  MemoryKeyValues values;
  absl::Status seen;
  const auto run = [&](int rank) {
    std::shared_ptr<KeyValueClient> client = values.MakeClient();
    if (rank == dying) client = std::make_shared<DyingClient>(std::move(client), sets);
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const auto comm,
        OpenKeyValue(std::move(client), {.session = "s", .rank = rank, .size = 2}));
    const std::vector<std::byte> out(10);
    std::vector<std::byte> in(10);
    const std::vector<Send> sends = {{1 - rank, out}};
    const std::vector<Receive> receives = {{1 - rank, in}};
    const absl::Status status = comm->Exchange(sends, receives, {.timeout = milliseconds(200)});
    if (rank != dying) seen = status;
  };
  {
    std::jthread first([&] { run(0); });
    std::jthread second([&] { run(1); });
  }
  return seen;
}

TEST(KeyValueTest, ARankThatDiesAtAnyPointIsNamed) {
  // An exchange meets, swaps sizes, meets again and moves: the first rank sets here and all, then
  // to, then here and all, then its block; the second one here, here, here and its block.
  for (const int dying : {0, 1}) {
    for (int sets = 0; sets < (dying == 0 ? 6 : 4); ++sets) {
      EXPECT_THAT(ExchangeWithADyingRank(dying, sets),
                  StatusIs(absl::StatusCode::kDeadlineExceeded,
                           AllOf(HasSubstr("Exchange (call 0)"),
                                 HasSubstr(Concat("rank ", dying, " did not ")))))
          << "rank " << dying << " after " << sets;
    }
  }
}

TEST(KeyValueTest, AnErrorOfTheStoreEndsTheCall) {
  MemoryKeyValues values;
  RunOn(values, 2, kMiB, [&](Comm& comm) {
    ASSERT_THAT(comm.Barrier(), IsOk());
    if (comm.rank() == 1) {
      values.Fail(Unavailable("the first process has ended"));
      return;
    }
    EXPECT_THAT(comm.Barrier(), StatusIs(absl::StatusCode::kUnavailable,
                                         "Barrier (call 1): the first process has ended"));
  });
}

TEST(KeyValueTest, AValueOfAnotherSizeIsAnErrorForAll) {
  MemoryKeyValues values;
  const std::vector<std::byte> odd(3);
  ASSERT_THAT(values.Set("s/2/here/1", odd), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto comm, OpenKeyValue(values.MakeClient(), {.session = "s", .rank = 0, .size = 2}));
  ASSERT_THAT(values.Set("s/1/here/1", std::as_bytes(std::span<const Mark>({Mark{}}))), IsOk());
  ASSERT_THAT(comm->Barrier(), IsOk());
  EXPECT_THAT(comm->Barrier(), StatusIs(absl::StatusCode::kInternal,
                                        "Barrier (call 1): a value of 3 bytes came, 16 expected"));
  EXPECT_THAT(values.List("s/gone/"), IsOkAndHolds(SizeIs(1)));
}

TEST(KeyValueTest, TwoSessionsDoNotMeet) {
  MemoryKeyValues values;
  ASSERT_THAT(values.Set("s2/1/here/1", {}), IsOk());
  RunOn(values, 2, kMiB, [](Comm& comm) { EXPECT_THAT(comm.Barrier(), IsOk()); });
  EXPECT_THAT(values.Keys(), ElementsAre("s2/1/here/1"));
}

TEST(OpenKeyValueTest, RefusesWhatIsNoRankSessionOrBlock) {
  MemoryKeyValues values;
  EXPECT_THAT(OpenKeyValue(values.MakeClient(), {.session = "s", .rank = 2, .size = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, "rank 2 is none of 2 ranks"));
  EXPECT_THAT(OpenKeyValue(values.MakeClient(), {.session = "s/", .rank = 0, .size = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the session is \"s/\", expected a name that does not end with a slash"));
  EXPECT_THAT(
      OpenKeyValue(values.MakeClient(), {.session = "s", .block_bytes = 0}),
      StatusIs(absl::StatusCode::kInvalidArgument, "block_bytes is 0, expected at least 1"));
}

}  // namespace
}  // namespace tessera::comm
