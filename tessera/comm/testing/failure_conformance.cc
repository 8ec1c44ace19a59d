#include <gmock/gmock.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "tessera/comm/testing/conformance.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::comm::testing {

// An engine of one rank has nobody to wait for.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CommFailureConformance);

namespace {

using std::chrono::milliseconds;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

const Limit kSoon = {.timeout = milliseconds(100)};
// Longer than any test waits for a rank that is not coming.
constexpr milliseconds kLate(1500);

// What every call says once the comm is broken.
auto IsBroken() {
  return StatusIs(absl::StatusCode::kFailedPrecondition,
                  HasSubstr("the comm is broken since an earlier call"));
}

}  // namespace

TEST_P(CommFailureConformance, TheRankThatNeverComesIsNamed) {
  OnEveryRank([](Comm& comm) {
    const int missing = comm.size() - 1;
    if (comm.rank() == missing) {
      std::this_thread::sleep_for(kLate);
      EXPECT_THAT(comm.Barrier(kSoon),
                  StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("Barrier (call 0)")));
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(comm.Barrier(kSoon),
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         HasSubstr(Concat("Barrier (call 0): rank ", missing, " did not come"))));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kLate);
    EXPECT_THAT(comm.Barrier(kSoon), IsBroken());
    EXPECT_THAT(comm.Broadcast(Bytes(), 0), IsBroken());
    EXPECT_THAT(comm.Agree(absl::OkStatus()), IsBroken());
  });
}

TEST_P(CommFailureConformance, TheLimitsOfOneRankEndTheWaitOfAll) {
  OnEveryRank([](Comm& comm) {
    const int missing = comm.size() - 1;
    ASSERT_THAT(comm.Barrier(), IsOk());
    if (comm.rank() == missing) {
      std::this_thread::sleep_for(kLate);
      return;  // leaves, which nobody waits for any more
    }
    const Limit limit = comm.rank() == 0 ? kSoon : Limit();
    EXPECT_THAT(comm.AllGather(Bytes::CopyOf("x"), limit),
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         HasSubstr(Concat("rank ", missing, " did not come"))));
  });
}

TEST_P(CommFailureConformance, AnAbortReachesThoseWhoWait) {
  OnEveryRank([](Comm& comm) {
    const int failing = comm.size() - 1;
    ASSERT_THAT(comm.Barrier(), IsOk());
    if (comm.rank() == failing) {
      comm.Abort(DataLoss("shard 3 is torn"));
      EXPECT_THAT(comm.Barrier(), IsBroken());
      return;
    }
    const std::vector<std::byte> out(100'000);
    const std::vector<Send> sends = {{failing, out}};
    EXPECT_THAT(comm.Exchange(sends, {}), StatusIs(absl::StatusCode::kDataLoss,
                                                   Concat("rank ", failing, ": shard 3 is torn")));
    EXPECT_THAT(comm.Barrier(), IsBroken());
  });
}

TEST_P(CommFailureConformance, ALongMessageOfAnAbortArrives) {
  OnEveryRank([](Comm& comm) {
    if (comm.rank() == 0) {
      comm.Abort(NotFound(std::string(100'000, 'x')));
    } else {
      EXPECT_THAT(comm.Barrier(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("rank 0: xxxx")));
    }
  });
}

TEST_P(CommFailureConformance, ARankThatLeavesEndsTheWaitOfTheOthers) {
  OnEveryRank([](Comm& comm) {
    const int leaving = comm.size() - 1;
    ASSERT_THAT(comm.Barrier(), IsOk());
    if (comm.rank() == leaving) return;
    EXPECT_THAT(
        comm.AllReduce(1, ReduceOp::kSum),
        StatusIs(absl::StatusCode::kAborted, Concat("rank ", leaving, ": left after 1 calls")));
  });
}

TEST_P(CommFailureConformance, ALateReaderGetsWhatARankThatLeftHadSent) {
  OnEveryRank([](Comm& comm) {
    const Bytes value = Bytes::CopyOf(std::string(1000, 'v'));
    if (comm.rank() != 0) std::this_thread::sleep_for(milliseconds(10 * comm.rank()));
    EXPECT_THAT(comm.Broadcast(comm.rank() == 0 ? value : Bytes(), 0), IsOkAndHolds(value));
  });
}

TEST_P(CommFailureConformance, AStopOnOneRankEndsTheCallOnAll) {
  OnEveryRank([](Comm& comm) {
    const int missing = comm.size() - 1;
    if (comm.rank() == missing) {
      std::this_thread::sleep_for(milliseconds(300));
      EXPECT_THAT(comm.Barrier(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
      return;
    }
    std::stop_source source;
    std::jthread stopper;
    if (comm.rank() == 0) {
      stopper = std::jthread([&source] {
        std::this_thread::sleep_for(milliseconds(50));
        source.request_stop();
      });
    }
    EXPECT_THAT(comm.Barrier({.stop = source.get_token()}),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("Barrier (call 0): stopped")));
    EXPECT_THAT(comm.Barrier(), IsBroken());
  });
}

TEST_P(CommFailureConformance, AStopBeforeTheCallReachesTheOthers) {
  OnEveryRank([](Comm& comm) {
    std::stop_source source;
    if (comm.rank() == 0) source.request_stop();
    EXPECT_THAT(comm.Barrier({.stop = source.get_token()}),
                StatusIs(absl::StatusCode::kCancelled,
                         HasSubstr("Barrier (call 0): stopped before it began")));
  });
}

TEST_P(CommFailureConformance, DifferentCallsAreNamedOnEveryRank) {
  OnEveryRank([](Comm& comm) {
    const int other = comm.size() - 1;
    const absl::Status status =
        comm.rank() == other ? comm.Gather(Bytes(), 0).status() : comm.Barrier();
    EXPECT_THAT(
        status,
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 HasSubstr(Concat("call 0: rank 0 calls Barrier, rank ", other, " calls Gather"))));
    EXPECT_THAT(comm.Barrier(), IsBroken());
  });
}

}  // namespace tessera::comm::testing
