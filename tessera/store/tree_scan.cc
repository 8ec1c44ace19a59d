#include "tessera/store/tree_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/store/concurrent.h"
#include "tessera/store/directory_entries.h"
#include "tessera/store/file_replace.h"

namespace tessera::store {
namespace {

// Directories that one thread lists without asking for more: enough to be worth waking another.
constexpr size_t kBlock = 64;

// What directories of one depth hold.
struct Found {
  std::vector<ListEntry> files;
  std::vector<std::string> folders;
};

// Whether a link leads to a file; then `info` is that of the file.
bool LeadsToFile(const TreeScan& scan, const std::string& path, struct stat& info) {
  const auto file = OpenBeneath(scan.root, path, O_PATH, path);
  return file.ok() && file->valid() && fstat(file->get(), &info) == 0 && S_ISREG(info.st_mode);
}

absl::Status ScanFolder(const TreeScan& scan, const std::string& path, Found& found) {
  const std::string shown = path.empty() ? scan.shown : Concat(scan.shown, "/", path);
  TESSERA_ASSIGN_OR_RETURN(
      const FileHandle folder,
      OpenBeneath(scan.root, path.empty() ? "." : path, O_DIRECTORY | O_RDONLY, shown));
  if (!folder.valid()) return absl::OkStatus();
  return ForEachEntry(folder, shown, [&](const char* name, unsigned char type) {
    std::string below = path.empty() ? std::string(name) : Concat(path, "/", name);
    struct stat info;
    if (type == DT_DIR) {
      found.folders.push_back(std::move(below));
    } else if (fstatat(folder.get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return absl::OkStatus();  // gone
    } else if (S_ISDIR(info.st_mode)) {
      found.folders.push_back(std::move(below));
    } else if (S_ISREG(info.st_mode) || (S_ISLNK(info.st_mode) && LeadsToFile(scan, below, info))) {
      found.files.push_back({std::move(below), SizeOf(info)});
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<Found>> ScanFolders(const TreeScan& scan,
                                               const std::vector<std::string>& folders,
                                               const std::stop_token& stop) {
  const size_t blocks = (folders.size() + kBlock - 1) / kBlock;
  std::vector<Found> found(blocks);
  const auto scan_block = [&](size_t block, const std::stop_token&) -> absl::Status {
    const size_t end = std::min(folders.size(), (block + 1) * kBlock);
    for (size_t i = block * kBlock; i < end; ++i) {
      TESSERA_RETURN_IF_ERROR(ScanFolder(scan, folders[i], found[block]));
    }
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(
      blocks == 1 ? scan_block(0, stop)
                  : ForEachIndex(scan.pool(), scan.width, blocks, scan.shown, stop, scan_block));
  return found;
}

template <typename T>
void Append(std::vector<T>& to, std::vector<T>&& more) {
  to.insert(to.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

}  // namespace

absl::StatusOr<ScannedTree> ScanTree(const TreeScan& scan, std::string start,
                                     std::stop_token stop) {
  ScannedTree tree;
  for (std::vector<std::string> depth = {std::move(start)}; !depth.empty();) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<Found> found, ScanFolders(scan, depth, stop));
    Append(tree.folders, std::exchange(depth, {}));
    for (Found& each : found) {
      Append(tree.files, std::move(each.files));
      Append(depth, std::move(each.folders));
    }
  }
  return tree;
}

}  // namespace tessera::store
