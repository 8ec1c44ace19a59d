#include "tessera/probe/read_speed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "tessera/core/status.h"

namespace tessera::probe {
namespace {

using store::ErrnoStatus;
using store::FileHandle;

constexpr char kName[] = "read";
// The page cache counts as empty, or as full, up to this share.
constexpr double kTolerance = 0.05;

// Which share of a file's pages is in memory.
absl::StatusOr<double> Residency(const FileHandle& file, int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return ErrnoStatus(errno, "map", kName);
  std::vector<unsigned char> pages((size + page - 1) / page);
  const int result = mincore(mapped, size, pages.data());
  const int error = errno;
  munmap(mapped, size);
  if (result != 0) return ErrnoStatus(error, "ask for pages", kName);
  const auto resident = std::count_if(pages.begin(), pages.end(),
                                      [](unsigned char state) { return (state & 1) != 0; });
  return static_cast<double>(resident) / static_cast<double>(pages.size());
}

class ReadProbe {
 public:
  ReadProbe(const Scratch& scratch, Movers& movers, const Limits& limits)
      : scratch_(scratch), movers_(movers), limits_(limits) {}

  absl::Status MakeFile(int64_t bytes) {
    file_ = FileHandle(
        openat(scratch_.folder().get(), kName, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
    if (!file_.valid()) return ErrnoStatus(errno, "make a file", kName);
    store::FileAppender appender(file_, store::WriteBack::kAtOnce, kName);
    const Limits half = limits_.AtMost(limits_.SecondsLeft() / 2);
    for (bytes_ = 0; bytes_ == 0 || (bytes_ < bytes && !half.Over()); bytes_ += kUsualBlock) {
      TESSERA_RETURN_IF_ERROR(appender.Append(movers_.noise(kUsualBlock)));
    }
    return store::Sync(file_, kName);
  }

  absl::StatusOr<Speeds> Run(const std::vector<SpeedCase>& cases) {
    Speeds result;
    auto left = static_cast<double>(cases.size());
    for (const SpeedCase& what : cases) {
      const Limits share = limits_.AtMost(limits_.SecondsLeft() / left--);
      TESSERA_ASSIGN_OR_RETURN(const bool ready, Prepare(what));
      // However short the time is, there is something to tell.
      const bool late = limits_.Over() && !result.speeds.empty();
      if (what.bytes() > bytes_ || late || !ready) {
        ++result.left_out;
        continue;
      }
      TESSERA_ASSIGN_OR_RETURN(Speed speed, Read(what, share));
      speed.from_cache = what.way == Way::kBuffered && in_cache_;
      result.speeds.push_back(speed);
    }
    return result;
  }

 private:
  // Empties the page cache, or fills it; false where it could not be filled.
  absl::StatusOr<bool> Prepare(const SpeedCase& what) {
    if (what.way == Way::kCached) {
      TESSERA_RETURN_IF_ERROR(Read({.way = Way::kCached, .threads = 1}, limits_));
      TESSERA_ASSIGN_OR_RETURN(const double share, Residency(file_, bytes_));
      return share >= 1 - kTolerance;
    }
    posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
    TESSERA_ASSIGN_OR_RETURN(const double share, Residency(file_, bytes_));
    in_cache_ = share > kTolerance;
    return true;
  }

  absl::StatusOr<Speed> Read(const SpeedCase& what, const Limits& limits) {
    const auto work = [&](int thread, std::span<std::byte> block, const std::stop_token& stop) {
      return ReadPart(what, thread, block, {limits.deadline, stop});
    };
    return movers_.Run(what, limits.stop, work);
  }

  // A block at least, then until the part or the time ends.
  absl::StatusOr<Moved> ReadPart(const SpeedCase& what, int thread, std::span<std::byte> block,
                                 const Limits& limits) const {
    // A file of its own, as the kernel reads ahead for each.
    const int flags = O_RDONLY | O_CLOEXEC | (what.way == Way::kDirect ? O_DIRECT : 0);
    const FileHandle file(openat(scratch_.folder().get(), kName, flags));
    if (!file.valid()) return ErrnoStatus(errno, "open", kName);
    const int64_t part = bytes_ / what.threads / what.block * what.block;
    Moved moved;
    do {
      const Clock::time_point start = Clock::now();
      TESSERA_RETURN_IF_ERROR(
          store::ReadFully(file, static_cast<uint64_t>(thread * part + moved.bytes), block, kName));
      moved.request_ms.push_back(SecondsSince(start) * 1e3);
      moved.bytes += what.block;
    } while (moved.bytes < part && !limits.Over());
    return moved;
  }

  const Scratch& scratch_;
  Movers& movers_;
  const Limits& limits_;
  FileHandle file_;
  int64_t bytes_ = 0;      // of the file
  bool in_cache_ = false;  // it could not be driven out
};

std::vector<SpeedCase> Cases(bool direct) {
  std::vector<SpeedCase> cases = AllCases(direct);
  for (const int threads : kThreads) {
    cases.push_back({.way = Way::kCached, .threads = threads});
  }
  return cases;
}

}  // namespace

absl::StatusOr<Speeds> MeasureReads(const Scratch& scratch, bool direct, int64_t size,
                                    double write_speed, Movers& movers, const Limits& limits) {
  const double third = write_speed * limits.SecondsLeft() / 3;
  const auto bytes = static_cast<int64_t>(std::min(static_cast<double>(size), third));
  ReadProbe probe(scratch, movers, limits);
  TESSERA_RETURN_IF_ERROR(probe.MakeFile(std::max(bytes / kUsualBlock * kUsualBlock, kUsualBlock)));
  return probe.Run(Cases(direct));
}

}  // namespace tessera::probe
