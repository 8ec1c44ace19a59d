// A store in a directory: the value of a key is the file at that path below the root.
#ifndef TESSERA_STORE_FILE_STORE_H_
#define TESSERA_STORE_FILE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/store/kv_store.h"

namespace tessera::store {

// What a write has reached when it returns.
enum class Durability {
  kDisk,    // file and directory are on disk: a value survives a power cut
  kKernel,  // the kernel has it: a value survives the process
};

struct FileStoreOptions {
  Durability durability = Durability::kDisk;
  // Makes the root and its parents when they are not there; else that is NotFound.
  bool create_root = true;
};

// Opens the directory `root`.
//
// A write goes to a temporary file beside the target, is synced, renamed over it, and the directory
// is synced, so a value is the old one or the new one whatever happens.  Nothing outside of the
// root is reached: symbolic links may lead about inside it, but not out.  Conditional writes
// are exclusive among users of this class, in this and in other processes of the machine.
// A generation is made of a file's inode, size and time, so values of equal size that replace each
// other within one tick of the file system's clock might not be told apart.
absl::StatusOr<std::unique_ptr<KvStore>> OpenFileStore(const std::string& root,
                                                       const FileStoreOptions& options = {});

}  // namespace tessera::store

#endif  // TESSERA_STORE_FILE_STORE_H_
