// Saves that get in each other's way, and places that cannot take them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "tessera/checkpoint/save_tree.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tests/crash/states.h"

namespace tessera::crash {
namespace {

using Tree = array::ValueTree;
using store::KvStore;
using store::testing::TemporaryFolder;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Tree TreeOf(int version) {
  return Tree::MakeDict(
      {{"w", Numbers({8, 4}, 1000 * version)}, {"step", array::MakeScalar(int64_t{version})}});
}

// About 2 MiB that no codec is to make smaller.
Tree LargeTree() { return Tree::MakeDict({{"w", Numbers({512, 1024}, 7)}}); }

checkpoint::Save SaveOf(const Tree& tree, const std::string& prefix) {
  checkpoint::Save save(tree);
  save.Prefix(prefix).Codec(checkpoint::CodecList{}).ChunkBytes(64 << 10);
  return save;
}

absl::Status SaveTo(const std::string& folder, const Tree& tree, const std::string& prefix) {
  return SaveOf(tree, prefix).To(folder).Run().status();
}

absl::StatusOr<State> StateIn(const std::string& folder) {
  IoContext io({.in_flight = 2});
  TESSERA_ASSIGN_OR_RETURN(const auto store, checkpoint::OpenForSave(folder));
  const std::string problems = ProblemsOf(*store, io);
  if (!problems.empty()) return DataLoss(problems);
  return LoadState(*store, io);
}

State StateOf(const std::map<std::string, Tree>& trees) {
  State state = {{"files", {}}};
  for (const auto& [prefix, tree] : trees) state[prefix] = *LeavesOf(tree);
  return state;
}

// Runs it in a process of its own, which must find nothing wrong.
void InProcess(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(TwoSaversTest, OfOnePrefixInOneProcessTheSecondIsToldOfTheFirst) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  std::atomic<bool> writing = false;
  std::atomic<bool> go_on = false;
  checkpoint::Saver first;
  const auto future = SaveOf(TreeOf(1), "model")
                          .To(path)
                          .OnProgress([&](const checkpoint::SaveProgress&) {
                            writing = true;
                            while (!go_on) std::this_thread::yield();
                          })
                          .Start(first);
  ASSERT_THAT(future, IsOk());
  while (!writing) std::this_thread::yield();
  EXPECT_THAT(SaveTo(path, TreeOf(2), "model"),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("prefix 'model'"),
                             HasSubstr(Concat("by process ", getpid())), HasSubstr("since 20"))));
  EXPECT_THAT(SaveTo(path, TreeOf(3), "other"), IsOk());
  go_on = true;
  EXPECT_THAT(future->Wait(), IsOk());
  EXPECT_THAT(StateIn(path), IsOkAndHolds(StateOf({{"model", TreeOf(1)}, {"other", TreeOf(3)}})));
  EXPECT_THAT(SaveTo(path, TreeOf(2), "model"), IsOk());
  EXPECT_THAT(StateIn(path), IsOkAndHolds(StateOf({{"model", TreeOf(2)}, {"other", TreeOf(3)}})));
}

TEST(TwoSaversTest, OfOnePrefixInTwoProcessesTheSecondIsToldOfTheFirst) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto wait = [&](const checkpoint::SaveProgress&) {
      if (write(ready[1], "y", 1) == 1) pause();
    };
    (void)SaveOf(TreeOf(1), "model").To(path).OnProgress(wait).Run();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT(SaveTo(path, TreeOf(2), "model"),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr(Concat("by process ", child)), HasSubstr("since 20"))));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_THAT(SaveTo(path, TreeOf(2), "model"), IsOk());
  EXPECT_THAT(StateIn(path), IsOkAndHolds(StateOf({{"model", TreeOf(2)}})));
  close(ready[0]);
  close(ready[1]);
}

TEST(TwoSaversTest, OfTwoPrefixesBothArePresent) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  constexpr int kSaves = 5;
  const auto save_all = [&](const std::string& prefix) {
    for (int i = 1; i <= kSaves; ++i) EXPECT_THAT(SaveTo(path, TreeOf(i), prefix), IsOk());
  };
  const pid_t child = fork();
  if (child == 0) {
    save_all("third");
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  std::thread other([&] { save_all("second"); });
  save_all("first");
  other.join();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const Tree last = TreeOf(kSaves);
  EXPECT_THAT(StateIn(path),
              IsOkAndHolds(StateOf({{"first", last}, {"second", last}, {"third", last}})));
}

// Takes so many bytes and no more.
class SmallStore final : public store::ForwardingStore {
 public:
  SmallStore(KvStore& base, int64_t bytes) : ForwardingStore(base), left_(bytes) {}

  absl::StatusOr<store::Generation> Write(std::string_view key, std::span<const std::byte> value,
                                          const std::optional<store::Generation>& generation,
                                          std::stop_token stop) override {
    const auto size = static_cast<int64_t>(value.size());
    if (left_.fetch_sub(size) < size) {
      left_ += size;
      return ResourceExhausted(Describe(key), ": write: No space left on device");
    }
    return base().Write(key, value, generation, std::move(stop));
  }

 private:
  std::atomic<int64_t> left_;
};

TEST(FullDiskTest, AtAnyByteTheOldTreeStaysOrTheNewOneIsThere) {
  IoContext io({.in_flight = 2});
  const State old_one = StateOf({{"model", TreeOf(1)}});
  const State new_one = StateOf({{"model", TreeOf(2)}});
  bool done = false;
  for (int64_t bytes = 0; !done && !HasFailure(); bytes += 50) {
    SCOPED_TRACE(bytes);
    ASSERT_LT(bytes, 100'000);
    const std::shared_ptr<KvStore> store = store::MakeMemoryStore({.moves = true});
    ASSERT_THAT(SaveOf(TreeOf(1), "model").To(store).Run(), IsOk());
    const auto small = std::make_shared<SmallStore>(*store, bytes);
    const auto result = SaveOf(TreeOf(2), "model").To(small).Run();
    done = result.ok();
    const auto state = LoadState(*store, io);
    ASSERT_THAT(state, IsOk());
    EXPECT_EQ(ProblemsOf(*store, io), "");
    if (done) {
      EXPECT_EQ(*state, new_one);
      continue;
    }
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("No space left")));
    const std::string message(result.status().message());
    const bool made = message.find("the commit is made") != std::string::npos;
    EXPECT_EQ(*state, made ? new_one : old_one) << message;
    EXPECT_THAT(SaveOf(TreeOf(2), "model").To(store).Run(), IsOk());
    EXPECT_THAT(LoadState(*store, io), IsOkAndHolds(new_one));
  }
}

void FillSmallDisk(const std::string& path) {
  ASSERT_THAT(SaveTo(path, TreeOf(1), "model"), IsOk());
  for (const std::string prefix : {"model", "further"}) {
    EXPECT_THAT(SaveTo(path, LargeTree(), prefix),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         AllOf(HasSubstr(path), HasSubstr(prefix + "/w/"),
                               HasSubstr("No space left on device"))));
    EXPECT_THAT(StateIn(path), IsOkAndHolds(StateOf({{"model", TreeOf(1)}})));
  }
  EXPECT_THAT(SaveTo(path, TreeOf(2), "model"), IsOk());
  EXPECT_THAT(StateIn(path), IsOkAndHolds(StateOf({{"model", TreeOf(2)}})));
  EXPECT_FALSE(std::filesystem::exists(path + "/.tessera/data"));
}

// The store above stands in where a sandbox does not let the test mount anything.
TEST(FullDiskTest, ASmallFileSystemIsNamedAndTheOldTreeStays) {
  const TemporaryFolder folder;
  InProcess([&] {
    const std::string path = folder.path().string();
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", path.c_str(), "tmpfs", 0, "size=1m") != 0) {
      std::printf("a small tmpfs cannot be mounted here: %s\n", std::strerror(errno));
      return;
    }
    FillSmallDisk(path);
  });
}

TEST(ReadOnlyTest, AFolderThatMayNotBeWrittenIsNamedAndLoads) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "fixed").string();
  ASSERT_THAT(SaveTo(path, TreeOf(1), "model"), IsOk());
  namespace fs = std::filesystem;
  fs::permissions(folder.path(), fs::perms(0755));
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_directory()) fs::permissions(entry.path(), fs::perms(0555));
  }
  fs::permissions(path, fs::perms(0555));
  InProcess([&] {
    // Nothing is forbidden to root.
    ASSERT_TRUE(geteuid() != 0 || setuid(65534) == 0);
    for (const char* prefix : {"model", "further"}) {
      EXPECT_THAT(SaveTo(path, TreeOf(2), prefix),
                  StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path + "/.tessera")));
    }
    EXPECT_THAT(SaveTo(path + "/new", TreeOf(2), "model"),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path + "/new")));
    EXPECT_THAT(StateIn(path), IsOkAndHolds(StateOf({{"model", TreeOf(1)}})));
  });
}

}  // namespace
}  // namespace tessera::crash
