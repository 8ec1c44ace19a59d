// The stores that tests break things with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/text_values.h"
#include "tessera/store/testing/volatile_store.h"

namespace tessera::store {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using testing::AsBytes;
using ::testing::ElementsAre;
using testing::Fault;
using testing::FaultStore;
using ::testing::HasSubstr;
using testing::VolatileStore;

TEST(FaultStoreTest, TearsAndForgets) {
  const auto base = MakeMemoryStore();
  FaultStore tearing(*base, {.fault = Fault::kTear});
  EXPECT_THAT(tearing.Write("k", AsBytes("12345678"), std::nullopt, {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("memory:k: write")));
  EXPECT_EQ(base->Read("k")->value->text(), "1234");
  FaultStore forgetting(*base, {.fault = Fault::kForget});
  EXPECT_THAT(forgetting.Write("other", AsBytes("x"), std::nullopt, {}), IsOk());
  EXPECT_FALSE(base->Read("other")->value.has_value());
}

TEST(FaultStoreTest, TearsAndForgetsParts) {
  const auto base = MakeMemoryStore();
  const auto fails = [](const std::string& action) {
    return StatusIs(absl::StatusCode::kUnavailable, HasSubstr("memory:k: " + action));
  };
  FaultStore tearing(*base, {.fault = Fault::kTear, .calls = 2});
  EXPECT_THAT(tearing.Reserve("k", 8, {}), fails("reserve"));
  EXPECT_THAT(tearing.WriteAt("k", 0, AsBytes("1234"), {}), fails("write"));
  EXPECT_EQ(base->Read("k")->value->text(), std::string_view("12\0\0", 4));
  FaultStore forgetting(*base, {.fault = Fault::kForget, .calls = 3});
  EXPECT_THAT(forgetting.Reserve("other", 8, {}), IsOk());
  EXPECT_THAT(forgetting.WriteAt("k", 0, AsBytes("x"), {}), IsOk());
  EXPECT_THAT(forgetting.Map("k", {}), fails("map"));
  EXPECT_FALSE(base->Read("other")->value.has_value());
  EXPECT_EQ(base->Read("k")->value->text(), std::string_view("12\0\0", 4));
}

TEST(FaultStoreTest, TearsAMove) {
  const auto base = MakeMemoryStore();
  for (const char* key : {"s/1", "s/2", "s/3", "s/4"}) {
    ASSERT_THAT(base->Write(key, AsBytes("v")), IsOk());
  }
  FaultStore tearing(*base, {.fault = Fault::kTear});
  EXPECT_THAT(tearing.MovePrefix("s/", "t/", {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("memory:s/: move")));
  EXPECT_THAT(base->List(""), IsOkAndHolds(ElementsAre(ListEntry{"s/3", 1}, ListEntry{"s/4", 1},
                                                       ListEntry{"t/1", 1}, ListEntry{"t/2", 1})));
}

TEST(VolatileStoreTest, LosesWhatWasNotFlushed) {
  const auto base = MakeMemoryStore();
  ASSERT_THAT(base->Write("before", AsBytes("0")), IsOk());
  VolatileStore store(*base, {});
  ASSERT_THAT(store.Write("kept", AsBytes("1"), std::nullopt, {}), IsOk());
  ASSERT_THAT(store.Flush({}), IsOk());
  ASSERT_THAT(store.Write("lost", AsBytes("2"), std::nullopt, {}), IsOk());
  ASSERT_THAT(store.Delete("before", std::nullopt, {}), IsOk());
  ASSERT_THAT(store.MovePrefix("", "moved/", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("inside")));
  ASSERT_THAT(store.Crash(0), IsOk());
  EXPECT_THAT(base->List(""),
              IsOkAndHolds(ElementsAre(ListEntry{"before", 1}, ListEntry{"kept", 1})));
}

TEST(VolatileStoreTest, LosesPartsThatWereNotFlushed) {
  const auto base = MakeMemoryStore();
  VolatileStore store(*base, {});
  ASSERT_THAT(store.Reserve("k", 4, {}), IsOk());
  ASSERT_THAT(store.WriteAt("k", 0, AsBytes("12"), {}), IsOk());
  ASSERT_THAT(store.Flush({}), IsOk());
  ASSERT_THAT(store.WriteAt("k", 2, AsBytes("34"), {}), IsOk());
  ASSERT_THAT(store.Reserve("later", 4, {}), IsOk());
  EXPECT_EQ(base->Read("k")->value->text(), "1234");
  ASSERT_THAT(store.Crash(0), IsOk());
  EXPECT_EQ(base->Read("k")->value->text(), std::string_view("12\0\0", 4));
  EXPECT_FALSE(base->Read("later")->value.has_value());
}

TEST(VolatileStoreTest, KeepsSomePartsAndNoneOfALostValue) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed < 60; ++seed) {
    const auto base = MakeMemoryStore();
    ASSERT_THAT(base->Write("k", AsBytes("old")), IsOk());
    VolatileStore store(*base, {});
    ASSERT_THAT(store.Reserve("k", 2, {}), IsOk());
    ASSERT_THAT(store.WriteAt("k", 0, AsBytes("1"), {}), IsOk());
    ASSERT_THAT(store.WriteAt("k", 1, AsBytes("2"), {}), IsOk());
    ASSERT_THAT(store.Crash(seed), IsOk());
    seen.insert(std::string(base->Read("k")->value->text()));
  }
  const auto text = [](const char* two) { return std::string(two, 2); };
  EXPECT_THAT(seen, ElementsAre(text("\0\0"), text("\0002"), text("1\0"), "12", "old"));
}

TEST(VolatileStoreTest, KeepsSomeOfItAndNeverLosesAMovedValue) {
  bool moved = false, stayed = false, cut = false;
  for (uint64_t seed = 1; seed < 40; ++seed) {
    const auto base = MakeMemoryStore({.moves = true});
    VolatileStore store(*base, {.torn = true});
    ASSERT_THAT(store.Write("s/a", AsBytes("whole"), std::nullopt, {}), IsOk());
    ASSERT_THAT(store.Flush({}), IsOk());
    ASSERT_THAT(store.MovePrefix("s/", "t/", {}), IsOk());
    ASSERT_THAT(store.Write("torn", AsBytes("12345678"), std::nullopt, {}), IsOk());
    ASSERT_THAT(store.Crash(seed), IsOk());
    const auto source = base->Read("s/a");
    const auto target = base->Read("t/a");
    ASSERT_NE(source->value.has_value(), target->value.has_value());
    (target->value.has_value() ? moved : stayed) = true;
    EXPECT_EQ((target->value.has_value() ? target : source)->value->text(), "whole");
    const auto torn = base->Read("torn");
    cut = cut || (torn->value.has_value() && torn->size < 8);
  }
  EXPECT_TRUE(moved && stayed && cut);
}

}  // namespace
}  // namespace tessera::store
