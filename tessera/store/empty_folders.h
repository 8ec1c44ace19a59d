// Folders of a file store that nothing is left in.
#ifndef TESSERA_STORE_EMPTY_FOLDERS_H_
#define TESSERA_STORE_EMPTY_FOLDERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/store/file_handle.h"

namespace tessera::store {

// Removes these folders below `root`, and those they lie in, as long as nothing else is in them.
// `shown` is the path of the root.
absl::Status RemoveEmptyFolders(const FileHandle& root, const std::string& shown,
                                std::vector<std::string> folders);

}  // namespace tessera::store

#endif  // TESSERA_STORE_EMPTY_FOLDERS_H_
