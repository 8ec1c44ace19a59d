#include "tessera/store/wrappers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/text_values.h"

namespace tessera::store {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using testing::AsBytes;
using testing::Fault;
using testing::FaultStore;
using ::testing::HasSubstr;

TEST(PrefixStoreTest, CannotBeMadeFromWhatIsNoKey) {
  const auto base = MakeMemoryStore();
  EXPECT_THAT(MakePrefixStore(*base, "../x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key '../x'")));
}

TEST(CountingStoreTest, CountsCallsAndBytes) {
  const auto base = MakeMemoryStore();
  StoreCounts counts;
  const auto store = MakeCountingStore(*base, counts);
  ASSERT_THAT(store->Write("k", AsBytes("12345")), IsOk());
  ASSERT_THAT(store->Read("k", {0, 2}), IsOk());
  ASSERT_THAT(store->Read("none"), IsOk());
  EXPECT_EQ(counts.writes, 1);
  EXPECT_EQ(counts.bytes_written, 5);
  EXPECT_EQ(counts.reads, 2);
  EXPECT_EQ(counts.bytes_read, 2);
}

TEST(CountingStoreTest, CountsEachOfManyReads) {
  const auto base = MakeMemoryStore();
  StoreCounts counts;
  const auto store = MakeCountingStore(*base, counts);
  ASSERT_THAT(base->Write("k", AsBytes("12345")), IsOk());
  std::byte target[8];
  ASSERT_THAT(store->ReadAll("k", target), IsOk());
  EXPECT_EQ(counts.reads, 1);
  EXPECT_EQ(counts.bytes_read, 5);
  ASSERT_THAT(store->ReadMany(std::vector<ReadRequest>{{"k"}, {"none"}, {"k", {3}}}), IsOk());
  EXPECT_EQ(counts.reads, 4);
  EXPECT_EQ(counts.bytes_read, 12);
}

TEST(CountingStoreTest, CountsParts) {
  const auto base = MakeMemoryStore();
  StoreCounts counts;
  const auto store = MakeCountingStore(*base, counts);
  ASSERT_THAT(store->Reserve("k", 5), IsOk());
  ASSERT_THAT(store->WriteAt("k", 1, AsBytes("123")), IsOk());
  EXPECT_THAT(store->WriteAt("k", 3, AsBytes("123")),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("memory:k: 3 bytes from 3")));
  ASSERT_THAT(store->Map("k"), IsOk());
  EXPECT_EQ(counts.writes, 3);
  EXPECT_EQ(counts.bytes_written, 3);
  EXPECT_EQ(counts.reads, 1);
  EXPECT_EQ(counts.bytes_read, 0);
}

TEST(RetryStoreTest, RepeatsPartsAndMaps) {
  const auto base = MakeMemoryStore();
  const auto attempts = RetryOptions{.first_delay = std::chrono::milliseconds(1)};
  FaultStore reserve(*base, {});
  EXPECT_THAT(MakeRetryStore(reserve, attempts)->Reserve("k", 4), IsOk());
  FaultStore tear(*base, {.fault = Fault::kTear});
  EXPECT_THAT(MakeRetryStore(tear, attempts)->WriteAt("k", 0, AsBytes("1234")), IsOk());
  FaultStore map(*base, {});
  TESSERA_ASSERT_OK_AND_ASSIGN(const Bytes mapped, MakeRetryStore(map, attempts)->Map("k"));
  EXPECT_EQ(mapped.text(), "1234");
  EXPECT_EQ(reserve.calls(), 2);
  EXPECT_EQ(tear.calls(), 2);
  EXPECT_EQ(map.calls(), 2);
}

TEST(RetryStoreTest, RepeatsUntilTheCallGoesThrough) {
  const auto base = MakeMemoryStore();
  FaultStore faulty(*base, {.fault = Fault::kFail, .at_call = 0, .calls = 3});
  const auto store =
      MakeRetryStore(faulty, {.most_attempts = 5, .first_delay = std::chrono::milliseconds(1)});
  EXPECT_THAT(store->Write("k", AsBytes("v")), IsOk());
  EXPECT_EQ(faulty.calls(), 4);
}

TEST(RetryStoreTest, GivesUpAndDoesNotRepeatConditionalWrites) {
  const auto base = MakeMemoryStore();
  FaultStore faulty(*base, {.fault = Fault::kFail, .at_call = 0, .calls = 100});
  const auto store =
      MakeRetryStore(faulty, {.most_attempts = 3, .first_delay = std::chrono::milliseconds(1)});
  const auto injected = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a fault was injected"));
  EXPECT_THAT(store->Read("k"), injected);
  EXPECT_EQ(faulty.calls(), 3);
  EXPECT_THAT(store->Write("k", AsBytes("v"), Generation::Missing()), injected);
  EXPECT_EQ(faulty.calls(), 4);
}

TEST(RetryStoreTest, DoesNotRepeatAFlush) {
  const auto base = MakeMemoryStore();
  FaultStore faulty(*base, {.fault = Fault::kFail, .at_call = 0, .calls = 1});
  const auto store = MakeRetryStore(faulty);
  EXPECT_THAT(store->Flush(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("flush")));
  EXPECT_EQ(faulty.calls(), 1);
  EXPECT_THAT(store->Flush(), IsOk());
}

TEST(RetryStoreTest, AStopEndsTheWaiting) {
  const auto base = MakeMemoryStore();
  FaultStore faulty(*base, {.fault = Fault::kFail, .at_call = 0, .calls = 100});
  const auto store =
      MakeRetryStore(faulty, {.most_attempts = 3, .first_delay = std::chrono::hours(1)});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(store->Read("k", {}, stop.get_token()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("injected")));
}

}  // namespace
}  // namespace tessera::store
