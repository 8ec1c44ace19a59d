// What a directory lists.
#ifndef TESSERA_STORE_DIRECTORY_ENTRIES_H_
#define TESSERA_STORE_DIRECTORY_ENTRIES_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/store/file_handle.h"

namespace tessera::store {

// Called with the name of an entry and its type, DT_REG and the like of <dirent.h>, which is
// DT_UNKNOWN where the file system does not say.
using VisitEntry = absl::FunctionRef<absl::Status(const char* name, unsigned char type)>;

// Calls `visit` for every entry but "." and ".."; the first error ends it.  `shown` is for
// messages. The handle is read to its end: it was just opened, or this starts where the last call
// ended. Without opendir, which looks at the directory, copies the handle and takes memory each
// time.
absl::Status ForEachEntry(const FileHandle& directory, const std::string& shown, VisitEntry visit);

}  // namespace tessera::store

#endif  // TESSERA_STORE_DIRECTORY_ENTRIES_H_
