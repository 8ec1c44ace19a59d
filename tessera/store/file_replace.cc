#include "tessera/store/file_replace.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::store {
namespace {

// Gone from the disk unless it was renamed into place.
class TemporaryFile {
 public:
  TemporaryFile(const FileHandle& directory, std::string name)
      : directory_(directory), name_(std::move(name)) {}
  ~TemporaryFile() {
    if (!name_.empty()) unlinkat(directory_.get(), name_.c_str(), 0);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const char* name() const { return name_.c_str(); }
  void Keep() { name_.clear(); }

 private:
  const FileHandle& directory_;
  std::string name_;
};

}  // namespace

Generation GenerationOf(const struct stat& info) {
  return {Concat(info.st_dev, "-", info.st_ino, "-", info.st_size, "-", info.st_mtim.tv_sec, ".",
                 info.st_mtim.tv_nsec)};
}

absl::Status Syncing::SyncFile(const FileHandle& file, const struct stat& info,
                               const std::string& shown) const {
  return Now(info) ? Sync(file, shown) : absl::OkStatus();
}

absl::Status Syncing::SyncData(const FileHandle& file, const struct stat& info,
                               const std::string& shown) const {
  if (!Now(info) || fdatasync(file.get()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "sync", shown);
}

absl::Status Syncing::SyncDirectory(const FileHandle& directory, const std::string& shown) const {
  struct stat info;
  if (fstat(directory.get(), &info) != 0) return ErrnoStatus(errno, "look at", shown);
  return SyncFile(directory, info, shown);
}

absl::StatusOr<ValueInfo> ReplaceFile(const FileHandle& directory, const std::string& start,
                                      const std::string& name, FillFile fill,
                                      const Syncing& syncing, const std::string& shown) {
  // No two writers share a name.
  static std::atomic<uint64_t> counter{0};
  TemporaryFile temporary(directory, Concat(start, getpid(), "-", counter.fetch_add(1)));
  TESSERA_ASSIGN_OR_RETURN(const FileHandle file, OpenBeneath(directory, temporary.name(),
                                                              O_WRONLY | O_CREAT | O_EXCL, shown));
  if (!file.valid()) return NotFound(shown, ": the directory is gone");
  TESSERA_RETURN_IF_ERROR(fill(file));
  struct stat info;
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "look at", shown);
  TESSERA_RETURN_IF_ERROR(syncing.SyncFile(file, info, shown));
  if (renameat(directory.get(), temporary.name(), directory.get(), name.c_str()) != 0) {
    return ErrnoStatus(errno, "rename into place", shown);
  }
  temporary.Keep();
  TESSERA_RETURN_IF_ERROR(syncing.SyncDirectory(directory, shown));
  return ValueInfo{GenerationOf(info), SizeOf(info)};
}

}  // namespace tessera::store
