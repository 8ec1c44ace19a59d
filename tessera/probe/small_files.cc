#include "tessera/probe/small_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "absl/functional/function_ref.h"
#include "tessera/core/status.h"
#include "tessera/store/file_rename.h"

namespace tessera::probe {
namespace {

using store::ErrnoStatus;
using store::FileHandle;

constexpr size_t kBlock = 4096;
constexpr size_t kMostSyncs = 1000;
constexpr size_t kMostFiles = 10'000;

// A folder of its own, as the number of its entries matters.
absl::StatusOr<FileHandle> OpenNewFolder(const Scratch& scratch, const std::string& name) {
  const std::string path = scratch.Path(name);
  if (mkdir(path.c_str(), 0700) != 0) return ErrnoStatus(errno, "make a folder", name);
  FileHandle folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return ErrnoStatus(errno, "open", name);
  return folder;
}

absl::StatusOr<FileHandle> MakeFile(const FileHandle& folder, const std::string& name,
                                    size_t bytes) {
  FileHandle file(
      openat(folder.get(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, "make a file", name);
  static constexpr std::array<std::byte, kBlock> kZeros = {};
  TESSERA_RETURN_IF_ERROR(store::FileAppender(file, store::WriteBack::kLater, name)
                              .Append(std::span(kZeros).first(bytes)));
  return file;
}

absl::StatusOr<double> SyncMilliseconds(const FileHandle& file, const std::string& shown) {
  const Clock::time_point start = Clock::now();
  TESSERA_RETURN_IF_ERROR(store::Sync(file, shown));
  return SecondsSince(start) * 1e3;
}

// Calls `act` with the numbers from 0 up to `most`, at least once and until the limits are over;
// tells how often.
absl::StatusOr<size_t> Repeat(size_t most, const Limits& limits,
                              absl::FunctionRef<absl::Status(size_t)> act) {
  size_t done = 0;
  do {
    TESSERA_RETURN_IF_ERROR(act(done));
    ++done;
  } while (done < most && !limits.Over());
  return done;
}

std::string Name(size_t number) { return Concat("file-", number); }

// The steps that small files go through, and how many of them a second.
class Rates {
 public:
  Rates(const FileHandle& folder, const Limits& limits) : folder_(folder), limits_(limits) {}

  absl::StatusOr<double> Create() {
    return Timed([&](const std::string& name) { return MakeFile(folder_, name, 8).status(); });
  }
  absl::StatusOr<double> Stat() {
    return Timed([&](const std::string& name) {
      struct stat about = {};
      return Checked(fstatat(folder_.get(), name.c_str(), &about, 0), "look at it", name);
    });
  }
  absl::StatusOr<double> Rename() {
    return Timed([&](const std::string& name) {
      return Checked(renameat(folder_.get(), name.c_str(), folder_.get(), Renamed(name).c_str()),
                     "rename", name);
    });
  }
  absl::StatusOr<double> Unlink() {
    return Timed([&](const std::string& name) {
      return Checked(unlinkat(folder_.get(), Renamed(name).c_str(), 0), "delete", name);
    });
  }

 private:
  static std::string Renamed(const std::string& name) { return Concat("renamed-", name); }
  static absl::Status Checked(int result, std::string_view action, const std::string& name) {
    return result == 0 ? absl::OkStatus() : ErrnoStatus(errno, action, name);
  }

  // Each step takes its share of the time, and the files that the one before it came to.
  absl::StatusOr<double> Timed(absl::FunctionRef<absl::Status(const std::string&)> step) {
    const Limits share = limits_.AtMost(limits_.SecondsLeft() / steps_left_--);
    const Clock::time_point start = Clock::now();
    const auto one = [&](size_t number) { return step(Name(number)); };
    TESSERA_ASSIGN_OR_RETURN(files_, Repeat(files_, share, one));
    return static_cast<double>(files_) / std::max(SecondsSince(start), 1e-9);
  }

  const FileHandle& folder_;
  const Limits& limits_;
  size_t files_ = kMostFiles;
  int steps_left_ = 4;
};

}  // namespace

Latency LatencyOf(std::vector<double> milliseconds) {
  if (milliseconds.empty()) return {};
  std::sort(milliseconds.begin(), milliseconds.end());
  const size_t last = milliseconds.size() - 1;
  return {.median_ms = milliseconds[last / 2],
          .p95_ms = milliseconds[last - last / 20],
          .count = static_cast<int64_t>(milliseconds.size())};
}

absl::StatusOr<Latency> MeasureFileSync(const Scratch& scratch, const Limits& limits) {
  TESSERA_ASSIGN_OR_RETURN(const FileHandle folder, OpenNewFolder(scratch, "file-syncs"));
  std::vector<double> times;
  const auto sync_one = [&](size_t number) -> absl::Status {
    const std::string name = Name(number);
    TESSERA_ASSIGN_OR_RETURN(const FileHandle file, MakeFile(folder, name, kBlock));
    TESSERA_ASSIGN_OR_RETURN(const double time, SyncMilliseconds(file, name));
    times.push_back(time);
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(Repeat(kMostSyncs, limits, sync_one));
  return LatencyOf(std::move(times));
}

absl::StatusOr<Latency> MeasureFolderSync(const Scratch& scratch, const Limits& limits) {
  TESSERA_ASSIGN_OR_RETURN(const FileHandle folder, OpenNewFolder(scratch, "folder-syncs"));
  if (fsync(folder.get()) != 0 && store::IsUnsupported(errno)) return Latency{};
  std::vector<double> times;
  const auto sync_one = [&](size_t number) -> absl::Status {
    TESSERA_RETURN_IF_ERROR(MakeFile(folder, Name(number), 0));
    TESSERA_ASSIGN_OR_RETURN(const double time, SyncMilliseconds(folder, "the folder"));
    times.push_back(time);
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(Repeat(kMostSyncs, limits, sync_one));
  return LatencyOf(std::move(times));
}

absl::StatusOr<SmallFiles> MeasureSmallFiles(const Scratch& scratch, const Limits& limits) {
  TESSERA_ASSIGN_OR_RETURN(const FileHandle folder, OpenNewFolder(scratch, "small-files"));
  Rates rates(folder, limits);
  SmallFiles result;
  TESSERA_ASSIGN_OR_RETURN(result.create, rates.Create());
  TESSERA_ASSIGN_OR_RETURN(result.stat, rates.Stat());
  TESSERA_ASSIGN_OR_RETURN(result.rename, rates.Rename());
  TESSERA_ASSIGN_OR_RETURN(result.unlink, rates.Unlink());
  return result;
}

}  // namespace tessera::probe
