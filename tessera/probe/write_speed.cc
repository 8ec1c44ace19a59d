#include "tessera/probe/write_speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "tessera/core/status.h"

namespace tessera::probe {
namespace {

using store::ErrnoStatus;
using store::FileHandle;

// To learn how much can be written in the time.
constexpr int64_t kFirstBytes = int64_t{4} << 20;
// A case that takes more than this times its share is left out, for the sake of the others.
constexpr double kMostShares = 4;

std::string Name(int thread) { return Concat("written-", thread); }

absl::Status WriteBlock(const FileHandle& file, std::span<const std::byte> block, int64_t offset,
                        const std::string& name) {
  while (!block.empty()) {
    const ssize_t count = pwrite(file.get(), block.data(), block.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "write", name);
    block = block.subspan(static_cast<size_t>(count));
    offset += count;
  }
  return absl::OkStatus();
}

class WriteProbe {
 public:
  WriteProbe(const Scratch& scratch, int64_t size, Movers& movers, const Limits& limits)
      : scratch_(scratch), size_(size), movers_(movers), limits_(limits) {}

  absl::StatusOr<Speeds> Run(const std::vector<SpeedCase>& cases) {
    TESSERA_RETURN_IF_ERROR(Write({}, std::min(size_, kFirstBytes)));
    Speeds result;
    auto left = static_cast<double>(cases.size());
    for (const SpeedCase& what : cases) {
      int64_t bytes = BytesFor(what, limits_.SecondsLeft() / left--);
      // However short the time is, there is something to tell.
      if (bytes == 0 && result.speeds.empty() && what.bytes() <= size_) bytes = what.bytes();
      if (bytes == 0) {
        ++result.left_out;
        continue;
      }
      TESSERA_ASSIGN_OR_RETURN(const Speed speed, Write(what, bytes));
      result.speeds.push_back(speed);
    }
    result.overall = bytes_ / seconds_;
    return result;
  }

 private:
  // What can be written in `seconds`, in whole rounds of all threads; 0: the case is left out.
  int64_t BytesFor(const SpeedCase& what, double seconds) const {
    if (what.bytes() > size_ || limits_.Over()) return 0;
    const double likely = bytes_ / seconds_ * seconds;
    if (static_cast<double>(what.bytes()) > kMostShares * likely) return 0;
    const int64_t rounds =
        static_cast<int64_t>(std::min(likely, static_cast<double>(size_))) / what.bytes();
    return std::max<int64_t>(rounds, 1) * what.bytes();
  }

  absl::StatusOr<Speed> Write(const SpeedCase& what, int64_t bytes) {
    const int64_t each = bytes / what.threads;
    const auto work = [&](int thread, std::span<std::byte> block, const std::stop_token& stop) {
      return WriteFile(what, Name(thread), block, each, stop);
    };
    TESSERA_ASSIGN_OR_RETURN(const Speed speed, movers_.Run(what, limits_.stop, work));
    for (int thread = 0; thread < what.threads; ++thread) {
      unlinkat(scratch_.folder().get(), Name(thread).c_str(), 0);
    }
    bytes_ += static_cast<double>(bytes);
    seconds_ += static_cast<double>(bytes) / std::max(speed.bytes_per_second, 1.0);
    return speed;
  }

  absl::StatusOr<Moved> WriteFile(const SpeedCase& what, const std::string& name,
                                  std::span<const std::byte> block, int64_t bytes,
                                  const std::stop_token& stop) const {
    const int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
    const FileHandle file(openat(scratch_.folder().get(), name.c_str(),
                                 what.way == Way::kDirect ? flags | O_DIRECT : flags, 0600));
    if (!file.valid()) return ErrnoStatus(errno, "make a file", name);
    Moved moved;
    while (moved.bytes < bytes) {
      if (stop.stop_requested()) return Cancelled("stopped");
      const Clock::time_point start = Clock::now();
      TESSERA_RETURN_IF_ERROR(WriteBlock(file, block, moved.bytes, name));
      moved.request_ms.push_back(SecondsSince(start) * 1e3);
      moved.bytes += what.block;
    }
    if (fdatasync(file.get()) != 0) return ErrnoStatus(errno, "sync", name);
    return moved;
  }

  const Scratch& scratch_;
  const int64_t size_;
  Movers& movers_;
  const Limits& limits_;
  double bytes_ = 0;  // so far, all cases together
  double seconds_ = 0;
};

}  // namespace

absl::StatusOr<Speeds> MeasureWrites(const Scratch& scratch, bool direct, int64_t size,
                                     Movers& movers, const Limits& limits) {
  return WriteProbe(scratch, size, movers, limits).Run(AllCases(direct));
}

}  // namespace tessera::probe
