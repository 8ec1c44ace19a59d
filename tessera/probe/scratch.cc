#include "tessera/probe/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tessera/core/status.h"

namespace tessera::probe {
namespace {

namespace fs = std::filesystem;
using store::ErrnoStatus;
using store::FileHandle;

constexpr int kTries = 10;

FileHandle OpenFolder(const std::string& path) {
  return FileHandle(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Whether the lock is ours now; nullopt where there are no locks.
std::optional<bool> Lock(const FileHandle& folder) {
  if (flock(folder.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return std::nullopt;
}

bool IsStillThere(const FileHandle& folder) {
  struct stat about = {};
  return fstat(folder.get(), &about) == 0 && about.st_nlink > 0;
}

absl::Status CheckParent(const std::string& parent) {
  struct stat about = {};
  if (stat(parent.c_str(), &about) != 0) return ErrnoStatus(errno, "open", parent);
  if (S_ISDIR(about.st_mode)) return absl::OkStatus();
  return InvalidArgument(parent, ": expected a folder of the storage to measure, found a file; ",
                         "try the folder that it lies in");
}

absl::Status Delete(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return ErrnoStatus(error.value(), "delete", path);
  return absl::OkStatus();
}

// Only once it is locked: then nobody is at work in it, nor can begin to be.
bool RemoveLeftover(const std::string& path) {
  const FileHandle folder = OpenFolder(path);
  return folder.valid() && Lock(folder) == true && Delete(path).ok();
}

}  // namespace

absl::StatusOr<Scratch> Scratch::Make(const std::string& parent) {
  TESSERA_RETURN_IF_ERROR(CheckParent(parent));
  for (int tries = 0; tries < kTries; ++tries) {
    // mkdtemp wants six of them, to put a name of its own choice there.
    std::string path = (fs::path(parent) / Concat(kScratchStart, "XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, "make a folder in it", parent);
    Scratch scratch(path, OpenFolder(path));
    // Another run may have taken it for a leftover before it was locked; then another try is due.
    if (!scratch.folder_.valid() || Lock(scratch.folder_) == false) continue;
    if (IsStillThere(scratch.folder_)) return scratch;
  }
  return Unavailable(parent, ": folders made in it vanish at once");
}

Scratch::~Scratch() { Remove().IgnoreError(); }

absl::Status Scratch::Remove() {
  if (path_.empty()) return absl::OkStatus();
  return Delete(std::exchange(path_, {}));
}

std::string Scratch::Path(std::string_view name) const { return Concat(path_, "/", name); }

Leftovers RemoveLeftovers(const std::string& parent) {
  Leftovers leftovers;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.compare(0, kScratchStart.size(), kScratchStart) != 0) continue;
    const std::string path = entry->path().string();
    (RemoveLeftover(path) ? leftovers.removed : leftovers.kept).push_back(path);
  }
  std::sort(leftovers.removed.begin(), leftovers.removed.end());
  std::sort(leftovers.kept.begin(), leftovers.kept.end());
  return leftovers;
}

}  // namespace tessera::probe
