// Several writers and readers of one checkpoint, in threads and in processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "tessera/commit/recover.h"
#include "tessera/commit/testing/scenario.h"
#include "tessera/commit/view.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/concurrent.h"
#include "tessera/store/file_store.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::commit {
namespace {

using store::KvStore;
using store::testing::TemporaryFolder;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using testing::BeginSmall;
using testing::Checkpoint;
using ::testing::HasSubstr;
using testing::Leftovers;
using testing::Prepare;
using testing::ReadCheckpoint;
using testing::RequestFor;
using testing::RunSmall;
using testing::Scenario;
using testing::Scenarios;
using testing::SmallSave;

std::unique_ptr<KvStore> OpenUnsynced(const TemporaryFolder& folder) {
  auto store =
      store::OpenFileStore(folder.path().string(), {.durability = store::Durability::kKernel});
  TESSERA_CHECK(store.ok());
  return *std::move(store);
}

// Passes calls on until one of them ends the process.
class KillingStore final : public store::ForwardingStore {
 public:
  KillingStore(KvStore& base, int at_call) : ForwardingStore(base), left_(at_call) {}

  absl::StatusOr<store::ReadResult> Read(std::string_view key, const store::ByteRange& range,
                                         std::stop_token stop) override {
    Count();
    return base().Read(key, range, std::move(stop));
  }
  // Without threads, which a fork would not take along.
  absl::StatusOr<std::vector<store::ReadResult>> ReadMany(
      std::span<const store::ReadRequest> requests, std::stop_token stop) override {
    return store::ReadOneByOne(*this, requests, std::move(stop));
  }
  absl::StatusOr<store::Generation> Write(std::string_view key, std::span<const std::byte> value,
                                          const std::optional<store::Generation>& generation,
                                          std::stop_token stop) override {
    Count();
    return base().Write(key, value, generation, std::move(stop));
  }
  absl::Status Delete(std::string_view key, const std::optional<store::Generation>& generation,
                      std::stop_token stop) override {
    Count();
    return base().Delete(key, generation, std::move(stop));
  }
  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    Count();
    return base().MovePrefix(from, to, std::move(stop));
  }
  absl::Status Flush(std::stop_token) override { return absl::OkStatus(); }

 private:
  void Count() {
    if (left_-- == 0) kill(getpid(), SIGKILL);
  }
  std::atomic<int> left_;
};

// Runs it in a process of its own; the status that wait gives.  Stores are to be opened there: a
// fork does not take their threads along.
int InProcess(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

SmallSave Numbered(const std::string& prefix, int version) {
  const std::string path = prefix + "/a";
  const std::string v = std::to_string(version);
  SmallSave save{.prefix = prefix, .paths = {path}, .data = {}, .nbytes = version};
  save.data[path + "/.zarray"] = v;
  // Odd versions have other chunks than even ones.
  for (int i = 0; i < 3; ++i) save.data[Concat(path, "/", i + version % 2)] = v;
  save.side_files["checkpoint_metadata.json"] = v;
  return save;
}

TEST(ConcurrentTest, ASecondSaveOfAPrefixIsToldOfTheFirst) {
  const auto store = store::MakeMemoryStore();
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto first, BeginSmall(*store, Numbered("model", 1)));
  EXPECT_THAT(RunSmall(*store, Numbered("model", 2)),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr(Concat("prefix 'model': save ", first->id(),
                                        " of prefix 'model' by process ", getpid(), " on "))));
  SmallSave inside = Numbered("other", 1);
  inside.paths = {"model/a/inner"};
  inside.data = {{"model/a/inner/0", "x"}};
  EXPECT_THAT(RunSmall(*store, inside),
              StatusIs(absl::StatusCode::kAborted, HasSubstr(first->id())));
  TESSERA_ASSERT_OK_AND_ASSIGN(const RecoverReport report, Recover(*store));
  ASSERT_EQ(report.alive.size(), 1u);
  EXPECT_THAT(report.alive[0], HasSubstr("of prefix 'model' by process"));
  EXPECT_THAT(first->Commit(RequestFor(*first, Numbered("model", 1))), IsOk());
  EXPECT_THAT(RunSmall(*store, Numbered("model", 2)), IsOk());
}

void ExpectBothPrefixes(KvStore& store, int version) {
  const Checkpoint checkpoint = ReadCheckpoint(store);
  for (const std::string prefix : {"model", "optimizer"}) {
    EXPECT_EQ(checkpoint.at("manifest of " + prefix), Concat(prefix, " version ", version));
    EXPECT_EQ(checkpoint.at(prefix + "/a/.zarray"), std::to_string(version));
  }
}

bool SaveMany(KvStore& store, const std::string& prefix, int versions) {
  for (int version = 1; version <= versions; ++version) {
    SmallSave save = Numbered(prefix, version);
    save.side_files.clear();
    const absl::Status status = RunSmall(store, save);
    EXPECT_THAT(status, IsOk());
    if (!status.ok()) return false;
  }
  return true;
}

TEST(ConcurrentTest, TwoPrefixesAreSavedByTwoThreads) {
  const TemporaryFolder folder;
  const auto file = OpenUnsynced(folder);
  KillingStore unsynced(*file, -1);
  const auto memory = store::MakeMemoryStore();
  for (KvStore* store : {static_cast<KvStore*>(&unsynced), memory.get()}) {
    std::thread other([&] { SaveMany(*store, "optimizer", 30); });
    SaveMany(*store, "model", 30);
    other.join();
    ExpectBothPrefixes(*store, 30);
  }
}

TEST(ConcurrentTest, TwoPrefixesAreSavedByTwoProcesses) {
  const TemporaryFolder folder;
  const auto save = [&](const std::string& prefix) {
    const auto file = OpenUnsynced(folder);
    KillingStore unsynced(*file, -1);
    return SaveMany(unsynced, prefix, 30);
  };
  const pid_t child = fork();
  if (child == 0) _exit(save("optimizer") ? 0 : 1);
  EXPECT_TRUE(save("model"));
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto store = OpenUnsynced(folder);
  ExpectBothPrefixes(*store, 30);
}

// Everything that a reader of the view gets, or what went wrong.
std::string ReadVersion(const View& view) {
  if (!view.index_text.has_value()) return "no index";
  const auto index = ledger::DecodeIndexFile(view.index_text->text());
  if (!index.ok()) return index.status().ToString();
  const auto version = static_cast<int>(index->notes[0].second.nbytes);
  for (const auto& [key, value] : Numbered("model", version).data) {
    const auto result = view.store->Read(key);
    if (!result.ok()) return result.status().ToString();
    if (!result->value.has_value()) return Concat(version, ": ", key, " is missing");
    if (result->value->text() != value) return Concat(version, ": ", key, " is another");
  }
  const int absent = version % 2 == 0 ? 3 : 0;
  const auto result = view.store->Read(Concat("model/a/", absent));
  if (!result.ok() || result->value.has_value()) return Concat(version, ": an old chunk is there");
  return "";
}

void ExpectReadersSeeWholeStates(KvStore& store) {
  ASSERT_THAT(RunSmall(store, Numbered("model", 1)), IsOk());
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int version = 2; version <= 200; ++version) {
      EXPECT_THAT(RunSmall(store, Numbered("model", version)), IsOk());
    }
    done = true;
  });
  int whole = 0;
  while (!done) {
    const auto view = OpenView(store);
    EXPECT_THAT(view, IsOk());
    if (!view.ok()) break;
    const std::string problem = ReadVersion(*view);
    whole += problem.empty();
    const auto after = OpenView(store);
    EXPECT_THAT(after, IsOk());
    if (problem.empty()) continue;
    EXPECT_NE(view->state_id, after->state_id) << problem;
  }
  writer.join();
  EXPECT_GT(whole, 0);
}

TEST(ConcurrentTest, AReaderSeesWholeStatesOfFilesThatAreWrittenOver) {
  const TemporaryFolder folder;
  const auto file = OpenUnsynced(folder);
  KillingStore unsynced(*file, -1);
  ExpectReadersSeeWholeStates(unsynced);
}

TEST(ConcurrentTest, AReaderSeesWholeStatesOfObjectsThatAreWrittenOver) {
  const auto store = store::MakeMemoryStore();
  ExpectReadersSeeWholeStates(*store);
}

TEST(ConcurrentTest, AProcessKilledAtAnyCallIsSucceededAtOnce) {
  const Scenario scenario = Scenarios()[6];
  ASSERT_EQ(scenario.name, "SideFilesOfTheSamePrefix");
  const auto model = store::MakeMemoryStore({.moves = true});
  ASSERT_THAT(Prepare(*model, scenario), IsOk());
  const Checkpoint old_one = ReadCheckpoint(*model);
  ASSERT_THAT(RunSmall(*model, scenario.save), IsOk());
  const Checkpoint new_one = ReadCheckpoint(*model);
  for (int n = 0;; ++n) {
    SCOPED_TRACE(Concat("call ", n));
    const TemporaryFolder folder;
    const auto file = OpenUnsynced(folder);
    KillingStore unsynced(*file, -1);
    ASSERT_THAT(Prepare(unsynced, scenario), IsOk());
    const int status = InProcess([&] {
      const auto own = OpenUnsynced(folder);
      KillingStore killing(*own, n);
      return RunSmall(killing, scenario.save).ok();
    });
    EXPECT_THAT(ReadCheckpoint(unsynced), ::testing::AnyOf(old_one, new_one));
    ASSERT_THAT(RunSmall(unsynced, scenario.save), IsOk());
    EXPECT_EQ(ReadCheckpoint(unsynced), new_one);
    EXPECT_EQ(Leftovers(unsynced, scenario), "");
    if (HasFailure() || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) break;
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
  }
}

TEST(ConcurrentTest, ALiveProcessKeepsOthersOut) {
  const TemporaryFolder folder;
  const auto file = OpenUnsynced(folder);
  KillingStore unsynced(*file, -1);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto own = OpenUnsynced(folder);
    KillingStore own_unsynced(*own, -1);
    const auto transaction = BeginSmall(own_unsynced, Numbered("model", 1));
    const char byte = transaction.ok() ? 'y' : 'n';
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_THAT(RunSmall(unsynced, Numbered("model", 2)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr(Concat("by process ", child))));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  TESSERA_ASSERT_OK_AND_ASSIGN(const RecoverReport report, Recover(unsynced));
  EXPECT_EQ(report.swept.size(), 1u);
  EXPECT_THAT(RunSmall(unsynced, Numbered("model", 2)), IsOk());
  close(ready[0]);
  close(ready[1]);
}

TEST(ConcurrentTest, AFullDiskIsNamedAndTheOldStateStays) {
  const TemporaryFolder folder;
  const auto file = OpenUnsynced(folder);
  KillingStore unsynced(*file, -1);
  ASSERT_THAT(RunSmall(unsynced, Numbered("model", 1)), IsOk());
  const Checkpoint old_one = ReadCheckpoint(unsynced);
  const int status = InProcess([&] {
    const auto own = OpenUnsynced(folder);
    KillingStore own_unsynced(*own, -1);
    // Files may not grow past this, which fails as a full disk does.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    SmallSave save = Numbered("model", 2);
    save.data["model/a/1"] = std::string(10'000, 'x');
    const absl::Status result = RunSmall(own_unsynced, save);
    const std::string message(result.message());
    return absl::IsResourceExhausted(result) &&
           message.find("/model/a/1: write: File too large") != std::string::npos;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadCheckpoint(unsynced), old_one);
  EXPECT_THAT(RunSmall(unsynced, Numbered("model", 2)), IsOk());
}

TEST(ConcurrentTest, AFolderThatMayNotBeWrittenIsNamed) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "fixed");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder.path() / "fixed", std::filesystem::perms(0555));
  const int status = InProcess([&] {
    // Nothing is forbidden to root.
    if (geteuid() == 0 && setuid(65534) != 0) return false;
    const auto store = store::OpenFileStore((folder.path() / "fixed").string(),
                                            {.durability = store::Durability::kKernel});
    if (!store.ok()) return false;
    const absl::Status result = RunSmall(**store, Numbered("model", 1));
    const std::string message(result.message());
    return absl::IsPermissionDenied(result) &&
           message.find("/fixed/.tessera/saves/") != std::string::npos;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tessera::commit
