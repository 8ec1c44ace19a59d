#include "tessera/comm/testing/conformance.h"

#include <gmock/gmock.h>

#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "tessera/core/bytes.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::comm::testing {

// A binary need not register an engine with every suite.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CommConformance);

namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Bytes that tell by their values which piece they are.
std::vector<std::byte> Pattern(uint64_t seed, size_t size) {
  std::vector<std::byte> bytes(size);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

Bytes PatternBytes(uint64_t seed, size_t size) { return Bytes::Take(Pattern(seed, size)); }

// Sizes that engines treat differently: nothing, little, more than a message sent at once.
size_t RandomSize(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return 0;
    case 1:
      return random() % 16;
    case 2:
      return random() % 5000;
    default:
      return random() % 200'000;
  }
}

// One piece of a plan that all ranks draw from the same random numbers.
struct Piece {
  int from = 0;
  int to = 0;
  size_t size = 0;
  uint64_t seed = 0;
};

std::vector<Piece> RandomPlan(std::mt19937_64& random, int ranks) {
  const auto count = static_cast<uint64_t>(ranks);
  std::vector<Piece> plan(random() % (5 * count));
  for (Piece& piece : plan) {
    piece.from = static_cast<int>(random() % count);
    piece.to = static_cast<int>(random() % count);
    piece.size = RandomSize(random);
    piece.seed = random();
  }
  return plan;
}

// Runs this rank's part of the plan and compares what came with what the plan says.
void RunPlan(Comm& comm, const std::vector<Piece>& plan) {
  std::vector<std::vector<std::byte>> out, in, expected;
  for (const Piece& piece : plan) {
    if (piece.from == comm.rank()) out.push_back(Pattern(piece.seed, piece.size));
    if (piece.to != comm.rank()) continue;
    in.emplace_back(piece.size, std::byte{0xEE});
    expected.push_back(Pattern(piece.seed, piece.size));
  }
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (const Piece& piece : plan) {
    if (piece.from == comm.rank()) sends.push_back({piece.to, out[sends.size()]});
    if (piece.to == comm.rank()) receives.push_back({piece.from, in[receives.size()]});
  }
  ASSERT_THAT(comm.Exchange(sends, receives), IsOk());
  EXPECT_EQ(in, expected);
}

int64_t NowNanoseconds() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

TEST_P(CommConformance, RanksAreNumberedFromZero) {
  OnEveryRank([](Comm& comm) {
    ASSERT_GE(comm.size(), 1);
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto all,
                                 comm.AllGather(Bytes::CopyOf(std::to_string(comm.rank()))));
    ASSERT_EQ(all.size(), static_cast<size_t>(comm.size()));
    for (size_t rank = 0; rank < all.size(); ++rank) {
      EXPECT_EQ(all[rank].text(), std::to_string(rank));
    }
  });
}

TEST_P(CommConformance, NobodyPassesABarrierBeforeAllHaveReachedIt) {
  OnEveryRank([](Comm& comm) {
    for (int round = 0; round < 5; ++round) {
      if (comm.rank() == round % comm.size()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      const int64_t reached = NowNanoseconds();
      ASSERT_THAT(comm.Barrier(), IsOk());
      const int64_t passed = NowNanoseconds();
      TESSERA_ASSERT_OK_AND_ASSIGN(const int64_t last, comm.AllReduce(reached, ReduceOp::kMax));
      EXPECT_GE(passed, last);
    }
  });
}

TEST_P(CommConformance, BroadcastGivesTheRootsValueToAll) {
  OnEveryRank([](Comm& comm) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{3'000'001}}) {
      for (int root = 0; root < comm.size(); ++root) {
        const uint64_t seed = size + static_cast<uint64_t>(root);
        const Bytes mine = comm.rank() == root ? PatternBytes(seed, size) : Bytes::CopyOf("other");
        EXPECT_THAT(comm.Broadcast(mine, root), IsOkAndHolds(PatternBytes(seed, size)));
      }
    }
  });
}

TEST_P(CommConformance, GatherGivesEveryValueToTheRoot) {
  OnEveryRank([](Comm& comm) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 20; ++round) {
      const int root = round % comm.size();
      std::vector<Bytes> expected;
      for (int rank = 0; rank < comm.size(); ++rank) {
        expected.push_back(PatternBytes(random(), RandomSize(random)));
      }
      TESSERA_ASSERT_OK_AND_ASSIGN(const auto all,
                                   comm.Gather(expected[static_cast<size_t>(comm.rank())], root));
      if (comm.rank() != root) expected.clear();
      EXPECT_EQ(all, expected);
    }
  });
}

TEST_P(CommConformance, AllGatherGivesEveryValueToAll) {
  OnEveryRank([](Comm& comm) {
    std::mt19937_64 random(12);
    for (int round = 0; round < 20; ++round) {
      std::vector<Bytes> expected;
      for (int rank = 0; rank < comm.size(); ++rank) {
        expected.push_back(PatternBytes(random(), RandomSize(random)));
      }
      EXPECT_THAT(comm.AllGather(expected[static_cast<size_t>(comm.rank())]),
                  IsOkAndHolds(ElementsAreArray(expected)));
    }
  });
}

TEST_P(CommConformance, AllToAllGivesEachPairItsValue) {
  OnEveryRank([](Comm& comm) {
    std::mt19937_64 random(13);
    for (int round = 0; round < 20; ++round) {
      std::vector<Bytes> out(static_cast<size_t>(comm.size()));
      std::vector<Bytes> expected(out.size());
      for (int from = 0; from < comm.size(); ++from) {
        for (int to = 0; to < comm.size(); ++to) {
          const Bytes value = PatternBytes(random(), RandomSize(random));
          if (from == comm.rank()) out[static_cast<size_t>(to)] = value;
          if (to == comm.rank()) expected[static_cast<size_t>(from)] = value;
        }
      }
      EXPECT_THAT(comm.AllToAll(out), IsOkAndHolds(ElementsAreArray(expected)));
    }
  });
}

TEST_P(CommConformance, ExchangeDoesWhatRandomPlansSay) {
  OnEveryRank([](Comm& comm) {
    std::mt19937_64 random(14);
    for (int round = 0; round < 60; ++round) RunPlan(comm, RandomPlan(random, comm.size()));
  });
}

TEST_P(CommConformance, ExchangeMatchesManyPiecesOfAPairInOrder) {
  OnEveryRank([](Comm& comm) {
    std::vector<Piece> plan;
    for (int i = 0; i < 300; ++i) {
      const int to = (i % 3 == 0) ? 0 : comm.size() - 1;
      plan.push_back({i % comm.size(), to, 64, static_cast<uint64_t>(i)});
    }
    RunPlan(comm, plan);
  });
}

TEST_P(CommConformance, ReductionsTakeEveryRanksValue) {
  OnEveryRank([](Comm& comm) {
    const int64_t n = comm.size();
    const int64_t rank = comm.rank();
    EXPECT_THAT(comm.AllReduce(-rank, ReduceOp::kMin), IsOkAndHolds(1 - n));
    EXPECT_THAT(comm.AllReduce(rank * 10, ReduceOp::kMax), IsOkAndHolds((n - 1) * 10));
    EXPECT_THAT(comm.AllReduce(rank + 1, ReduceOp::kSum), IsOkAndHolds(n * (n + 1) / 2));
    EXPECT_THAT(comm.AllReduce(7 & ~(rank == n - 1 ? 2 : 0), ReduceOp::kAnd), IsOkAndHolds(5));
    EXPECT_THAT(comm.AllReduce(INT64_MIN, ReduceOp::kMax), IsOkAndHolds(INT64_MIN));
    EXPECT_THAT(comm.AllReduce(INT64_MAX, ReduceOp::kMin), IsOkAndHolds(INT64_MAX));
  });
}

TEST_P(CommConformance, CallsOfEveryKindFollowEachOther) {
  OnEveryRank([](Comm& comm) {
    std::mt19937_64 random(15);
    for (int round = 0; round < 200; ++round) {
      const int root = static_cast<int>(random() % static_cast<uint64_t>(comm.size()));
      const Bytes value = PatternBytes(random(), random() % 300);
      switch (random() % 6) {
        case 0:
          ASSERT_THAT(comm.Barrier(), IsOk());
          break;
        case 1:
          ASSERT_THAT(comm.Broadcast(value, root), IsOkAndHolds(value));
          break;
        case 2:
          ASSERT_THAT(comm.AllGather(value),
                      IsOkAndHolds(std::vector<Bytes>(static_cast<size_t>(comm.size()), value)));
          break;
        case 3:
          ASSERT_THAT(comm.AllReduce(round, ReduceOp::kMin), IsOkAndHolds(round));
          break;
        case 4:
          ASSERT_THAT(comm.Agree(absl::OkStatus()), IsOk());
          break;
        default:
          RunPlan(comm, RandomPlan(random, comm.size()));
      }
    }
  });
}

TEST_P(CommConformance, AllRanksAgreeOnTheErrorOfOne) {
  OnEveryRank([](Comm& comm) {
    for (int failing = 0; failing < comm.size(); ++failing) {
      const bool mine = comm.rank() == failing;
      const std::string who = comm.size() == 1 ? "" : Concat("rank ", failing, ": ");
      EXPECT_THAT(comm.Agree(mine ? NotFound("no step 7") : absl::OkStatus()),
                  StatusIs(absl::StatusCode::kNotFound, Concat(who, "no step 7")));
    }
    EXPECT_THAT(comm.Agree(absl::OkStatus()), IsOk());
  });
}

TEST_P(CommConformance, AllRanksAgreeOnTheErrorsOfMany) {
  OnEveryRank([](Comm& comm) {
    const auto mine = WithKind(InvalidArgument("rank's own ", comm.rank()), ErrorKind::kNoMesh);
    const absl::Status agreed = comm.Agree(mine);
    const int last = std::min(comm.size(), 8) - 1;
    const auto told = [&](int rank) {
      return HasSubstr(
          Concat(comm.size() == 1 ? "" : Concat("rank ", rank, ": "), "rank's own ", rank));
    };
    EXPECT_THAT(agreed, StatusIs(absl::StatusCode::kInvalidArgument, AllOf(told(0), told(last))));
    EXPECT_THAT(agreed, HasKind(ErrorKind::kNoMesh));
  });
}

TEST_P(CommConformance, AnAgreedMessageIsBounded) {
  OnEveryRank([](Comm& comm) {
    const absl::Status agreed = comm.Agree(DataLoss(std::string(1'000'000, 'x')));
    EXPECT_EQ(agreed.code(), absl::StatusCode::kDataLoss);
    EXPECT_LT(agreed.message().size(), 40'000u);
  });
}

TEST_P(CommConformance, AWrongRootIsAnErrorOnEveryRank) {
  OnEveryRank([](Comm& comm) {
    const int n = comm.size();
    EXPECT_THAT(comm.Broadcast(Bytes(), n),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         Concat("Broadcast (call 0): root ", n, " is none of ", n, " ranks")));
    EXPECT_THAT(comm.Gather(Bytes(), -1),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("root -1 is none of")));
    const int own = comm.rank() == n - 1 ? n : 0;
    EXPECT_THAT(comm.Gather(Bytes(), own),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(n == 1 ? "root 1 is none of 1" : "same root or operation")));
    EXPECT_THAT(comm.Barrier(), IsOk());
  });
}

TEST_P(CommConformance, AWrongNumberOfValuesIsAnErrorOnEveryRank) {
  OnEveryRank([](Comm& comm) {
    const int n = comm.size();
    const int count = comm.rank() == n - 1 ? n + 2 : n;
    EXPECT_THAT(comm.AllToAll(std::vector<Bytes>(static_cast<size_t>(count))),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         Concat("AllToAll (call 0): rank ", n - 1, " gives ", n + 2, " values for ",
                                n, " ranks")));
    EXPECT_THAT(comm.Barrier(), IsOk());
  });
}

TEST_P(CommConformance, APlanThatNamesNoRankIsAnErrorOnEveryRank) {
  OnEveryRank([](Comm& comm) {
    const int n = comm.size();
    const std::vector<std::byte> out(3);
    const std::vector<Send> wrong = {{n + 5, out}};
    const std::vector<Send> none;
    EXPECT_THAT(comm.Exchange(comm.rank() == 0 ? wrong : none, {}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         Concat("Exchange (call 0): rank 0 names rank ", n + 5,
                                ", which is none of ", n, " ranks")));
    EXPECT_THAT(comm.Barrier(), IsOk());
  });
}

TEST_P(CommConformance, APlanOnWhichTwoRanksDifferIsAnErrorOnEveryRank) {
  OnEveryRank([](Comm& comm) {
    const int last = comm.size() - 1;
    const std::vector<std::byte> out(3);
    std::vector<std::byte> in(4);
    std::vector<Send> sends;
    std::vector<Receive> receives;
    if (comm.rank() == 0) sends.push_back({last, out});
    if (comm.rank() == last) receives.push_back({0, in});
    EXPECT_THAT(comm.Exchange(sends, receives),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         Concat("Exchange (call 0): rank 0 sends to rank ", last,
                                " pieces of other sizes or numbers than rank ", last, " expects")));
    EXPECT_THAT(comm.Exchange(sends, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 0 sends to rank")));
    EXPECT_THAT(comm.Barrier(), IsOk());
  });
}

}  // namespace tessera::comm::testing
