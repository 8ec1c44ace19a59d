// Finds the files below a directory.
#ifndef TESSERA_STORE_TREE_SCAN_H_
#define TESSERA_STORE_TREE_SCAN_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/core/thread_pool.h"
#include "tessera/store/file_handle.h"
#include "tessera/store/kv_store.h"

namespace tessera::store {

// What lies below a directory, by paths from the root on.
struct ScannedTree {
  std::vector<ListEntry> files;      // in no order
  std::vector<std::string> folders;  // the directory first
};

// Where and by whom a tree is looked at.
struct TreeScan {
  const FileHandle& root;
  const std::string& shown;  // the root, for messages
  // Called where there are many directories, to list some of them at once; at most `width` threads.
  absl::FunctionRef<ThreadPool&()> pool;
  int width = 1;
};

// Every regular file and every directory below `start`, "" being the root; nothing when there is no
// such directory.  A link to a file inside of the root is such a file, since it can be read as one;
// links to directories are not followed, as they may lead in circles.  What appears or goes away
// meanwhile may be among them or not.
absl::StatusOr<ScannedTree> ScanTree(const TreeScan& scan, std::string start, std::stop_token stop);

}  // namespace tessera::store

#endif  // TESSERA_STORE_TREE_SCAN_H_
