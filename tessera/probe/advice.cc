#include "tessera/probe/advice.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

namespace tessera::probe {
namespace {

using Texts = std::vector<std::string>;

// A sync of each of a thousand files is felt from here on.
constexpr double kSlowSyncMs = 5;
// No disk that survives a power cut answers faster than this.
constexpr double kImplausibleSyncMs = 0.02;
constexpr int64_t kUsualNameBytes = 255;
constexpr double kMuchFaster = 1.5;
constexpr double kMuchSlower = 0.5;

bool IsOneOf(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool IsMemory(std::string_view type) { return IsOneOf(type, {"tmpfs", "ramfs", "devtmpfs"}); }

bool IsRemote(std::string_view type) {
  return IsOneOf(type, {"nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "beegfs", "gpfs", "9p",
                        "afs", "glusterfs", "virtiofs"}) ||
         type.substr(0, 4) == "fuse";
}

void AdviseOnRenames(const Renames& renames, Texts& texts) {
  if (!renames.atomic) {
    texts.push_back(fmt::format(
        "Replacing a file is not atomic here ({}): who reads a checkpoint while it is saved may "
        "find a broken index; save to a new path.",
        renames.seen));
  }
  if (!renames.exchange) {
    texts.push_back(
        "RENAME_EXCHANGE is missing: convert and rechunk with --overwrite refuse a destination "
        "that exists; choose a new path and move it yourself.");
  }
  if (!renames.noreplace) {
    texts.push_back(
        "RENAME_NOREPLACE is missing: two conversions to the same new path at the same time may "
        "both end, and the later one stays.");
  }
}

void AdviseOnSync(const ProbeReport& report, Texts& texts) {
  const double slowest = std::max(report.file_sync.median_ms, report.folder_sync.median_ms);
  if (slowest >= kSlowSyncMs) {
    texts.push_back(fmt::format(
        "fsync takes {:.0f} ms: a save that syncs each of many small arrays takes {:.0f} "
        "s for a thousand of them; let it sync once in the end.",
        slowest, slowest));
  }
  const bool measured = report.file_sync.count > 0;
  if (measured && report.file_sync.median_ms < kImplausibleSyncMs &&
      !IsMemory(report.file_system.type)) {
    texts.push_back(
        fmt::format("fsync returns after {:.3f} ms: it may not reach the disk, so a power cut may "
                    "lose what was saved.",
                    report.file_sync.median_ms));
  }
}

void AdviseOnFileSystem(const FileSystem& system, Texts& texts) {
  if (IsMemory(system.type)) {
    texts.push_back(
        fmt::format("This is memory ({}): nothing here survives a restart.", system.type));
  }
  if (!system.locks) {
    texts.push_back(
        "flock does not exclude: programs that save to one checkpoint at the same time may undo "
        "each other's index.");
  } else if (IsRemote(system.type)) {
    texts.push_back(fmt::format(
        "{} is shared with other machines: saves to one checkpoint from several of them exclude "
        "each other only if its locks do, which one machine cannot tell; and what a server "
        "keeps in its memory reads faster than its disks.",
        system.type));
  }
  if (!system.case_sensitive) {
    texts.push_back(
        "Names that differ in case only are one file: arrays named like that would replace each "
        "other.");
  }
  if (system.max_name > 0 && system.max_name < kUsualNameBytes) {
    texts.push_back(
        fmt::format("File names end at {} bytes: arrays with longer names cannot be "
                    "saved as folders.",
                    system.max_name));
  }
}

void AdviseOnDirect(const ProbeReport& report, Texts& texts) {
  if (report.direct.works) return;
  texts.push_back(
      "O_DIRECT does not work: everything goes through the page cache, and cold reads may have "
      "been measured better than they are.");
}

void AdviseOnCache(const ProbeReport& report, Texts& texts) {
  const bool cached = std::any_of(report.reads.begin(), report.reads.end(),
                                  [](const Speed& speed) { return speed.from_cache; });
  if (!cached) return;
  texts.push_back(
      "The page cache could not be emptied: buffered reads were served from memory, not from the "
      "storage.");
}

// The best of one way among those with this many threads (0: any) and blocks (0: any).
double Best(const std::vector<Speed>& speeds, int threads, int64_t block) {
  double best = 0;
  for (const Speed& speed : speeds) {
    if (speed.way != Way::kBuffered) continue;
    if ((threads != 0 && speed.threads != threads) || (block != 0 && speed.block_bytes != block)) {
      continue;
    }
    best = std::max(best, speed.bytes_per_second);
  }
  return best;
}

// The fewest threads that come near the best.
int EnoughThreads(const std::vector<Speed>& speeds) {
  const double best = Best(speeds, 0, 0);
  int enough = 0;
  for (const Speed& speed : speeds) {
    if (speed.way != Way::kBuffered || speed.bytes_per_second < 0.9 * best) continue;
    if (enough == 0 || speed.threads < enough) enough = speed.threads;
  }
  return enough;
}

void AdviseOnDepth(const std::vector<Speed>& speeds, std::string_view verb, Texts& texts) {
  const double one = Best(speeds, 1, 0);
  const double best = Best(speeds, 0, 0);
  if (one <= 0 || best < kMuchFaster * one) return;
  const int enough = EnoughThreads(speeds);
  texts.push_back(
      fmt::format("{} threads {} {:.1f} times as fast as one: TESSERA_THREADS={} or more "
                  "is worth it.",
                  enough, verb, best / one, enough));
}

void AdviseOnBlocks(const std::vector<Speed>& speeds, std::string_view verb, Texts& texts) {
  if (speeds.empty()) return;
  int64_t smallest = speeds.front().block_bytes;
  for (const Speed& speed : speeds) smallest = std::min(smallest, speed.block_bytes);
  const double small = Best(speeds, 0, smallest);
  const double best = Best(speeds, 0, 0);
  if (small <= 0 || small > kMuchSlower * best) return;
  texts.push_back(
      fmt::format("Blocks of {} KiB {} at {:.0f} % of the best speed: large chunks pay off.",
                  smallest >> 10, verb, 100 * small / best));
}

}  // namespace

std::vector<std::string> Advice(const ProbeReport& report) {
  Texts texts;
  AdviseOnRenames(report.renames, texts);
  AdviseOnFileSystem(report.file_system, texts);
  AdviseOnSync(report, texts);
  AdviseOnDirect(report, texts);
  AdviseOnCache(report, texts);
  AdviseOnDepth(report.reads, "read", texts);
  AdviseOnDepth(report.writes, "write", texts);
  AdviseOnBlocks(report.reads, "read", texts);
  AdviseOnBlocks(report.writes, "write", texts);
  return texts;
}

}  // namespace tessera::probe
