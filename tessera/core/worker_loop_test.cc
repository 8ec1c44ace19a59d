#include "tessera/core/worker_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tessera/core/buffer.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOk;

// Tells apart whether it was made anew.
struct Worker {
  Buffer room;
  int calls = 0;
};

// How often the worker of this call was used before, and where its memory lies.
struct Seen {
  int calls = 0;
  const std::byte* memory = nullptr;
};

Seen CallOnce(IoContext& io, int64_t bytes) {
  Seen seen;
  const absl::Status status = ForEachWithWorkers<Worker>(
      io, "test", 1, bytes, {}, [&](int64_t, Worker& worker, std::stop_token) {
        seen = {worker.calls++, worker.room.Resize(static_cast<size_t>(bytes)).data()};
        return absl::OkStatus();
      });
  EXPECT_THAT(status, IsOk());
  return seen;
}

class KeptWorkerTest : public ::testing::Test {
 protected:
  // Each has its own thread, as a thread keeps what others have left.
  template <typename Body>
  void OnFreshThread(Body body) {
    std::jthread(body).join();
  }
  IoContext io_{{.in_flight = 1}};
};

TEST_F(KeptWorkerTest, AThreadKeepsASmallWorkerForItsNextCall) {
  OnFreshThread([&] {
    const Seen first = CallOnce(io_, 4000);
    const Seen second = CallOnce(io_, 3000);
    EXPECT_EQ(first.calls, 0);
    EXPECT_EQ(second.calls, 1);
    EXPECT_EQ(second.memory, first.memory);
    EXPECT_EQ(io_.budget().in_use(), 0);
  });
  OnFreshThread([&] { EXPECT_EQ(CallOnce(io_, 4000).calls, 0); });
}

TEST_F(KeptWorkerTest, ALargeWorkerIsNotKept) {
  OnFreshThread([&] {
    CallOnce(io_, KeptWorker<Worker>::kMostBytes + 1);
    EXPECT_EQ(CallOnce(io_, KeptWorker<Worker>::kMostBytes).calls, 0);
    EXPECT_EQ(CallOnce(io_, KeptWorker<Worker>::kMostBytes + 1).calls, 0);
    EXPECT_EQ(CallOnce(io_, KeptWorker<Worker>::kMostBytes).calls, 1);
  });
}

TEST_F(KeptWorkerTest, ACallInsideOfAnotherHasAWorkerOfItsOwn) {
  OnFreshThread([&] {
    CallOnce(io_, 100);
    ASSERT_THAT(ForEachWithWorkers<Worker>(io_, "outer", 1, 100, {},
                                           [&](int64_t, Worker& worker, std::stop_token) {
                                             EXPECT_EQ(worker.calls, 1);
                                             const Seen inner = CallOnce(io_, 100);
                                             EXPECT_EQ(inner.calls, 0);
                                             EXPECT_NE(inner.memory, worker.room.span().data());
                                             return absl::OkStatus();
                                           }),
                IsOk());
    EXPECT_EQ(CallOnce(io_, 100).calls, 1);
  });
}

}  // namespace
}  // namespace tessera
