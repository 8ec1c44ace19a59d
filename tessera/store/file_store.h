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
  kKernel,  // the kernel has it: a value survives the process, and a power cut after Flush
};

struct FileStoreOptions {
  Durability durability = Durability::kDisk;
  // Makes the root and its parents when they are not there; else that is NotFound.
  bool create_root = true;
  // Threads that read one large range, or list many folders: 0 means as many as there are cores,
  // but at most 8.
  int parallelism = 0;
  // How many bytes are large.
  uint64_t parallel_threshold = uint64_t{8} << 20;
  // Requests of ReadMany at once; more than cores, since a cold file is waited for.
  int requests_at_once = 16;
};

// Opens the directory `root`.  InvalidArgument for numbers of threads that make no sense.
//
// A write goes to a temporary file beside the target, is synced, renamed over it, and the directory
// is synced, so a value is the old one or the new one whatever happens.  Nothing outside of the
// root is reached: symbolic links may lead about inside it, but not out.  Conditional writes
// are exclusive among users of this class, in this and in other processes of the machine.
//
// Large reads, ReadMany and List of many folders use threads of the store, which start with the
// first such call; while many large reads run at once, each keeps to its caller's thread.  Which
// ways of reading and writing were tried, and which are used: docs/performance.md, "File I/O".
//
// Flush, with Durability::kKernel, syncs the file system as a whole: one call instead of two syncs
// a value, but it waits for what others have written there, too.  Values that links or mounts put
// on another file system than the root's are synced one by one as they are written.  Until the
// Flush a power cut may leave a value empty or cut short.
//
// A value that is reserved is a new file, too, so who has the old one mapped keeps it; WriteAt then
// changes the file in place, with a sync for each call unless Durability::kKernel leaves it to
// Flush.
//
// A generation is made of a file's inode, size and time, so values of equal size that replace each
// other within one tick of the file system's clock might not be told apart.
absl::StatusOr<std::unique_ptr<KvStore>> OpenFileStore(const std::string& root,
                                                       const FileStoreOptions& options = {});

}  // namespace tessera::store

#endif  // TESSERA_STORE_FILE_STORE_H_
