// POSIX files below a directory: descriptors that close themselves, and calls that cannot leave it.
#ifndef TESSERA_STORE_FILE_HANDLE_H_
#define TESSERA_STORE_FILE_HANDLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::store {

class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileHandle();

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// The status of a failed system call: NotFound, InvalidArgument for a path that leads out or is no
// file, ResourceExhausted for a full disk, Unavailable for what is worth a retry, else Internal.
absl::Status ErrnoStatus(int error, std::string_view action, std::string_view path);

// Opens a path below `directory`; no symbolic link on the way may lead out of it.  An invalid
// handle when there is no such file, which is no error here.
absl::StatusOr<FileHandle> OpenBeneath(const FileHandle& directory, const std::string& path,
                                       int flags, const std::string& shown);

struct MadeDirectory {
  FileHandle handle;
  bool made = false;  // it was not there yet
};

// Opens a directory by its path below `directory`, "" being that one itself, and makes it and those
// it lies in where they are not there.  With `sync`, what was made is on disk when it returns.
absl::StatusOr<MadeDirectory> MakeDirectories(const FileHandle& directory, const std::string& path,
                                              bool sync, const std::string& shown);

// Fills `target` from `offset` on.  DataLoss when the file ends before.
absl::Status ReadFully(const FileHandle& file, uint64_t offset, std::span<std::byte> target,
                       const std::string& shown);
// What comes of the data once the kernel has it.
enum class WriteBack {
  kLater,   // the kernel decides
  kAtOnce,  // begins while the rest is written, so that a sync at the end waits for less
};

// Writes a file that was just made from its start to its end.  The handle must outlive it.
class FileAppender {
 public:
  FileAppender(const FileHandle& file, WriteBack write_back, std::string shown)
      : file_(file), write_back_(write_back), shown_(std::move(shown)) {}

  absl::Status Append(std::span<const std::byte> data);

 private:
  const FileHandle& file_;
  const WriteBack write_back_;
  const std::string shown_;
  uint64_t written_ = 0;
  uint64_t pushed_ = 0;  // what the kernel was asked to begin with
};
absl::Status Sync(const FileHandle& file, const std::string& shown);

}  // namespace tessera::store

#endif  // TESSERA_STORE_FILE_HANDLE_H_
