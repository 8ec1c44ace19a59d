#include "tessera/probe/probe.h"

#include <algorithm>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/probe/facts.h"
#include "tessera/probe/limits.h"
#include "tessera/probe/memory_speed.h"
#include "tessera/probe/movers.h"
#include "tessera/probe/read_speed.h"
#include "tessera/probe/renames.h"
#include "tessera/probe/scratch.h"
#include "tessera/probe/small_files.h"
#include "tessera/probe/write_speed.h"

namespace tessera::probe {
namespace {

// How the time is shared out; reading has what is left.
constexpr double kMemoryShare = 0.04;
constexpr double kRenameShare = 0.06;
constexpr double kSyncShare = 0.05;  // of files, and again of folders
constexpr double kSmallFilesShare = 0.10;
constexpr double kWriteShare = 0.40;

constexpr double kLeastSeconds = 0.01;
constexpr double kMostSeconds = 3600;

absl::StatusOr<int64_t> SizeFor(const std::optional<int64_t>& asked, int64_t free) {
  if (asked && *asked < kLeastSize) {
    return InvalidArgument("size ", *asked, ": expected at least ", kLeastSize, " bytes");
  }
  const int64_t size = asked ? *asked : std::min(kDefaultSize, free / 10);
  if (size > free || size < kLeastSize) {
    return ResourceExhausted(free, " bytes are free, expected at least ",
                             asked ? *asked : 10 * kLeastSize, " to measure with; make room",
                             asked ? ", or ask for a smaller size" : "");
  }
  return size;
}

// One run.  Its parts fill the report one after the other.
class Run {
 public:
  Run(const Scratch& scratch, const ProbeOptions& options, const Limits& limits,
      ProbeReport& report)
      : scratch_(scratch), options_(options), limits_(limits), report_(report) {}

  absl::Status All() {
    TESSERA_RETURN_IF_ERROR(TryOut());
    TESSERA_RETURN_IF_ERROR(MeasureFiles());
    return MeasureSpeeds();
  }

 private:
  absl::Status Begin(std::string_view part) const {
    if (limits_.stop.stop_requested()) return Cancelled("stopped");
    if (options_.on_part) options_.on_part(part);
    return absl::OkStatus();
  }
  Limits Share(double share) const { return limits_.AtMost(share * options_.seconds); }

  absl::Status TryOut() {
    TESSERA_RETURN_IF_ERROR(Begin("what it can do"));
    TESSERA_RETURN_IF_ERROR(TryFileSystem(scratch_, report_.file_system));
    TESSERA_ASSIGN_OR_RETURN(report_.direct, TryDirectIo(scratch_));
    TESSERA_RETURN_IF_ERROR(Begin("renames"));
    TESSERA_ASSIGN_OR_RETURN(report_.renames, TryRenames(scratch_, Share(kRenameShare)));
    return absl::OkStatus();
  }

  absl::Status MeasureFiles() {
    TESSERA_RETURN_IF_ERROR(Begin("syncs"));
    TESSERA_ASSIGN_OR_RETURN(report_.file_sync, MeasureFileSync(scratch_, Share(kSyncShare)));
    TESSERA_ASSIGN_OR_RETURN(report_.folder_sync, MeasureFolderSync(scratch_, Share(kSyncShare)));
    TESSERA_RETURN_IF_ERROR(Begin("small files"));
    TESSERA_ASSIGN_OR_RETURN(report_.small_files,
                             MeasureSmallFiles(scratch_, Share(kSmallFilesShare)));
    return absl::OkStatus();
  }

  absl::Status MeasureSpeeds() {
    TESSERA_RETURN_IF_ERROR(Begin("memory"));
    report_.memory = MeasureMemory(Share(kMemoryShare));
    const DirectIo& direct = report_.direct;
    Movers movers(report_.size, std::max(direct.memory_alignment, direct.offset_alignment));
    TESSERA_RETURN_IF_ERROR(Begin("writes"));
    TESSERA_ASSIGN_OR_RETURN(Speeds writes, MeasureWrites(scratch_, direct.works, report_.size,
                                                          movers, Share(kWriteShare)));
    report_.writes = std::move(writes.speeds);
    TESSERA_RETURN_IF_ERROR(Begin("reads"));
    TESSERA_ASSIGN_OR_RETURN(
        Speeds reads, MeasureReads(scratch_, direct.works, report_.size, BestSpeed(report_.writes),
                                   movers, limits_));
    report_.reads = std::move(reads.speeds);
    report_.left_out = writes.left_out + reads.left_out;
    // A part that was cut short has measured less than it looks like.
    return limits_.stop.stop_requested() ? Cancelled("stopped") : absl::OkStatus();
  }

  const Scratch& scratch_;
  const ProbeOptions& options_;
  const Limits& limits_;
  ProbeReport& report_;
};

}  // namespace

absl::StatusOr<ProbeReport> ProbeStorage(const std::string& path, const ProbeOptions& options,
                                         std::stop_token stop) {
  if (!(options.seconds >= kLeastSeconds && options.seconds <= kMostSeconds)) {
    return InvalidArgument("seconds ", options.seconds, ": expected ", kLeastSeconds, " to ",
                           kMostSeconds);
  }
  const Clock::time_point start = Clock::now();
  ProbeReport report;
  report.path = path;
  Leftovers leftovers = RemoveLeftovers(path);
  TESSERA_ASSIGN_OR_RETURN(Scratch scratch, Scratch::Make(path));
  report.removed = std::move(leftovers.removed);
  report.kept = std::move(leftovers.kept);
  TESSERA_ASSIGN_OR_RETURN(report.file_system, AskFileSystem(path));
  const auto size = SizeFor(options.size, report.file_system.free_bytes);
  if (!size.ok()) return Prefixed(size.status(), path);
  report.size = *size;
  const Limits limits{After(start, options.seconds), std::move(stop)};
  const absl::Status status = Run(scratch, options, limits, report).All();
  const absl::Status removed = scratch.Remove();
  if (!status.ok()) return Prefixed(status, path);
  TESSERA_RETURN_IF_ERROR(removed);
  report.seconds = SecondsSince(start);
  return report;
}

}  // namespace tessera::probe
