// The journal of a conversion: which units are copied, and what was stored for them.
//
// Each rank appends lines to a file of its own.  A line begins with the hash of its rest, so that
// one that was cut short says nothing.  Nothing is synced: what the kernel has outlives the
// process, and after a reboot a journal is not believed.
#ifndef TESSERA_CONVERT_JOURNAL_H_
#define TESSERA_CONVERT_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/save_writer.h"
#include "tessera/core/mutex.h"

namespace tessera::convert {

struct JournalEntry {
  int64_t array = 0;
  int64_t unit = 0;
  std::vector<checkpoint::StoredChunk> chunks = {};  // that the unit covers, where they are hashed
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

// Thread-safe.
class Journal {
 public:
  // Goes on with the file at `path`, or begins it with the id of this boot.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& path);
  ~Journal();

  absl::Status Append(const JournalEntry& entry);

 private:
  Journal(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  Mutex mutex_;
  const int file_;
};

struct JournalContent {
  std::string boot;  // of the machine that wrote it; empty: it cannot be told
  std::vector<JournalEntry> entries;
};

// Lines that are not whole are left out.  A file that is not there has nothing.
absl::StatusOr<JournalContent> ReadJournal(const std::string& path);

// Of this machine; empty where the system does not tell.
std::string BootId();

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_JOURNAL_H_
