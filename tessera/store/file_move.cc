#include "tessera/store/file_move.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/store/directory_entries.h"
#include "tessera/store/key.h"

namespace tessera::store {
namespace {

constexpr mode_t kFolderMode = 0777;  // less the umask

std::string Joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : Concat(folder, "/", name);
}

// Of a folder that was just opened.
absl::StatusOr<std::vector<std::string>> NamesIn(const FileHandle& folder,
                                                 const std::string& shown) {
  std::vector<std::string> names;
  TESSERA_RETURN_IF_ERROR(ForEachEntry(folder, shown, [&](const char* name, unsigned char) {
    names.emplace_back(name);
    return absl::OkStatus();
  }));
  return names;
}

// Removes a folder in which there are only such folders; whatever else it holds stays.
void RemoveEmpty(const FileHandle& parent, const std::string& name) {
  if (unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOTDIR) return;
  const FileHandle folder(
      openat(parent.get(), name.c_str(), O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return;
  const auto names = NamesIn(folder, name);
  if (!names.ok()) return;
  for (const std::string& inner : *names) RemoveEmpty(folder, inner);
  unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

bool IsFolder(const FileHandle& parent, const std::string& name) {
  struct stat info;
  return fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(info.st_mode);
}

bool Renamed(const FileHandle& source, const FileHandle& target, const std::string& name) {
  return renameat(source.get(), name.c_str(), target.get(), name.c_str()) == 0;
}

}  // namespace

std::string FileMove::Shown(const std::string& path) const { return Concat(shown_, "/", path); }

absl::Status FileMove::Run(const std::string& from, const std::string& to,
                           const std::stop_token& stop) {
  // Opened from the root each time: a link may lead about inside it, but not out.
  constexpr int kFlags = O_DIRECTORY | O_RDONLY;
  TESSERA_ASSIGN_OR_RETURN(const FileHandle source,
                           OpenBeneath(root_, from.empty() ? "." : from, kFlags, Shown(from)));
  if (!source.valid()) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const FileHandle target,
                           OpenBeneath(root_, to.empty() ? "." : to, kFlags, Shown(to)));
  if (!target.valid()) {
    return InvalidArgument(Shown(to), ": a file is in the way of the folder ", Shown(from));
  }
  TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(source, Shown(from)));
  for (const std::string& name : names) {
    if (stop.stop_requested()) return Cancelled(Shown(from), ": stopped while moving");
    TESSERA_RETURN_IF_ERROR(MoveEntry(source, target, name, from, to, stop));
  }
  if (names.empty()) return absl::OkStatus();
  TESSERA_RETURN_IF_ERROR(changed_(target));
  return changed_(source);
}

absl::Status FileMove::MoveEntry(const FileHandle& source, const FileHandle& target,
                                 const std::string& name, const std::string& from,
                                 const std::string& to, const std::stop_token& stop) {
  // A write that did not end is nothing to be moved.
  if (name.find(kTemporaryMark) != std::string::npos) {
    unlinkat(source.get(), name.c_str(), 0);
    return absl::OkStatus();
  }
  if (Renamed(source, target, name)) return absl::OkStatus();
  int error = errno;
  if (error == ENOENT) return absl::OkStatus();
  if (IsFolder(source, name)) return MoveFolder(source, target, name, from, to, error, stop);
  if (error == EISDIR) {
    RemoveEmpty(target, name);
    if (Renamed(source, target, name)) return absl::OkStatus();
    error = errno;
  }
  const std::string to_path = Joined(to, name);
  if (error == EISDIR) {
    return InvalidArgument(Shown(to_path), ": a folder is in the way of a file that moves there");
  }
  if (error != EXDEV) return ErrnoStatus(error, "move a file there", Shown(to_path));
  TESSERA_RETURN_IF_ERROR(copy_(Joined(from, name), to_path));
  if (unlinkat(source.get(), name.c_str(), 0) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "delete", Shown(Joined(from, name)));
}

absl::Status FileMove::MoveFolder(const FileHandle& source, const FileHandle& target,
                                  const std::string& name, const std::string& from,
                                  const std::string& to, int error, const std::stop_token& stop) {
  const std::string from_path = Joined(from, name);
  const std::string to_path = Joined(to, name);
  if (error == EXDEV && mkdirat(target.get(), name.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "make directory", Shown(to_path));
  }
  const bool in_the_way = error == ENOTEMPTY || error == EEXIST || error == ENOTDIR;
  if (!in_the_way && error != EXDEV) {
    return ErrnoStatus(error, "move a folder there", Shown(to_path));
  }
  TESSERA_RETURN_IF_ERROR(Run(from_path, to_path, stop));
  if (unlinkat(source.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, "remove the folder", Shown(from_path));
}

}  // namespace tessera::store
