#include "tessera/store/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/key.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/testing/text_values.h"

namespace tessera::store {
namespace {

namespace fs = std::filesystem;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using testing::AsBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

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

}  // namespace
}  // namespace tessera::store
