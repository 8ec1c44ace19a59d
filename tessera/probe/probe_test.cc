#include "tessera/probe/probe.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/probe/limits.h"
#include "tessera/probe/movers.h"
#include "tessera/probe/scratch.h"
#include "tessera/probe/small_files.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::probe {
namespace {

namespace fs = std::filesystem;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kMiB = int64_t{1} << 20;

class ProbeTest : public ::testing::Test {
 protected:
  std::string Path(std::string_view name = "") const { return (folder_.path() / name).string(); }
  void ExpectNothingLeft() const { EXPECT_TRUE(fs::is_empty(Path())); }

  store::testing::TemporaryFolder folder_;
};

TEST_F(ProbeTest, MeasuresAFolderAndLeavesNothing) {
  std::vector<std::string> parts;
  const auto on_part = [&](std::string_view part) { parts.emplace_back(part); };
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ProbeReport report,
      ProbeStorage(Path(), {.seconds = 1, .size = 16 * kMiB, .on_part = on_part}));
  ExpectNothingLeft();
  EXPECT_THAT(parts, ElementsAre("what it can do", "renames", "syncs", "small files", "memory",
                                 "writes", "reads"));
  EXPECT_EQ(report.path, Path());
  EXPECT_EQ(report.size, 16 * kMiB);
  EXPECT_THAT(report.seconds, Gt(0));
  EXPECT_THAT(BestSpeed(report.reads), Gt(0));
  EXPECT_THAT(BestSpeed(report.writes), Gt(0));
  EXPECT_THAT(report.memory.one_thread, Gt(0));
  EXPECT_THAT(report.memory.all_threads, Gt(0));
}

TEST_F(ProbeTest, FindsWhatALocalFileSystemCanDo) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const ProbeReport report,
                               ProbeStorage(Path(), {.seconds = 0.2, .size = kMiB}));
  const FileSystem& system = report.file_system;
  EXPECT_NE(system.type, "");
  EXPECT_THAT(system.options, HasSubstr("rw"));
  EXPECT_THAT(system.free_bytes, Gt(0));
  EXPECT_GE(system.total_bytes, system.free_bytes);
  EXPECT_EQ(system.max_name, 255);
  EXPECT_TRUE(system.case_sensitive && system.hard_links && system.symbolic_links && system.locks);
  EXPECT_TRUE(report.renames.atomic && report.renames.noreplace) << report.renames.seen;
  EXPECT_THAT(report.renames.replaced, Gt(0));
  EXPECT_THAT(report.file_sync.count, Gt(0));
  EXPECT_GE(report.file_sync.p95_ms, report.file_sync.median_ms);
  EXPECT_THAT(report.folder_sync.count, Gt(0));
  EXPECT_THAT(report.small_files.create, Gt(0));
  EXPECT_THAT(report.small_files.unlink, Gt(0));
}

TEST_F(ProbeTest, CountsWhatItHadNoRoomFor) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const ProbeReport report,
                               ProbeStorage(Path(), {.seconds = 0.5, .size = kMiB}));
  const size_t all = 2 * AllCases(report.direct.works).size() + std::size(kThreads);
  EXPECT_EQ(report.reads.size() + report.writes.size() + static_cast<size_t>(report.left_out), all);
  // 16 threads with 64 KiB, or one with 1 MiB, are all that fits.
  for (const Speed& speed : report.writes) EXPECT_LE(speed.block_bytes * speed.threads, kMiB);
}

TEST_F(ProbeTest, TakesAboutTheTimeItWasGiven) {
  const Clock::time_point start = Clock::now();
  TESSERA_ASSERT_OK_AND_ASSIGN(const ProbeReport report,
                               ProbeStorage(Path(), {.seconds = 0.5, .size = 64 * kMiB}));
  // Generous, as the machine may be busy and a sync may take its time.
  EXPECT_LT(SecondsSince(start), 20);
  EXPECT_LE(report.seconds, SecondsSince(start));
}

TEST_F(ProbeTest, RefusesWhatIsNoFolder) {
  std::ofstream(Path("file")) << "text";
  EXPECT_THAT(ProbeStorage(Path("file")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith(Path("file")), HasSubstr("expected a folder"))));
  EXPECT_THAT(ProbeStorage(Path("missing")),
              StatusIs(absl::StatusCode::kNotFound, StartsWith(Path("missing"))));
}

TEST_F(ProbeTest, RefusesSenselessOptions) {
  EXPECT_THAT(ProbeStorage(Path(), {.seconds = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 0.01 to 3600")));
  EXPECT_THAT(
      ProbeStorage(Path(), {.size = 100}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("size 100: expected at least")));
  EXPECT_THAT(ProbeStorage(Path(), {.size = int64_t{1} << 60}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("bytes are free")));
  ExpectNothingLeft();
}

// A user who may write nowhere below the folder, in a process of its own, as one cannot go back.
TEST_F(ProbeTest, SaysThatAFolderIsReadOnly) {
  fs::permissions(Path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                              fs::perms::others_exec);
  const auto probe_as_nobody = [&] {
    if (geteuid() == 0 && setuid(65534) != 0) std::_Exit(2);
    const auto report = ProbeStorage(Path(), {.seconds = 0.1});
    std::fprintf(stderr, "%s\n", report.status().ToString().c_str());
    std::_Exit(absl::IsPermissionDenied(report.status()) ? 0 : 1);
  };
  EXPECT_EXIT(probe_as_nobody(), ::testing::ExitedWithCode(0),
              "PERMISSION_DENIED: .*: make a folder in it: Permission denied");
  fs::permissions(Path(), fs::perms::owner_all);
  ExpectNothingLeft();
}

// A limit on the size of files stands in for a disk that is full in the middle.
TEST_F(ProbeTest, CleansUpWhenNothingMoreCanBeWritten) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {static_cast<rlim_t>(kMiB), before.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto report = ProbeStorage(Path(), {.seconds = 0.5, .size = 8 * kMiB});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(report, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(StartsWith(Path()), HasSubstr("write: File too large"))));
  ExpectNothingLeft();
}

TEST_F(ProbeTest, LeavesNothingWhenStoppedInAnyPart) {
  for (const std::string stop_in :
       {"what it can do", "renames", "syncs", "small files", "memory", "writes", "reads"}) {
    std::stop_source source;
    std::vector<std::string> parts;
    const auto on_part = [&](std::string_view part) {
      parts.emplace_back(part);
      if (part == stop_in) source.request_stop();
    };
    EXPECT_THAT(ProbeStorage(Path(), {.seconds = 1, .size = 8 * kMiB, .on_part = on_part},
                             source.get_token()),
                StatusIs(absl::StatusCode::kCancelled, StartsWith(Path())));
    EXPECT_EQ(parts.back(), stop_in);
    ExpectNothingLeft();
  }
}

TEST_F(ProbeTest, StopsSoonInTheMiddleOfAPart) {
  std::stop_source source;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    source.request_stop();
  });
  const Clock::time_point start = Clock::now();
  EXPECT_THAT(ProbeStorage(Path(), {.seconds = 100, .size = 64 * kMiB}, source.get_token()),
              StatusIs(absl::StatusCode::kCancelled, StartsWith(Path())));
  EXPECT_LT(SecondsSince(start), 30);
  ExpectNothingLeft();
}

TEST_F(ProbeTest, NamesAndRemovesWhatAKilledRunHasLeft) {
  fs::create_directories(Path(".tessera-doctor-killed/syncs"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Scratch other, Scratch::Make(Path()));
  TESSERA_ASSERT_OK_AND_ASSIGN(const ProbeReport report,
                               ProbeStorage(Path(), {.seconds = 0.1, .size = kMiB}));
  EXPECT_THAT(report.removed, ElementsAre(Path(".tessera-doctor-killed")));
  EXPECT_THAT(report.kept, ElementsAre(other.path()));
}

TEST(LatencyOfTest, TakesTheNearestRank) {
  EXPECT_EQ(LatencyOf({}), Latency());
  EXPECT_EQ(LatencyOf({7}), (Latency{7, 7, 1}));
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(LatencyOf(hundred), (Latency{50, 96, 100}));
}

TEST(MoversTest, TellsTheFirstErrorOfAnyThread) {
  Movers movers(kMiB, 512);
  const auto work = [](int thread, std::span<std::byte>,
                       const std::stop_token&) -> absl::StatusOr<Moved> {
    if (thread == 3) return Unavailable("thread 3");
    return Moved{.bytes = 1};
  };
  EXPECT_THAT(movers.Run({.block = 65536, .threads = 4}, {}, work),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("thread 3")));
}

}  // namespace
}  // namespace tessera::probe
