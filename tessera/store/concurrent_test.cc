#include "tessera/store/concurrent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <set>
#include <string>

#include "tessera/core/status.h"
#include "tessera/core/task_group.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/text_values.h"
#include "tessera/store/wrappers.h"

namespace tessera::store {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using testing::AsBytes;
using ::testing::Each;
using testing::Fault;
using testing::FaultStore;
using ::testing::HasSubstr;

constexpr int kRequests = 64;

// "0" to "63", each holding its own name.
std::vector<ReadRequest> Fill(KvStore& store) {
  std::vector<ReadRequest> requests;
  for (int i = 0; i < kRequests; ++i) {
    requests.push_back({std::to_string(i)});
    EXPECT_THAT(store.Write(requests.back().key, AsBytes(requests.back().key)), IsOk());
  }
  return requests;
}

void ExpectAnswers(KvStore& store, const std::vector<ReadRequest>& requests) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto results, store.ReadMany(requests));
  ASSERT_EQ(results.size(), requests.size());
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].value.has_value()) << i;
    EXPECT_EQ(results[i].value->text(), requests[i].key);
  }
}

// Every call takes 50 ms, as from a store across a network.
testing::FaultPlan Far() {
  return {.fault = Fault::kDelay, .calls = 1'000'000, .delay = std::chrono::milliseconds(50)};
}

// One after the other, 64 requests would take 3.2 s.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST(ForEachIndexTest, CallsEachIndexOnce) {
  ThreadPool pool(4);
  std::vector<int> calls(1000);
  EXPECT_THAT(ForEachIndex(pool, 4, calls.size(), "test", {},
                           [&](size_t i, const std::stop_token&) {
                             ++calls[i];
                             return absl::OkStatus();
                           }),
              IsOk());
  EXPECT_THAT(calls, Each(1));
}

TEST(ForEachIndexTest, NothingToDoIsDone) {
  ThreadPool pool(1);
  EXPECT_THAT(ForEachIndex(pool, 4, 0, "test", {},
                           [](size_t, const std::stop_token&) { return Internal("called"); }),
              IsOk());
}

TEST(ForEachIndexTest, KeepsToItsWidth) {
  ThreadPool pool(8);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  EXPECT_THAT(ForEachIndex(pool, 3, 200, "test", {},
                           [&](size_t, const std::stop_token&) {
                             const int now = ++running;
                             for (int seen = most; seen < now;) {
                               if (most.compare_exchange_weak(seen, now)) break;
                             }
                             std::this_thread::yield();
                             --running;
                             return absl::OkStatus();
                           }),
              IsOk());
  EXPECT_LE(most, 3);
}

TEST(ForEachIndexTest, TheFirstErrorStopsTheRest) {
  ThreadPool pool(2);
  std::atomic<size_t> calls{0};
  EXPECT_THAT(ForEachIndex(pool, 2, 100'000'000, "test", {},
                           [&](size_t i, const std::stop_token&) {
                             ++calls;
                             return i == 3 ? DataLoss("the third") : absl::OkStatus();
                           }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the third")));
  EXPECT_LT(calls, 100'000'000u);
}

TEST(ForEachIndexTest, AStopFromOutsideIsCancelled) {
  ThreadPool pool(2);
  std::stop_source stop;
  EXPECT_THAT(ForEachIndex(pool, 2, 100'000'000, "copying", stop.get_token(),
                           [&](size_t i, const std::stop_token&) {
                             if (i == 5) stop.request_stop();
                             return absl::OkStatus();
                           }),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("copying: stopped")));
}

TEST(ForEachIndexTest, AStopAfterTheLastIsNoNews) {
  ThreadPool pool(1);
  std::stop_source stop;
  EXPECT_THAT(ForEachIndex(pool, 1, 6, "copying", stop.get_token(),
                           [&](size_t i, const std::stop_token&) {
                             if (i == 5) stop.request_stop();
                             return absl::OkStatus();
                           }),
              IsOk());
}

TEST(ForEachIndexTest, ABusyPoolDoesNotHoldItUp) {
  std::latch release(1);
  ThreadPool pool(1);
  pool.Submit([&] { release.wait(); });
  std::atomic<int> calls{0};
  EXPECT_THAT(ForEachIndex(pool, 4, 10, "test", {},
                           [&](size_t, const std::stop_token&) {
                             ++calls;
                             return absl::OkStatus();
                           }),
              IsOk());
  EXPECT_EQ(calls, 10);
  release.count_down();
}

TEST(LatencyTest, ReadsOnATaskGroupOverlap) {
  const auto base = MakeMemoryStore();
  const auto requests = Fill(*base);
  FaultStore far(*base, Far());
  ThreadPool pool(kRequests);
  const Stopwatch watch;
  TaskGroup group(pool);
  for (const ReadRequest& request : requests) {
    group.Run([&](std::stop_token stop) { return far.Read(request.key, {}, stop).status(); });
  }
  EXPECT_THAT(group.Join(), IsOk());
  EXPECT_LT(watch.seconds(), 1.0);
  EXPECT_EQ(far.calls(), kRequests);
}

TEST(LatencyTest, ManyReadsOverlapByDefault) {
  const auto base = MakeMemoryStore();
  const auto requests = Fill(*base);
  FaultStore far(*base, Far());
  const Stopwatch watch;
  ExpectAnswers(far, requests);
  EXPECT_LT(watch.seconds(), 1.0);
  EXPECT_EQ(far.calls(), kRequests);
}

TEST(LatencyTest, ManyReadsOverlapThroughWrappers) {
  const auto base = MakeMemoryStore();
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto below, MakePrefixStore(*base, "p"));
  const auto requests = Fill(*below);
  FaultStore far(*base, Far());
  const auto retried = MakeRetryStore(far);
  StoreCounts counts;
  const auto counted = MakeCountingStore(*retried, counts);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, MakePrefixStore(*counted, "p"));
  const Stopwatch watch;
  ExpectAnswers(*store, requests);
  EXPECT_LT(watch.seconds(), 1.0);
  EXPECT_EQ(counts.reads, kRequests);
  EXPECT_EQ(far.calls(), kRequests);
}

TEST(ReadManyTest, AnErrorNamesItsKey) {
  const auto base = MakeMemoryStore();
  auto requests = Fill(*base);
  requests[40].range = {100};
  EXPECT_THAT(base->ReadMany(requests),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("memory:40")));
  FaultStore whole(*base, {.at_call = 1'000'000});
  EXPECT_THAT(whole.ReadMany(requests, {}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("memory:40")));
}

TEST(ReadManyTest, AStopIsCancelled) {
  const auto base = MakeMemoryStore();
  const auto requests = Fill(*base);
  FaultStore store(*base, {.at_call = 1'000'000});
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = StatusIs(absl::StatusCode::kCancelled, HasSubstr("reading many values"));
  EXPECT_THAT(base->ReadMany(requests, stop.get_token()), cancelled);
  EXPECT_THAT(store.ReadMany(requests, stop.get_token()), cancelled);
}

// Every key can be read from the second time on.
class SecondTimeStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    {
      MutexLock lock(mutex_);
      if (seen_.insert(std::string(key)).second) return Unavailable(key, ": the first time");
    }
    return base().Read(key, range, std::move(stop));
  }
  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    return ReadOneByOne(*this, requests, std::move(stop));
  }

 private:
  Mutex mutex_;
  std::set<std::string> seen_ ABSL_GUARDED_BY(mutex_);
};

TEST(ReadManyTest, RetriesAreOfSingleRequests) {
  const auto base = MakeMemoryStore();
  const auto requests = Fill(*base);
  // Repeated as a whole, the call would need 65 attempts.
  SecondTimeStore faulty(*base);
  const auto store =
      MakeRetryStore(faulty, {.most_attempts = 2, .first_delay = std::chrono::milliseconds(1)});
  ExpectAnswers(*store, requests);
}

}  // namespace
}  // namespace tessera::store
