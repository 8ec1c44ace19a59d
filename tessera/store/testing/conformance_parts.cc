// What every store that writes parts of values must do.
#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "tessera/core/bytes.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/conformance.h"
#include "tessera/store/testing/text_values.h"

namespace tessera::store::testing {

// Not every back end can.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KvStorePartsConformance);

namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

}  // namespace

TEST_P(KvStorePartsConformance, WhatIsReservedIsZerosUntilItIsWritten) {
  ASSERT_TRUE(store().writes_parts());
  ASSERT_THAT(store().Reserve("a/b", 6), IsOk());
  EXPECT_EQ(TextAt(store(), "a/b"), std::string(6, '\0'));
  EXPECT_THAT(store().List(""), IsOkAndHolds(ElementsAre(ListEntry{"a/b", 6})));
  ASSERT_THAT(store().WriteAt("a/b", 4, AsBytes("yz")), IsOk());
  ASSERT_THAT(store().WriteAt("a/b", 0, AsBytes("12")), IsOk());
  EXPECT_EQ(TextAt(store(), "a/b"), std::string("12\0\0yz", 6));
  ASSERT_THAT(store().WriteAt("a/b", 1, AsBytes("abc")), IsOk());
  EXPECT_EQ(TextAt(store(), "a/b"), "1abcyz");
  ASSERT_THAT(store().Flush(), IsOk());
  EXPECT_EQ(TextAt(store(), "a/b"), "1abcyz");
}

TEST_P(KvStorePartsConformance, AValueOfNoBytesCanBeReserved) {
  ASSERT_THAT(store().Reserve("empty", 0), IsOk());
  EXPECT_EQ(TextAt(store(), "empty"), "");
  EXPECT_THAT(store().WriteAt("empty", 0, {}), IsOk());
  EXPECT_THAT(store().WriteAt("empty", 0, AsBytes("x")),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("of a value of 0 bytes")));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Bytes mapped, store().Map("empty"));
  EXPECT_TRUE(mapped.empty());
}

TEST_P(KvStorePartsConformance, NothingIsWrittenPastTheEnd) {
  ASSERT_THAT(store().Reserve("k", 4), IsOk());
  const auto past = StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("of a value of 4 bytes"));
  EXPECT_THAT(store().WriteAt("k", 3, AsBytes("xy")), past);
  EXPECT_THAT(store().WriteAt("k", 5, {}), past);
  EXPECT_THAT(store().WriteAt("k", ~uint64_t{0}, AsBytes("xy")), past);
  EXPECT_EQ(TextAt(store(), "k"), std::string(4, '\0'));
  EXPECT_THAT(store().WriteAt("k", 4, {}), IsOk());
}

TEST_P(KvStorePartsConformance, APartNeedsAValue) {
  const auto missing = StatusIs(absl::StatusCode::kNotFound, HasSubstr("no value to write into"));
  EXPECT_THAT(store().WriteAt("none", 0, AsBytes("x")), missing);
  ASSERT_THAT(store().Reserve("a/b", 1), IsOk());
  EXPECT_THAT(store().WriteAt("a", 0, AsBytes("x")), missing);
  EXPECT_THAT(store().WriteAt("a/b/c", 0, AsBytes("x")), missing);
  ASSERT_THAT(store().Delete("a/b"), IsOk());
  EXPECT_THAT(store().WriteAt("a/b", 0, AsBytes("x")), missing);
  EXPECT_EQ(TextAt(store(), "none"), "<missing>");
}

TEST_P(KvStorePartsConformance, ReservingReplacesAValueThatReadersKeep) {
  ASSERT_THAT(store().Write("k", AsBytes("written")), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReadResult before, store().Read("k"));
  ASSERT_THAT(store().Reserve("k", 3), IsOk());
  ASSERT_THAT(store().WriteAt("k", 0, AsBytes("new")), IsOk());
  EXPECT_EQ(before.value->text(), "written");
  EXPECT_EQ(TextAt(store(), "k"), "new");
  ASSERT_THAT(store().Reserve("k", 5), IsOk());
  EXPECT_EQ(TextAt(store(), "k"), std::string(5, '\0'));
  ASSERT_THAT(store().Write("k", AsBytes("whole")), IsOk());
  EXPECT_EQ(TextAt(store(), "k"), "whole");
}

TEST_P(KvStorePartsConformance, WhatWasReadDoesNotChange) {
  ASSERT_THAT(store().Reserve("k", 4), IsOk());
  ASSERT_THAT(store().WriteAt("k", 0, AsBytes("1234")), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReadResult before, store().Read("k"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReadResult part, store().Read("k", {1, 2}));
  ASSERT_THAT(store().WriteAt("k", 0, AsBytes("abcd")), IsOk());
  EXPECT_EQ(before.value->text(), "1234");
  EXPECT_EQ(part.value->text(), "23");
  EXPECT_EQ(TextAt(store(), "k"), "abcd");
}

TEST_P(KvStorePartsConformance, ReservedValuesMoveAndAreDeleted) {
  ASSERT_THAT(store().Reserve("s/k", 2), IsOk());
  ASSERT_THAT(store().WriteAt("s/k", 0, AsBytes("12")), IsOk());
  ASSERT_THAT(store().MovePrefix("s/", "t/"), IsOk());
  EXPECT_EQ(TextAt(store(), "t/k"), "12");
  EXPECT_EQ(TextAt(store(), "s/k"), "<missing>");
  ASSERT_THAT(store().DeletePrefix("t/"), IsOk());
  EXPECT_EQ(TextAt(store(), "t/k"), "<missing>");
}

TEST_P(KvStorePartsConformance, ManyWriteTheirPartsAtOnce) {
  constexpr size_t kPart = 10'007;  // no page is of one writer alone
  constexpr size_t kParts = 64;
  ASSERT_THAT(store().Reserve("k", kPart * kParts), IsOk());
  std::vector<std::thread> threads;
  for (size_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      for (size_t part = first; part < kParts; part += 4) {
        const std::string data(kPart, static_cast<char>('0' + part));
        EXPECT_THAT(store().WriteAt("k", part * kPart, AsBytes(data)), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string expected;
  for (size_t part = 0; part < kParts; ++part) {
    expected.append(kPart, static_cast<char>('0' + part));
  }
  EXPECT_TRUE(TextAt(store(), "k") == expected);
}

TEST_P(KvStorePartsConformance, AValueCanBeMapped) {
  ASSERT_THAT(store().Write("a/b", AsBytes("hello")), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const Bytes mapped, store().Map("a/b"));
  EXPECT_EQ(mapped.text(), "hello");
  ASSERT_THAT(store().Write("a/b", AsBytes("other")), IsOk());
  EXPECT_EQ(mapped.text(), "hello");
  ASSERT_THAT(store().DeletePrefix(""), IsOk());
  EXPECT_EQ(mapped.text(), "hello");
  const auto missing = StatusIs(absl::StatusCode::kNotFound, HasSubstr("no value to look at"));
  EXPECT_THAT(store().Map("a/b"), missing);
  EXPECT_THAT(store().Map("a"), missing);
  EXPECT_THAT(store().Map("../x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key '")));
}

}  // namespace tessera::store::testing
