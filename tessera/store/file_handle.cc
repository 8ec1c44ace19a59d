#include "tessera/store/file_handle.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "tessera/core/status.h"

namespace tessera::store {
namespace {

constexpr mode_t kFileMode = 0666;  // less the umask
constexpr mode_t kDirectoryMode = 0777;

// One call may move less than asked; more than this at once is refused by Linux anyway.
constexpr size_t kMostAtOnce = size_t{1} << 30;

// Large enough for the disk to work well, small enough that it starts early.
constexpr size_t kWriteBackBlock = size_t{8} << 20;

int OpenAt2(int directory, const char* path, int flags) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  if ((flags & O_CREAT) != 0) how.mode = kFileMode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  while (true) {
    const auto result = syscall(SYS_openat2, directory, path, &how, sizeof(how));
    // EAGAIN: something was renamed meanwhile, and the kernel could not be sure.
    if (result >= 0 || (errno != EINTR && errno != EAGAIN)) return static_cast<int>(result);
  }
}

}  // namespace

FileHandle::~FileHandle() {
  if (valid()) close(descriptor_);
}

absl::Status ErrnoStatus(int error, std::string_view action, std::string_view path) {
  const std::string message =
      Concat(path, ": ", action, ": ", std::generic_category().message(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EXDEV:
    case ELOOP:
      return InvalidArgument(path, ": ", action, ": the path leads out of the store");
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
      return absl::InvalidArgumentError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case EIO:
    case ETIMEDOUT:
    case ESTALE:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::StatusOr<FileHandle> OpenBeneath(const FileHandle& directory, const std::string& path,
                                       int flags, const std::string& shown) {
  const int descriptor = OpenAt2(directory.get(), path.c_str(), flags);
  if (descriptor >= 0) return FileHandle(descriptor);
  // A file where a directory should be, or the reverse, means, too, that there is no such value.
  if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR) return FileHandle();
  return ErrnoStatus(errno, "open", shown);
}

absl::StatusOr<MadeDirectory> MakeDirectories(const FileHandle& directory, const std::string& path,
                                              bool sync, const std::string& shown) {
  constexpr int kFlags = O_DIRECTORY | O_RDONLY;
  FileHandle there(OpenAt2(directory.get(), path.empty() ? "." : path.c_str(), kFlags));
  if (there.valid()) return MadeDirectory{std::move(there), false};
  if (errno != ENOENT || path.empty()) return ErrnoStatus(errno, "open directory", shown);
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  MadeDirectory above;
  if (slash != std::string::npos) {
    TESSERA_ASSIGN_OR_RETURN(above, MakeDirectories(directory, path.substr(0, slash), sync, shown));
  }
  const FileHandle& parent = slash == std::string::npos ? directory : above.handle;
  const bool made = mkdirat(parent.get(), name.c_str(), kDirectoryMode) == 0;
  if (!made && errno != EEXIST) return ErrnoStatus(errno, "make directory", shown);
  if (made && sync) TESSERA_RETURN_IF_ERROR(Sync(parent, shown));
  // The parent lies inside, so this cannot leave it.
  FileHandle handle(OpenAt2(parent.get(), name.c_str(), kFlags));
  if (!handle.valid()) return ErrnoStatus(errno, "open directory", shown);
  return MadeDirectory{std::move(handle), made};
}

absl::Status ReadFully(const FileHandle& file, uint64_t offset, std::span<std::byte> target,
                       const std::string& shown) {
  while (!target.empty()) {
    const ssize_t count = pread(file.get(), target.data(), std::min(target.size(), kMostAtOnce),
                                static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "read", shown);
    if (count == 0)
      return DataLoss(shown, ": the file ends at byte ", offset, ", ", target.size(), " short");
    target = target.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return absl::OkStatus();
}

absl::Status FileAppender::Append(std::span<const std::byte> data) {
  const bool at_once = write_back_ == WriteBack::kAtOnce;
  while (!data.empty()) {
    const ssize_t count = write(file_.get(), data.data(),
                                std::min(data.size(), at_once ? kWriteBackBlock : kMostAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "write", shown_);
    data = data.subspan(static_cast<size_t>(count));
    written_ += static_cast<uint64_t>(count);
    // Only a hint: whether it succeeds is the later sync's to tell.
    if (at_once && written_ - pushed_ >= kWriteBackBlock) {
      sync_file_range(file_.get(), static_cast<off64_t>(pushed_),
                      static_cast<off64_t>(written_ - pushed_), SYNC_FILE_RANGE_WRITE);
      pushed_ = written_;
    }
  }
  return absl::OkStatus();
}

absl::Status Sync(const FileHandle& file, const std::string& shown) {
  if (fsync(file.get()) != 0) return ErrnoStatus(errno, "sync", shown);
  return absl::OkStatus();
}

}  // namespace tessera::store
