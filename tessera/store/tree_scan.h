// Finds the files below a directory.
#ifndef TESSERA_STORE_TREE_SCAN_H_
#define TESSERA_STORE_TREE_SCAN_H_

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tessera/core/status.h"
#include "tessera/store/file_handle.h"

namespace tessera::store {

// Calls visit(path below the root, file information) for every regular file below a directory, and
// names the directories below it where asked to.  A link to a file inside of the root is visited as
// that file, since it can be read as one; links to directories are not followed, as they may lead
// in circles.
class TreeScan {
 public:
  TreeScan(const FileHandle& root, std::string shown) : root_(root), shown_(std::move(shown)) {}

  template <typename Visit>
  absl::Status Run(std::string start, Visit visit, std::vector<std::string>* folders = nullptr) {
    std::vector<std::string> pending = {std::move(start)};
    while (!pending.empty()) {
      const std::string path = std::move(pending.back());
      pending.pop_back();
      if (folders != nullptr) folders->push_back(path);
      TESSERA_RETURN_IF_ERROR(Scan(path, pending, visit));
    }
    return absl::OkStatus();
  }

 private:
  template <typename Visit>
  absl::Status Scan(const std::string& path, std::vector<std::string>& pending, Visit& visit) {
    TESSERA_ASSIGN_OR_RETURN(FileHandle handle,
                             OpenBeneath(root_, path.empty() ? "." : path, O_DIRECTORY | O_RDONLY,
                                         path.empty() ? shown_ : Concat(shown_, "/", path)));
    if (!handle.valid()) return absl::OkStatus();
    // The stream takes a descriptor of its own.
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(dup(handle.get())), closedir);
    if (stream == nullptr) return ErrnoStatus(errno, "list", Concat(shown_, "/", path));
    while (true) {
      errno = 0;
      const dirent* entry = readdir(stream.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat info;
      if (fstatat(handle.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      std::string below = path.empty() ? std::string(name) : Concat(path, "/", name);
      if (S_ISDIR(info.st_mode)) {
        pending.push_back(std::move(below));
      } else if (S_ISREG(info.st_mode) || (S_ISLNK(info.st_mode) && LeadsToFile(below, info))) {
        TESSERA_RETURN_IF_ERROR(visit(std::move(below), info));
      }
    }
    if (errno != 0) return ErrnoStatus(errno, "list", Concat(shown_, "/", path));
    return absl::OkStatus();
  }

  // Then `info` is that of the file.
  bool LeadsToFile(const std::string& path, struct stat& info) const {
    const auto file = OpenBeneath(root_, path, O_PATH, Concat(shown_, "/", path));
    return file.ok() && file->valid() && fstat(file->get(), &info) == 0 && S_ISREG(info.st_mode);
  }

  const FileHandle& root_;
  const std::string shown_;
};

}  // namespace tessera::store

#endif  // TESSERA_STORE_TREE_SCAN_H_
