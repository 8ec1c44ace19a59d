#include "tessera/store/testing/conformance.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tessera/core/bytes.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/text_values.h"

namespace tessera::store::testing {

// Test suites that are instantiated in another binary than some other suite's are fine unused.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KvStoreConformance);

namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

}  // namespace

TEST_P(KvStoreConformance, WhatIsWrittenIsRead) {
  ASSERT_THAT(store().Write("a/b", AsBytes("hello")), IsOk());
  EXPECT_EQ(TextAt(store(), "a/b"), "hello");
  ASSERT_THAT(store().Write("a/b", AsBytes("")), IsOk());
  EXPECT_EQ(TextAt(store(), "a/b"), "");
  const std::string large(3'000'001, 'x');
  ASSERT_THAT(store().Write("large", AsBytes(large)), IsOk());
  EXPECT_EQ(TextAt(store(), "large"), large);
}

TEST_P(KvStoreConformance, AMissingKeyIsAState) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReadResult result, store().Read("none"));
  EXPECT_FALSE(result.value.has_value());
  EXPECT_TRUE(result.generation.missing());
  std::byte target[4];
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueInfo into, store().ReadInto("none", 0, target));
  EXPECT_TRUE(into.missing());
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueInfo all, store().ReadAll("none", target));
  EXPECT_TRUE(all.missing());
  EXPECT_THAT(store().Delete("none"), IsOk());
}

TEST_P(KvStoreConformance, AFolderIsNoValue) {
  ASSERT_THAT(store().Write("a/b", AsBytes("x")), IsOk());
  EXPECT_EQ(TextAt(store(), "a"), "<missing>");
  EXPECT_EQ(TextAt(store(), "a/b/c"), "<missing>");
}

TEST_P(KvStoreConformance, RangesAreExact) {
  ASSERT_THAT(store().Write("k", AsBytes("0123456789")), IsOk());
  EXPECT_EQ(TextAt(store(), "k", {2, 3}), "234");
  EXPECT_EQ(TextAt(store(), "k", {7}), "789");
  EXPECT_EQ(TextAt(store(), "k", {10}), "");
  EXPECT_EQ(TextAt(store(), "k", {10, 0}), "");
  EXPECT_EQ(TextAt(store(), "k", ByteRange::Last(4)), "6789");
  EXPECT_EQ(TextAt(store(), "k", ByteRange::Last(10)), "0123456789");
  std::byte target[4];
  ASSERT_THAT(store().ReadInto("k", 3, target), IsOk());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(target), 4), "3456");
}

TEST_P(KvStoreConformance, ARangePastTheEndIsAnError) {
  ASSERT_THAT(store().Write("k", AsBytes("0123456789")), IsOk());
  const auto past = StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("of a value of 10 bytes"));
  EXPECT_THAT(store().Read("k", {11}), past);
  EXPECT_THAT(store().Read("k", {8, 3}), past);
  EXPECT_THAT(store().Read("k", {~uint64_t{0}, ~uint64_t{0}}), past);
  EXPECT_THAT(store().Read("k", {1, ~uint64_t{0}}), past);
  EXPECT_THAT(store().Read("k", ByteRange::Last(11)), past);
  std::byte target[4];
  EXPECT_THAT(store().ReadInto("k", 7, target), past);
}

TEST_P(KvStoreConformance, ARangeMayHaveABound) {
  ASSERT_THAT(store().Write("k", AsBytes("0123456789")), IsOk());
  EXPECT_EQ(TextAt(store(), "k", ByteRange::AtMost(10)), "0123456789");
  EXPECT_EQ(TextAt(store(), "k", {.offset = 4, .most = 6}), "456789");
  EXPECT_EQ(TextAt(store(), "none", ByteRange::AtMost(0)), "<missing>");
  EXPECT_THAT(store().Read("k", ByteRange::AtMost(9)),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("of a value of 10 bytes: more than the 9 that were allowed")));
  EXPECT_THAT(store().Read("k", {.offset = 4, .most = 5}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("more than the 5 that")));
  EXPECT_THAT(store().Read("k", {.length = 3, .from_end = true, .most = 2}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("more than the 2 that")));
}

TEST_P(KvStoreConformance, AReadTellsTheSizeOfTheWholeValue) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Generation written, store().Write("k", AsBytes("0123456789")));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReadResult part, store().Read("k", {2, 3}));
  EXPECT_EQ(part.size, 10u);
  std::byte target[4];
  EXPECT_THAT(store().ReadInto("k", 6, target), IsOkAndHolds(ValueInfo{written, 10}));
  EXPECT_THAT(store().ReadInto("k", 0, std::span<std::byte>()),
              IsOkAndHolds(ValueInfo{written, 10}));
  const std::vector<ReadRequest> requests = {{"k", {9}}, {"none"}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto many, store().ReadMany(requests));
  ASSERT_EQ(many.size(), 2u);
  EXPECT_EQ(many[0].size, 10u);
  EXPECT_EQ(many[0].generation, written);
  EXPECT_EQ(many[1].size, 0u);
}

TEST_P(KvStoreConformance, AWholeValueFillsTheFrontOfATarget) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Generation written, store().Write("k", AsBytes("0123")));
  std::string target = "abcdef";
  const auto bytes = std::as_writable_bytes(std::span(target));
  EXPECT_THAT(store().ReadAll("k", bytes), IsOkAndHolds(ValueInfo{written, 4}));
  EXPECT_EQ(target, "0123ef");
  EXPECT_THAT(store().ReadAll("k", bytes.last(4)), IsOkAndHolds(ValueInfo{written, 4}));
  EXPECT_EQ(target, "010123");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Generation empty, store().Write("empty", AsBytes("")));
  EXPECT_THAT(store().ReadAll("empty", {}), IsOkAndHolds(ValueInfo{empty, 0}));
}

TEST_P(KvStoreConformance, AValueTooLongForItsTargetIsNotWritten) {
  ASSERT_THAT(store().Write("k", AsBytes("0123")), IsOk());
  std::string target = "abc";
  EXPECT_THAT(store().ReadAll("k", std::as_writable_bytes(std::span(target))),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("of a value of 4 bytes: more than the 3 that were allowed")));
  EXPECT_EQ(target, "abc");
}

TEST_P(KvStoreConformance, AValueIsReadPieceByPiece) {
  ASSERT_THAT(store().Write("a", AsBytes("0123456789")), IsOk());
  std::byte room[4];
  const auto read = [&](const ByteRange& range) {
    std::string text;
    const auto info = store().ReadPieces("a", range, room, [&](std::span<const std::byte> piece) {
      text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      return absl::OkStatus();
    });
    EXPECT_THAT(info, IsOk());
    EXPECT_EQ(info->size, 10);
    return text;
  };
  EXPECT_EQ(read({}), "0123456789");
  EXPECT_EQ(read({3, 5}), "34567");
  EXPECT_EQ(read(ByteRange::Last(2)), "89");
  const auto never = [](std::span<const std::byte>) { return Internal("called"); };
  EXPECT_THAT(store().ReadPieces("a", ByteRange::AtMost(9), room, never),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("10 bytes")));
  EXPECT_THAT(store().ReadPieces("a", {}, room, never),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("called")));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueInfo none, store().ReadPieces("none", {}, room, never));
  EXPECT_TRUE(none.missing());
}

TEST_P(KvStoreConformance, AValueIsWrittenPieceByPiece) {
  const auto pieces = [](Sink sink) -> absl::Status {
    for (const char* piece : {"one ", "", "two"}) TESSERA_RETURN_IF_ERROR(sink(AsBytes(piece)));
    return absl::OkStatus();
  };
  TESSERA_ASSERT_OK_AND_ASSIGN(const ValueInfo written, store().WritePieces("a/b", pieces));
  EXPECT_EQ(written.size, 7);
  EXPECT_EQ(TextAt(store(), "a/b"), "one two");
  TESSERA_ASSERT_OK_AND_ASSIGN(const ReadResult read, store().Read("a/b"));
  EXPECT_EQ(read.generation, written.generation);
  EXPECT_THAT(store().WritePieces("a/b", pieces, Generation::Missing()),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("a/b")));
}

TEST_P(KvStoreConformance, AProducerThatFailsChangesNothing) {
  ASSERT_THAT(store().Write("a", AsBytes("old")), IsOk());
  const auto fails = [](Sink sink) -> absl::Status {
    TESSERA_RETURN_IF_ERROR(sink(AsBytes("new")));
    return DataLoss("no more");
  };
  EXPECT_THAT(store().WritePieces("a", fails),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no more")));
  EXPECT_THAT(store().WritePieces("b", fails),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no more")));
  EXPECT_EQ(TextAt(store(), "a"), "old");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto keys, store().List(""));
  EXPECT_THAT(keys, ElementsAre(ListEntry{"a", 3}));
}

TEST_P(KvStoreConformance, ManyReadsAnswerInOrder) {
  ASSERT_THAT(store().Write("a", AsBytes("first")), IsOk());
  ASSERT_THAT(store().Write("b", AsBytes("second")), IsOk());
  const std::vector<ReadRequest> requests = {{"b"}, {"none"}, {"a", {1, 2}}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto results, store().ReadMany(requests));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].value->text(), "second");
  EXPECT_FALSE(results[1].value.has_value());
  EXPECT_EQ(results[2].value->text(), "ir");
}

TEST_P(KvStoreConformance, AWriteChangesTheGeneration) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Generation first, store().Write("k", AsBytes("1")));
  EXPECT_FALSE(first.missing());
  EXPECT_EQ(store().Read("k")->generation, first);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Generation second, store().Write("k", AsBytes("2")));
  EXPECT_FALSE(first == second);
  EXPECT_EQ(store().Read("k")->generation, second);
}

TEST_P(KvStoreConformance, AConditionalWriteNeedsItsGeneration) {
  const auto aborted = StatusIs(absl::StatusCode::kAborted, HasSubstr("another generation"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Generation first,
                               store().Write("k", AsBytes("1"), Generation::Missing()));
  EXPECT_THAT(store().Write("k", AsBytes("x"), Generation::Missing()), aborted);
  ASSERT_THAT(store().Write("k", AsBytes("2"), first), IsOk());
  EXPECT_THAT(store().Write("k", AsBytes("x"), first), aborted);
  EXPECT_THAT(store().Delete("k", first), aborted);
  EXPECT_EQ(TextAt(store(), "k"), "2");
  EXPECT_THAT(store().Delete("k", store().Read("k")->generation), IsOk());
  EXPECT_EQ(TextAt(store(), "k"), "<missing>");
  EXPECT_THAT(store().Write("k", AsBytes("x"), first), aborted);
}

TEST_P(KvStoreConformance, OneOfManyConditionalWritersWins) {
  std::atomic<int> winners{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto written = store().Write("k", AsBytes(std::to_string(i)), Generation::Missing());
      if (written.ok()) {
        ++winners;
      } else {
        EXPECT_THAT(written, StatusIs(absl::StatusCode::kAborted, HasSubstr("generation")));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
}

TEST_P(KvStoreConformance, ReadersSeeWholeValues) {
  const std::string a(200'000, 'a');
  const std::string b(100'000, 'b');
  ASSERT_THAT(store().Write("k", AsBytes(a)), IsOk());
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) EXPECT_THAT(store().Write("k", AsBytes(i % 2 ? a : b)), IsOk());
    done = true;
  });
  while (!done) {
    const std::string seen = TextAt(store(), "k");
    ASSERT_TRUE(seen == a || seen == b) << seen.size();
  }
  writer.join();
}

TEST_P(KvStoreConformance, ListsKeysInOrderWithSizes) {
  for (const char* key : {"b", "a/c", "a/b/d", "ab", "a/.zarray"}) {
    ASSERT_THAT(store().Write(key, AsBytes(key)), IsOk());
  }
  EXPECT_THAT(store().List(""), IsOkAndHolds(ElementsAre(ListEntry{"a/.zarray", 9},
                                                         ListEntry{"a/b/d", 5}, ListEntry{"a/c", 3},
                                                         ListEntry{"ab", 2}, ListEntry{"b", 1})));
  EXPECT_THAT(store().List("a/"),
              IsOkAndHolds(ElementsAre(ListEntry{"a/.zarray", 9}, ListEntry{"a/b/d", 5},
                                       ListEntry{"a/c", 3})));
  EXPECT_THAT(store().List("a/b"), IsOkAndHolds(ElementsAre(ListEntry{"a/b/d", 5})));
  EXPECT_THAT(store().List("zz/"), IsOkAndHolds(IsEmpty()));
}

TEST_P(KvStoreConformance, DeletesByPrefix) {
  for (const char* key : {"a/1", "a/2/x", "ab", "b"}) {
    ASSERT_THAT(store().Write(key, AsBytes("v")), IsOk());
  }
  ASSERT_THAT(store().DeletePrefix("a/"), IsOk());
  EXPECT_THAT(store().List(""), IsOkAndHolds(ElementsAre(ListEntry{"ab", 1}, ListEntry{"b", 1})));
  // The place can be used again, also for a value where a folder was.
  ASSERT_THAT(store().Write("a", AsBytes("v")), IsOk());
}

TEST_P(KvStoreConformance, MovesWhatBeginsWithAPrefix) {
  for (const char* key : {"from/a/x", "from/a/y", "from/b", "fromage", "to/other"}) {
    ASSERT_THAT(store().Write(key, AsBytes(key)), IsOk());
  }
  ASSERT_THAT(store().MovePrefix("from/", "to/inner/"), IsOk());
  EXPECT_THAT(store().List(""),
              IsOkAndHolds(ElementsAre(ListEntry{"fromage", 7}, ListEntry{"to/inner/a/x", 8},
                                       ListEntry{"to/inner/a/y", 8}, ListEntry{"to/inner/b", 6},
                                       ListEntry{"to/other", 8})));
  EXPECT_EQ(TextAt(store(), "to/inner/a/x"), "from/a/x");
  EXPECT_EQ(TextAt(store(), "from/a/x"), "<missing>");
}

TEST_P(KvStoreConformance, AMoveReplacesAndKeepsWhatItDoesNotName) {
  for (const char* key : {"s/d/a/0", "s/d/a/1", "s/d/top", "a/1", "a/2", "b/0"}) {
    ASSERT_THAT(store().Write(key, AsBytes(key)), IsOk());
  }
  ASSERT_THAT(store().MovePrefix("s/d/", ""), IsOk());
  EXPECT_THAT(store().List(""), IsOkAndHolds(ElementsAre(ListEntry{"a/0", 7}, ListEntry{"a/1", 7},
                                                         ListEntry{"a/2", 3}, ListEntry{"b/0", 3},
                                                         ListEntry{"top", 7})));
  EXPECT_EQ(TextAt(store(), "a/1"), "s/d/a/1");
}

TEST_P(KvStoreConformance, AMoveOfNothingOrASecondTimeIsNoError) {
  ASSERT_THAT(store().Write("to/a", AsBytes("1")), IsOk());
  EXPECT_THAT(store().MovePrefix("from/", "to/"), IsOk());
  ASSERT_THAT(store().Write("from/b", AsBytes("2")), IsOk());
  EXPECT_THAT(store().MovePrefix("from/", "to/"), IsOk());
  EXPECT_THAT(store().MovePrefix("from/", "to/"), IsOk());
  EXPECT_THAT(store().List(""),
              IsOkAndHolds(ElementsAre(ListEntry{"to/a", 1}, ListEntry{"to/b", 1})));
}

TEST_P(KvStoreConformance, AValueMovesToWhereAFolderWas) {
  ASSERT_THAT(store().Write("a/0/0/0", AsBytes("old")), IsOk());
  ASSERT_THAT(store().Delete("a/0/0/0"), IsOk());
  ASSERT_THAT(store().Write("s/a/0", AsBytes("new")), IsOk());
  ASSERT_THAT(store().MovePrefix("s/", ""), IsOk());
  EXPECT_EQ(TextAt(store(), "a/0"), "new");
}

TEST_P(KvStoreConformance, MovesBetweenWhatIsNoFolderAreRefused) {
  const auto refused = [](std::string_view text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(text)));
  };
  EXPECT_THAT(store().MovePrefix("a", "b/"), refused("prefix 'a' of a move does not end in '/'"));
  EXPECT_THAT(store().MovePrefix("a/", "b"), refused("prefix 'b' of a move"));
  EXPECT_THAT(store().MovePrefix("a/", "a/b/"), refused("which lies inside"));
  EXPECT_THAT(store().MovePrefix("../", "b/"), refused("prefix '"));
  EXPECT_THAT(store().MovePrefix("a/", "../b/"), refused("prefix '"));
}

TEST_P(KvStoreConformance, AMovedValueIsAlwaysUnderOneOfItsKeys) {
  std::atomic<bool> done{false};
  ASSERT_THAT(store().Write("s/a/k", AsBytes("0")), IsOk());
  std::thread mover([&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_THAT(store().MovePrefix("s/", "t/"), IsOk());
      EXPECT_THAT(store().Write("s/a/k", AsBytes(std::to_string(i))), IsOk());
    }
    done = true;
  });
  while (!done) {
    const bool found =
        TextAt(store(), "s/a/k") != "<missing>" || TextAt(store(), "t/a/k") != "<missing>";
    EXPECT_TRUE(found);
  }
  mover.join();
}

TEST_P(KvStoreConformance, WritersAndRemoversOfAFolderDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::string folder = Concat("shared/", i, "/");
      for (int round = 0; round < 20; ++round) {
        EXPECT_THAT(store().Write(folder + "k", AsBytes("v")), IsOk());
        EXPECT_THAT(store().DeletePrefix(folder), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(store().List(""), IsOkAndHolds(IsEmpty()));
}

TEST_P(KvStoreConformance, KeysThatLeadOutAreRefused) {
  const std::string nul("a\0b", 3);
  for (const std::string& key : {std::string(".."), std::string("../x"), std::string("/etc/passwd"),
                                 std::string("a/../../x"), std::string(""), nul}) {
    const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key '"));
    EXPECT_THAT(store().Read(key), refused) << key;
    EXPECT_THAT(store().ReadInto(key, 0, {}), refused) << key;
    EXPECT_THAT(store().ReadAll(key, {}), refused) << key;
    EXPECT_THAT(store().ReadMany(std::vector<ReadRequest>{{key}}), refused) << key;
    EXPECT_THAT(store().Write(key, AsBytes("x")), refused) << key;
    EXPECT_THAT(store().Delete(key), refused) << key;
    if (store().writes_parts()) {
      EXPECT_THAT(store().Reserve(key, 1), refused) << key;
      EXPECT_THAT(store().WriteAt(key, 0, AsBytes("x")), refused) << key;
    }
  }
  EXPECT_THAT(store().List("../"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("prefix '")));
}

TEST_P(KvStoreConformance, AFlushKeepsWhatWasWritten) {
  EXPECT_THAT(store().Flush(), IsOk());
  ASSERT_THAT(store().Write("a/b", AsBytes("1")), IsOk());
  ASSERT_THAT(store().Write("c", AsBytes("2")), IsOk());
  ASSERT_THAT(store().Delete("c"), IsOk());
  EXPECT_THAT(store().Flush(), IsOk());
  EXPECT_EQ(TextAt(store(), "a/b"), "1");
  EXPECT_EQ(TextAt(store(), "c"), "<missing>");
}

TEST_P(KvStoreConformance, DescriptionsNameTheKey) {
  EXPECT_THAT(store().Describe("a/b"), HasSubstr("a/b"));
}

}  // namespace tessera::store::testing
