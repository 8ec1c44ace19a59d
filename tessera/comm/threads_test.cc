// The engines of one process through the conformance suite, and what is special to RunRanks.
#include "tessera/comm/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/cord.h"
#include "tessera/comm/alone.h"
#include "tessera/comm/testing/conformance.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::comm {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using testing::CommConformance;
using testing::CommFailureConformance;
using testing::EngineMaker;
using testing::EngineName;
using testing::RankBody;

EngineMaker Threads(int ranks) {
  return {Concat("threads", ranks),
          [ranks](const RankBody& body) { return RunRanks(ranks, body); }};
}

EngineMaker Alone() {
  return {"alone", [](const RankBody& body) { return body(*MakeAlone()); }};
}

INSTANTIATE_TEST_SUITE_P(InOneProcess, CommConformance,
                         ::testing::Values(Alone(), Threads(1), Threads(2), Threads(5)),
                         EngineName);
INSTANTIATE_TEST_SUITE_P(InOneProcess, CommFailureConformance,
                         ::testing::Values(Threads(2), Threads(5)), EngineName);

TEST(RunRanksTest, RunsEveryRankOnce) {
  std::atomic<int> ranks = 0;
  EXPECT_THAT(RunRanks(3,
                       [&](Comm& comm) {
                         EXPECT_EQ(comm.size(), 3);
                         ranks += 1 << comm.rank();
                         return absl::OkStatus();
                       }),
              IsOk());
  EXPECT_EQ(ranks, 0b111);
}

TEST(RunRanksTest, ReturnsTheErrorThatTheOthersOnlyFollow) {
  EXPECT_THAT(RunRanks(4,
                       [](Comm& comm) {
                         if (comm.rank() == 2) return NotFound("no step 7");
                         return comm.Barrier();
                       }),
              StatusIs(absl::StatusCode::kNotFound, "rank 2: no step 7"));
}

TEST(RunRanksTest, WhatAnErrorCarriesStaysWithTheRankThatMadeIt) {
  constexpr char kUrl[] = "what only its maker can read";
  EXPECT_THAT(RunRanks(3,
                       [&](Comm& comm) {
                         absl::Status mine;
                         if (comm.rank() > 0) mine = NotFound("no step ", comm.rank());
                         if (!mine.ok()) mine.SetPayload(kUrl, absl::Cord("x"));
                         const absl::Status all = comm.Agree(mine);
                         EXPECT_EQ(all.code(), absl::StatusCode::kNotFound);
                         EXPECT_EQ(all.GetPayload(kUrl).has_value(), comm.rank() == 1);
                         return absl::OkStatus();
                       }),
              IsOk());
}

TEST(RunRanksTest, NeedsARank) {
  EXPECT_THAT(RunRanks(0, [](Comm&) { return absl::OkStatus(); }),
              StatusIs(absl::StatusCode::kInvalidArgument, "found 0 ranks, expected at least 1"));
}

}  // namespace
}  // namespace tessera::comm
