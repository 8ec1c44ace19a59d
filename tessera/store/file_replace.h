// How a file is replaced as a whole, and what is synced when.
#ifndef TESSERA_STORE_FILE_REPLACE_H_
#define TESSERA_STORE_FILE_REPLACE_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/store/file_handle.h"
#include "tessera/store/kv_store.h"

namespace tessera::store {

// Another file, or the same one changed, gives another text.
Generation GenerationOf(const struct stat& info);

inline uint64_t SizeOf(const struct stat& info) { return static_cast<uint64_t>(info.st_size); }

// Which changes wait for the disk.  A store whose writes need not reach it leaves them to a sync of
// its root's file system; what links or mounts put on another one is synced at once all the same.
class Syncing {
 public:
  Syncing(bool to_disk, dev_t root_device) : to_disk_(to_disk), root_device_(root_device) {}

  bool to_disk() const { return to_disk_; }

  absl::Status SyncFile(const FileHandle& file, const struct stat& info,
                        const std::string& shown) const;
  // Of a file whose size and name are as they were: only what was written into it.
  absl::Status SyncData(const FileHandle& file, const struct stat& info,
                        const std::string& shown) const;
  absl::Status SyncDirectory(const FileHandle& directory, const std::string& shown) const;

 private:
  bool Now(const struct stat& info) const { return to_disk_ || info.st_dev != root_device_; }

  bool to_disk_;
  dev_t root_device_;
};

// Gives a file that was just made its contents.
using FillFile = absl::FunctionRef<absl::Status(const FileHandle&)>;

// Makes a file in `directory` whose name begins with `start`, fills it, and renames it to `name`,
// so that at any time there is the old file or the new one, and who has the old one open or mapped
// keeps it.  After an error the new one is gone.  NotFound when the directory is.
absl::StatusOr<ValueInfo> ReplaceFile(const FileHandle& directory, const std::string& start,
                                      const std::string& name, FillFile fill,
                                      const Syncing& syncing, const std::string& shown);

}  // namespace tessera::store

#endif  // TESSERA_STORE_FILE_REPLACE_H_
