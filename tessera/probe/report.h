// ProbeReport: what a storage can do, as it was measured.  Plain values.
#ifndef TESSERA_PROBE_REPORT_H_
#define TESSERA_PROBE_REPORT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/json.h"

namespace tessera::probe {

// How bytes go between the program and the storage.
enum class Way {
  kBuffered,  // through the page cache: reads after it was emptied, writes with a sync in the end
  kCached,    // reads of what the page cache holds
  kDirect,    // O_DIRECT; writes with a sync in the end
};

// "buffered", "cached", "direct".
std::string_view WayName(Way way);

// Reads or writes of one kind, for a fraction of a second.
struct Speed {
  Way way = Way::kBuffered;
  int64_t block_bytes = 0;  // moved by one call
  int threads = 1;          // each with a file, or a part of one, of its own
  double bytes_per_second = 0;
  double request_ms = 0;    // median of a call; of writes without the sync
  bool from_cache = false;  // of buffered reads: the page cache could not be emptied
  friend bool operator==(const Speed&, const Speed&) = default;
};

struct Latency {
  double median_ms = 0;
  double p95_ms = 0;
  int64_t count = 0;  // 0: not measured
  friend bool operator==(const Latency&, const Latency&) = default;
};

// Files of a few bytes, one after the other, per second.  0: not measured.
struct SmallFiles {
  double create = 0;
  double stat = 0;
  double rename = 0;
  double unlink = 0;
  friend bool operator==(const SmallFiles&, const SmallFiles&) = default;
};

// What a commit and a conversion rely on.
struct Renames {
  bool atomic = false;     // a reader saw the old file or the new one, always
  bool noreplace = false;  // RENAME_NOREPLACE
  bool exchange = false;   // RENAME_EXCHANGE, of folders and of files
  int64_t replaced = 0;    // how often while a reader looked
  int64_t looks = 0;       // of that reader
  std::string seen = {};   // what it saw that it should not have
  friend bool operator==(const Renames&, const Renames&) = default;
};

struct DirectIo {
  bool works = false;
  int64_t memory_alignment = 0;
  int64_t offset_alignment = 0;
  bool told = false;  // by the kernel; else tried out
  friend bool operator==(const DirectIo&, const DirectIo&) = default;
};

struct FileSystem {
  std::string type = {};     // "ext4"; empty: unknown
  std::string source = {};   // "/dev/sda1", "server:/export"
  std::string options = {};  // of the mount: "rw,relatime"
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
  int64_t free_files = 0;  // 0 also where the file system does not count them
  int64_t max_name = 0;    // bytes of a file name
  bool case_sensitive = false;
  bool hard_links = false;
  bool symbolic_links = false;
  bool locks = false;  // flock excludes
  friend bool operator==(const FileSystem&, const FileSystem&) = default;
};

// Bytes copied in memory: no storage is faster for a program that looks at what it reads.
struct MemorySpeed {
  double one_thread = 0;
  double all_threads = 0;
  int threads = 0;
  friend bool operator==(const MemorySpeed&, const MemorySpeed&) = default;
};

struct ProbeReport {
  std::string path = {};
  FileSystem file_system = {};
  Renames renames = {};
  DirectIo direct = {};
  Latency file_sync = {};    // fsync of a file of one block that was just written
  Latency folder_sync = {};  // fsync of a folder in which a file was just made
  SmallFiles small_files = {};
  std::vector<Speed> writes = {};
  std::vector<Speed> reads = {};
  MemorySpeed memory = {};
  int64_t size = 0;                       // the most bytes that lay on the disk
  double seconds = 0;                     // the whole took
  int64_t left_out = 0;                   // speeds for which time or size did not suffice
  std::vector<std::string> removed = {};  // folders of earlier runs that were killed
  std::vector<std::string> kept = {};     // folders of others that run now
};

// The fastest of these; 0: none was measured.
double BestSpeed(const std::vector<Speed>& speeds);

OrderedJson ToJson(const ProbeReport& report);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_REPORT_H_
