#include "tessera/store/file_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::store {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

constexpr size_t kLarge = (size_t{5} << 20) + 123;

// No two places that a wrong offset could confuse hold the same bytes.
std::vector<std::byte> Pattern(size_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// As fast in a plain build as in an optimised one.
bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

std::unique_ptr<KvStore> Open(const TemporaryFolder& folder, FileStoreOptions options) {
  options.durability = Durability::kKernel;
  auto store = OpenFileStore(folder.path().string(), options);
  EXPECT_THAT(store, IsOk());
  return *std::move(store);
}

TEST(FileReaderTest, LargePartsAreReadExactly) {
  const TemporaryFolder folder;
  const auto store = Open(folder, {.parallelism = 4, .parallel_threshold = 1});
  const auto value = Pattern(kLarge);
  ASSERT_THAT(store->Write("k", value), IsOk());
  EXPECT_TRUE(Same(store->Read("k")->value->span(), value));
  std::vector<std::byte> target(kLarge);
  ASSERT_THAT(store->ReadAll("k", target), IsOk());
  EXPECT_TRUE(Same(target, value));
  const std::span<std::byte> part = std::span(target).first(kLarge - 1001);
  ASSERT_THAT(store->ReadInto("k", 1001, part), IsOk());
  EXPECT_TRUE(Same(part, std::span(value).subspan(1001)));
}

TEST(FileReaderTest, ManyLargeReadsShareTheThreads) {
  const TemporaryFolder folder;
  const auto store = Open(folder, {.parallelism = 4, .parallel_threshold = 1});
  const auto value = Pattern(kLarge);
  ASSERT_THAT(store->Write("k", value), IsOk());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      std::vector<std::byte> target(kLarge);
      for (int round = 0; round < 3; ++round) {
        EXPECT_THAT(store->ReadAll("k", target), IsOk());
        EXPECT_TRUE(Same(target, value));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FileReaderTest, LargeReadsInsideOfManyDoNotBlockEachOther) {
  const TemporaryFolder folder;
  const auto store =
      Open(folder, {.parallelism = 2, .parallel_threshold = 1, .requests_at_once = 2});
  const auto value = Pattern(kLarge);
  ASSERT_THAT(store->Write("k", value), IsOk());
  const std::vector<ReadRequest> requests(8, {"k"});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto results, store->ReadMany(requests));
  ASSERT_EQ(results.size(), 8u);
  for (const ReadResult& result : results) {
    EXPECT_TRUE(Same(result.value->span(), value));
  }
}

TEST(FileReaderTest, ManySmallValuesAnswerInOrder) {
  const TemporaryFolder folder;
  const auto store = Open(folder, {});
  std::vector<ReadRequest> requests;
  for (uint32_t i = 0; i < 500; ++i) {
    requests.push_back({"d" + std::to_string(i % 7) + "/" + std::to_string(i)});
    ASSERT_THAT(store->Write(requests.back().key, std::as_bytes(std::span(&i, 1))), IsOk());
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto results, store->ReadMany(requests));
  ASSERT_EQ(results.size(), 500u);
  for (uint32_t i = 0; i < 500; ++i) {
    EXPECT_TRUE(Same(results[i].value->span(), std::as_bytes(std::span(&i, 1))));
  }
}

TEST(FileReaderTest, AStopEndsALargeRead) {
  const TemporaryFolder folder;
  const auto store = Open(folder, {.parallelism = 2, .parallel_threshold = 1});
  ASSERT_THAT(store->Write("k", Pattern(kLarge)), IsOk());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(store->Read("k", {}, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("/k: stopped")));
}

TEST(FileReaderTest, AFileThatEndsEarlyIsDataLoss) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "f").string();
  const FileHandle file(open(path.c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_THAT(FileAppender(file, WriteBack::kLater, path).Append(Pattern(kLarge - 1)), IsOk());
  std::vector<std::byte> target(kLarge);
  FileReader reader(4, 1, 1);
  EXPECT_THAT(reader.Read(file, 0, target, path, {}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the file ends at byte 5243002")));
}

TEST(FileStoreTest, NumbersOfThreadsMustMakeSense) {
  const TemporaryFolder folder;
  EXPECT_THAT(OpenFileStore(folder.path().string(), {.parallelism = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1 threads for a read")));
  EXPECT_THAT(OpenFileStore(folder.path().string(), {.requests_at_once = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 requests at once")));
}

TEST(FileStoreTest, WritesOfManyBlocksAreExactOnDisk) {
  const TemporaryFolder folder;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto store, OpenFileStore(folder.path().string()));
  const auto value = Pattern((size_t{17} << 20) + 5);
  ASSERT_THAT(store->Write("new/folder/k", value), IsOk());
  EXPECT_TRUE(Same(store->Read("new/folder/k")->value->span(), value));
}

TEST(FileStoreTest, AHugeFileIsRefusedByItsBound) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "huge").string();
  const FileHandle file(open(path.c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(ftruncate(file.get(), off_t{1} << 43), 0);  // 8 TiB that take no room
  const auto store = Open(folder, {});
  EXPECT_THAT(store->Read("huge", ByteRange::AtMost(1 << 20)),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("more than the 1048576")));
}

}  // namespace
}  // namespace tessera::store
