#include "tessera/checkpoint/save_tree.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::checkpoint {
namespace {

namespace fs = std::filesystem;

using ::tessera::array::testing::HostIota;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Tree = array::ValueTree;

Tree SmallTree() { return Tree::MakeDict({{"a", Tree::MakeDict({{"w", HostIota({8, 4})}})}}); }

TEST(TreeSerializeLeavesTest, WaitsWithASaverOfItsOwn) {
  const store::testing::TemporaryFolder folder;
  const fs::path root = folder.path() / "new" / "ckpt";
  SaveOptions options;
  options.plan.prefix = "model";
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto future,
                               TreeSerializeLeaves(root.string(), SmallTree(), nullptr, options));
  EXPECT_TRUE(future.ready());
  EXPECT_TRUE(fs::is_regular_file(root / "tensorstore_index.json"));
  EXPECT_TRUE(fs::is_regular_file(root / "model" / "a" / "w" / ".zarray"));
  EXPECT_TRUE(fs::is_regular_file(root / "model" / "a" / "w" / "0.0"));
}

TEST(TreeSerializeLeavesTest, TakesFileUrls) {
  const store::testing::TemporaryFolder folder;
  Saver saver;
  for (const char* host : {"file://", "file://localhost"}) {
    const std::string url = Concat(host, folder.path().string(), "/with%20blank");
    ASSERT_THAT(TreeSerializeLeaves(url, SmallTree(), &saver), IsOk());
  }
  ASSERT_THAT(saver.WaitUntilFinished(), IsOk());
  EXPECT_TRUE(fs::is_regular_file(folder.path() / "with blank" / "tensorstore_index.json"));
}

TEST(TreeSerializeLeavesTest, OtherUrlsAreRefused) {
  for (const char* scheme : {"gs", "s3", "http"}) {
    EXPECT_THAT(TreeSerializeLeaves(Concat(scheme, "://bucket/ckpt"), SmallTree()),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr(Concat("stores of scheme ", scheme, "://"))));
  }
  EXPECT_THAT(TreeSerializeLeaves("file://elsewhere/ckpt", SmallTree()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the host 'elsewhere'")));
  EXPECT_THAT(TreeSerializeLeaves("file:///a%2", SmallTree()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hexadecimal")));
  EXPECT_THAT(TreeSerializeLeaves("", SmallTree()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("path of a folder")));
}

TEST(SaveTest, SaysItInOneSentence) {
  const std::shared_ptr<store::KvStore> store = store::MakeMemoryStore();
  std::vector<SaveProgress> told;
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const SaveReport report,
      Save(SmallTree())
          .To(store)
          .Prefix("m")
          .Codec(CodecList{})
          .ChunkBytes(64)
          .OnProgress([&](const SaveProgress& progress) { told.push_back(progress); })
          .Run());
  EXPECT_EQ(report.chunks, 2);
  EXPECT_EQ(report.stored_bytes, 128);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), (SaveProgress{128, 128, 2, 2}));
  Saver saver;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto future,
                               Save(SmallTree()).To(store).Prefix("n").Start(saver));
  EXPECT_THAT(future.Wait(), IsOk());
  EXPECT_THAT(Save(SmallTree()).Start(saver),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs To()")));
}

}  // namespace
}  // namespace tessera::checkpoint
