// Every back end and wrapper through the conformance suite, and what is special to each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/key.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/conformance.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/testing/text_values.h"
#include "tessera/store/testing/volatile_store.h"
#include "tessera/store/wrappers.h"

namespace tessera::store {
namespace {

namespace fs = std::filesystem;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using testing::AsBytes;
using ::testing::ElementsAre;
using testing::Fault;
using testing::FaultStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::KvStoreConformance;
using testing::KvStorePartsConformance;
using testing::MakerName;
using testing::StoreMaker;
using testing::TemporaryFolder;
using testing::VolatileOptions;
using testing::VolatileStore;

// Keeps what a wrapper needs alive as long as the wrapper.
template <typename Owned>
class OwningStore final : public ForwardingStore {
 public:
  OwningStore(Owned owned, std::unique_ptr<KvStore> store)
      : ForwardingStore(*store), owned_(std::move(owned)), store_(std::move(store)) {}

 private:
  Owned owned_;
  std::unique_ptr<KvStore> store_;
};

std::unique_ptr<KvStore> MakeFile(const FileStoreOptions& options) {
  auto folder = std::make_unique<TemporaryFolder>();
  auto store = OpenFileStore(folder->path().string(), options);
  return std::make_unique<OwningStore<std::unique_ptr<TemporaryFolder>>>(std::move(folder),
                                                                         *std::move(store));
}

template <typename Wrap>
std::unique_ptr<KvStore> Wrapped(Wrap wrap) {
  auto base = MakeMemoryStore();
  auto store = wrap(*base);
  return std::make_unique<OwningStore<std::unique_ptr<KvStore>>>(std::move(base), std::move(store));
}

StoreCounts& SharedCounts() {
  static StoreCounts counts;
  return counts;
}

std::vector<StoreMaker> Makers() {
  return {
      {"memory", [] { return MakeMemoryStore(); }},
      {"memory_moves", [] { return MakeMemoryStore({.moves = true}); }},
      {"volatile",
       [] {
         return Wrapped([](KvStore& base) {
           return std::make_unique<VolatileStore>(base, VolatileOptions{});
         });
       }},
      {"file", [] { return MakeFile({}); }},
      {"file_kernel", [] { return MakeFile({.durability = Durability::kKernel}); }},
      {"file_parallel", [] { return MakeFile({.parallelism = 4, .parallel_threshold = 1}); }},
      {"prefix",
       [] { return Wrapped([](KvStore& base) { return *MakePrefixStore(base, "p/q"); }); }},
      {"retry", [] { return Wrapped([](KvStore& base) { return MakeRetryStore(base); }); }},
      {"counting",
       [] {
         return Wrapped([](KvStore& base) { return MakeCountingStore(base, SharedCounts()); });
       }},
  };
}

INSTANTIATE_TEST_SUITE_P(Stores, KvStoreConformance, ::testing::ValuesIn(Makers()), MakerName);
INSTANTIATE_TEST_SUITE_P(WholeValues, KvStoreConformance,
                         ::testing::Values(StoreMaker{
                             "memory", [] { return MakeMemoryStore({.writes_parts = false}); }}),
                         MakerName);
INSTANTIATE_TEST_SUITE_P(Stores, KvStorePartsConformance, ::testing::ValuesIn(Makers()), MakerName);

TEST(MemoryStoreTest, ByOptionValuesAreWrittenOnlyAsAWhole) {
  const auto store = MakeMemoryStore({.writes_parts = false});
  const auto refused = StatusIs(absl::StatusCode::kUnimplemented,
                                HasSubstr("memory:k: this store writes values only as a whole"));
  EXPECT_FALSE(store->writes_parts());
  EXPECT_THAT(store->Reserve("k", 4), refused);
  EXPECT_THAT(store->WriteAt("k", 0, AsBytes("x")), refused);
}

TEST(FileStoreTest, ValuesAreFilesBelowTheRoot) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store,
                               OpenFileStore((folder.path() / "new/store").string()));
  ASSERT_THAT(store->Write("a/0.0", AsBytes("chunk")), IsOk());
  std::ifstream file(folder.path() / "new/store/a/0.0");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "chunk");
  EXPECT_EQ(store->Describe("a/0.0"), (folder.path() / "new/store/a/0.0").string());
}

TEST(FileStoreTest, AMissingRootIsAnErrorByOption) {
  const TemporaryFolder folder;
  EXPECT_THAT(OpenFileStore((folder.path() / "none").string(), {.create_root = false}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none: open directory")));
}

TEST(FileStoreTest, LinksThatLeadOutAreRefused) {
  const TemporaryFolder folder;
  const TemporaryFolder outside;
  std::ofstream(outside.path() / "secret") << "s";
  fs::create_symlink(outside.path(), folder.path() / "link");
  fs::create_symlink(outside.path() / "secret", folder.path() / "file");
  fs::create_symlink("..", folder.path() / "up");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leads out"));
  EXPECT_THAT(store->Read("link/secret"), refused);
  EXPECT_THAT(store->Read("file"), refused);
  EXPECT_THAT(store->Read("up/x"), refused);
  EXPECT_THAT(store->Write("link/new", AsBytes("x")), refused);
  EXPECT_THAT(store->Delete("link/secret"), refused);
  EXPECT_THAT(store->List(""), IsOkAndHolds(IsEmpty()));
  EXPECT_TRUE(fs::exists(outside.path() / "secret"));
  EXPECT_FALSE(fs::exists(outside.path() / "new"));
}

TEST(FileStoreTest, LinksToFilesInsideAreListed) {
  const TemporaryFolder folder;
  const TemporaryFolder outside;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path()));
  ASSERT_THAT(store->Write("real/a", AsBytes("four")), IsOk());
  std::ofstream(outside.path() / "secret") << "x";
  fs::create_symlink("real/a", folder.path() / "alias");
  fs::create_symlink("real", folder.path() / "folder");
  fs::create_symlink(outside.path() / "secret", folder.path() / "out");
  fs::create_symlink("nothing", folder.path() / "dangling");
  EXPECT_THAT(store->List(""),
              IsOkAndHolds(ElementsAre(ListEntry{"alias", 4}, ListEntry{"real/a", 4})));
  // The link goes, not what it leads to.
  ASSERT_THAT(store->DeletePrefix("alias"), IsOk());
  EXPECT_THAT(store->List(""), IsOkAndHolds(ElementsAre(ListEntry{"real/a", 4})));
}

// So many that several threads list them.
TEST(FileStoreTest, FilesOfManyFoldersAreListedInOrder) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto store,
      OpenFileStore(folder.path(), {.durability = Durability::kKernel, .parallelism = 4}));
  std::vector<ListEntry> expected;
  for (int i = 0; i < 300; ++i) {
    for (const std::string_view name : {".zarray", "0", "deep/er/1"}) {
      expected.push_back({Concat("layer", i, "/", name), name.size()});
      ASSERT_THAT(store->Write(expected.back().key, AsBytes(name)), IsOk());
    }
  }
  std::ofstream(folder.path() / Concat("layer7/0", kTemporaryMark, "1-1")) << "left";
  fs::create_directories(folder.path() / "layer8/empty/folders");
  std::sort(expected.begin(), expected.end(),
            [](const ListEntry& a, const ListEntry& b) { return a.key < b.key; });
  EXPECT_THAT(store->List(""), IsOkAndHolds(::testing::ElementsAreArray(expected)));
  EXPECT_THAT(store->List("layer299/d"),
              IsOkAndHolds(ElementsAre(ListEntry{"layer299/deep/er/1", 9})));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(store->List("", stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
  ASSERT_THAT(store->DeletePrefix("layer"), IsOk());
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(FileStoreTest, AValueIsWrittenThroughALinkInside) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path()));
  ASSERT_THAT(store->Write("a/real/x", AsBytes("v")), IsOk());
  fs::create_directories(folder.path() / "b");
  fs::create_symlink("../a/real", folder.path() / "b/alias");
  ASSERT_THAT(store->Write("b/alias/y", AsBytes("w")), IsOk());
  ASSERT_THAT(store->Write("b/alias/new/z", AsBytes("u")), IsOk());
  EXPECT_EQ(store->Read("a/real/y")->value->text(), "w");
  EXPECT_EQ(store->Read("a/real/new/z")->value->text(), "u");
}

TEST(FileStoreTest, AFileInTheWayOfAFolderIsNamed) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path()));
  ASSERT_THAT(store->Write("a", AsBytes("v")), IsOk());
  for (const std::string_view key : {"a/x", "a/b/x"}) {
    EXPECT_THAT(store->Write(key, AsBytes("w")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(Concat("/", key, ": open directory: Not a directory"))));
  }
  EXPECT_EQ(store->Read("a")->value->text(), "v");
}

TEST(FileStoreTest, ALinkInsideIsFollowed) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Write("real/k", AsBytes("v")), IsOk());
  fs::create_symlink("real", folder.path() / "alias");
  EXPECT_EQ(store->Read("alias/k")->value->text(), "v");
}

TEST(FileStoreTest, LeftoversOfAWriteAreNotListed) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "k.tessera-tmp-1-2") << "half";
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  EXPECT_THAT(store->List(""), IsOkAndHolds(IsEmpty()));
}

TEST(FileStoreTest, LeftoversOfWritesAreDeletedWithTheirPrefix) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  fs::create_directories(folder.path() / "s/id/model/empty");
  std::ofstream(folder.path() / "s/id/model/k.tessera-tmp-1-2") << "half";
  std::ofstream(folder.path() / "s/other.tessera-tmp-1-2") << "half";
  ASSERT_THAT(store->DeletePrefix("s/id/"), IsOk());
  EXPECT_FALSE(fs::exists(folder.path() / "s/id"));
  EXPECT_TRUE(fs::exists(folder.path() / "s/other.tessera-tmp-1-2"));
}

TEST(FileStoreTest, AFolderWhoseLastKeyIsDeletedIsGone) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Write("a/b/k", AsBytes("v")), IsOk());
  ASSERT_THAT(store->Write("a/l", AsBytes("v")), IsOk());
  ASSERT_THAT(store->Delete("a/b/k"), IsOk());
  EXPECT_FALSE(fs::exists(folder.path() / "a/b"));
  ASSERT_THAT(store->Delete("a/l"), IsOk());
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(FileStoreTest, AFolderIsNoValueToDelete) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Write("a/b", AsBytes("v")), IsOk());
  EXPECT_THAT(store->Delete("a"), IsOk());
  EXPECT_THAT(store->Delete("a/b/c"), IsOk());
  EXPECT_THAT(store->DeletePrefix("a/b/"), IsOk());
  EXPECT_THAT(store->List(""), IsOkAndHolds(ElementsAre(ListEntry{"a/b", 1})));
}

TEST(FileStoreTest, AConditionalWriteDeletesWhatOneBeforeItHasLeft) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  std::ofstream(folder.path() / ".tessera-tmp-locked-1-2") << "half";
  std::ofstream(folder.path() / "k.tessera-tmp-1-2") << "of a writer that may live";
  ASSERT_THAT(store->Write("k", AsBytes("v"), Generation::Missing()), IsOk());
  EXPECT_FALSE(fs::exists(folder.path() / ".tessera-tmp-locked-1-2"));
  EXPECT_TRUE(fs::exists(folder.path() / "k.tessera-tmp-1-2"));
}

TEST(FileStoreTest, APipeDoesNotBlock) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  EXPECT_THAT(store->Read("pipe"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
}

TEST(FileStoreTest, AFileWhereAFolderIsNeededIsNamed) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Write("a", AsBytes("v")), IsOk());
  EXPECT_THAT(store->Write("a/b", AsBytes("v")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/a/b: open directory")));
  EXPECT_THAT(store->List(""), IsOkAndHolds(ElementsAre(ListEntry{"a", 1})));
}

TEST(FileStoreTest, AMoveRenamesWholeFolders) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  EXPECT_TRUE(store->moves());
  ASSERT_THAT(store->Write("s/id/model/a/0", AsBytes("v")), IsOk());
  std::ofstream(folder.path() / "s/id/model/a/1.tessera-tmp-1-2") << "half";
  struct stat before;
  ASSERT_EQ(stat((folder.path() / "s/id/model").c_str(), &before), 0);
  ASSERT_THAT(store->MovePrefix("s/id/", ""), IsOk());
  struct stat after;
  ASSERT_EQ(stat((folder.path() / "model").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_FALSE(fs::exists(folder.path() / "s"));
}

TEST(FileStoreTest, AMoveStaysInsideTheRoot) {
  const TemporaryFolder folder;
  const TemporaryFolder outside;
  fs::create_directory(outside.path() / "model");
  fs::create_symlink(outside.path() / "model", folder.path() / "model");
  fs::create_symlink(outside.path(), folder.path() / "out");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Write("s/model/a", AsBytes("v")), IsOk());
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leads out"));
  EXPECT_THAT(store->MovePrefix("s/", ""), refused);
  EXPECT_THAT(store->MovePrefix("s/", "out/"), refused);
  EXPECT_THAT(store->MovePrefix("out/", "s/"), refused);
  EXPECT_TRUE(fs::is_empty(outside.path() / "model"));
  EXPECT_EQ(store->Read("s/model/a")->value->text(), "v");
}

TEST(FileStoreTest, AMoveFollowsALinkInside) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Write("deep/real/old", AsBytes("o")), IsOk());
  ASSERT_THAT(store->Write("s/model/a", AsBytes("v")), IsOk());
  fs::create_symlink("deep/real", folder.path() / "model");
  ASSERT_THAT(store->MovePrefix("s/", ""), IsOk());
  EXPECT_EQ(store->Read("model/a")->value->text(), "v");
  EXPECT_EQ(store->Read("deep/real/a")->value->text(), "v");
}

TEST(FileStoreTest, WhatIsInTheWayOfAMoveIsNamed) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Write("a", AsBytes("file")), IsOk());
  ASSERT_THAT(store->Write("s/a/0", AsBytes("v")), IsOk());
  EXPECT_THAT(store->MovePrefix("s/", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("/a: a file is in the way of the folder")));
  ASSERT_THAT(store->Write("t/b", AsBytes("v")), IsOk());
  ASSERT_THAT(store->Write("b/0", AsBytes("v")), IsOk());
  EXPECT_THAT(store->MovePrefix("t/", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("/b: a folder is in the way of a file")));
}

TEST(FileStoreTest, WhatIsReservedTakesNoPlaceOnDisk) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Reserve("a/k", uint64_t{1} << 33), IsOk());
  struct stat info;
  ASSERT_EQ(stat((folder.path() / "a/k").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, int64_t{1} << 33);
  EXPECT_LT(info.st_blocks, 100);
  EXPECT_THAT(store->Reserve("a/k", ~uint64_t{0}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/a/k: reserve: ")));
  EXPECT_THAT(store->List(""), IsOkAndHolds(ElementsAre(ListEntry{"a/k", uint64_t{1} << 33})));
}

TEST(FileStoreTest, WhatIsMappedStaysWhenTheFileIsReplaced) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  ASSERT_THAT(store->Write("k", AsBytes("old one")), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const Bytes mapped, store->Map("k"));
  ASSERT_THAT(store->Reserve("k", 2), IsOk());
  ASSERT_THAT(store->WriteAt("k", 0, AsBytes("ne")), IsOk());
  EXPECT_EQ(mapped.text(), "old one");
  ASSERT_THAT(store->Delete("k"), IsOk());
  EXPECT_EQ(mapped.text(), "old one");
}

TEST(FileStoreTest, PartsAreNotWrittenThroughLinksThatLeadOut) {
  const TemporaryFolder folder;
  const TemporaryFolder outside;
  std::ofstream(outside.path() / "secret") << "s";
  fs::create_symlink(outside.path(), folder.path() / "link");
  fs::create_symlink(outside.path() / "secret", folder.path() / "file");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leads out"));
  EXPECT_THAT(store->Reserve("link/new", 1), refused);
  EXPECT_THAT(store->WriteAt("link/secret", 0, AsBytes("x")), refused);
  EXPECT_THAT(store->WriteAt("file", 0, AsBytes("x")), refused);
  EXPECT_THAT(store->Map("file"), refused);
  // The link itself is replaced, not what it leads to.
  EXPECT_THAT(store->Reserve("file", 3), IsOk());
  EXPECT_EQ(fs::file_size(outside.path() / "secret"), 1u);
  EXPECT_FALSE(fs::exists(outside.path() / "new"));
}

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
