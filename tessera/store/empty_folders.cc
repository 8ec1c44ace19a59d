#include "tessera/store/empty_folders.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/store/key.h"

namespace tessera::store {
namespace {

absl::Status RemoveEmptyFolder(const FileHandle& root, const std::string& shown,
                               std::string_view folder) {
  while (!folder.empty()) {
    const auto [parent, name] = SplitKey(folder);
    TESSERA_ASSIGN_OR_RETURN(const FileHandle directory,
                             OpenBeneath(root, parent.empty() ? "." : std::string(parent),
                                         O_DIRECTORY | O_RDONLY, Concat(shown, "/", folder)));
    // A folder that is not empty, or a link to one, stays.
    if (directory.valid() &&
        unlinkat(directory.get(), std::string(name).c_str(), AT_REMOVEDIR) != 0 &&
        errno != ENOENT) {
      break;
    }
    folder = parent;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RemoveEmptyFolders(const FileHandle& root, const std::string& shown,
                                std::vector<std::string> folders) {
  // Longer ones first, so that what lies inside another is gone before it.
  std::sort(folders.begin(), folders.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  for (const std::string& folder : folders) {
    TESSERA_RETURN_IF_ERROR(RemoveEmptyFolder(root, shown, folder));
  }
  return absl::OkStatus();
}

}  // namespace tessera::store
