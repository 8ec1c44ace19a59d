// Renaming with the two conditions that rename itself does not know.
#ifndef TESSERA_STORE_FILE_RENAME_H_
#define TESSERA_STORE_FILE_RENAME_H_

#include <string>

namespace tessera::store {

enum class RenameMode {
  kNoReplace,  // EEXIST when something is there
  kExchange,   // the two paths change places in one step; ENOENT unless both are there
};

// 0, or what errno was.
int Rename(const std::string& from, const std::string& to, RenameMode mode);

// Whether an errno says that the file system, or the kernel, cannot do it at all.
bool IsUnsupported(int error);

}  // namespace tessera::store

#endif  // TESSERA_STORE_FILE_RENAME_H_
