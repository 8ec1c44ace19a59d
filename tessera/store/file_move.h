// Moves a folder's files to another folder by renaming, as few times as can be.
#ifndef TESSERA_STORE_FILE_MOVE_H_
#define TESSERA_STORE_FILE_MOVE_H_

#include <sys/types.h>

#include <stop_token>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/store/file_handle.h"

namespace tessera::store {

// One move below `root`; `shown` is the root's path for messages.
class FileMove {
 public:
  // Where a folder's entries have changed; it is durable, if it is to be, when the call returns.
  using Changed = absl::FunctionRef<absl::Status(const FileHandle& folder)>;
  // Copies a file to another file system, where it cannot be renamed to; both paths are from root.
  using Copy = absl::FunctionRef<absl::Status(const std::string& from, const std::string& to)>;

  // The functions must outlive it.
  FileMove(const FileHandle& root, std::string shown, Changed changed, Copy copy)
      : root_(root), shown_(std::move(shown)), changed_(changed), copy_(copy) {}

  // Moves what is in the folder `from` into the folder `to`, which is there; "" is the root.  A
  // folder goes as a whole where nothing of that name is in the way, else entry by entry; a file
  // replaces a file.  Folders without files in the way of a file are removed.  InvalidArgument when
  // a file is in the way of a folder, or the other way round.
  absl::Status Run(const std::string& from, const std::string& to, const std::stop_token& stop);

 private:
  absl::Status MoveEntry(const FileHandle& source, const FileHandle& target,
                         const std::string& name, const std::string& from, const std::string& to,
                         const std::stop_token& stop);
  absl::Status MoveFolder(const FileHandle& source, const FileHandle& target,
                          const std::string& name, const std::string& from, const std::string& to,
                          int error, const std::stop_token& stop);
  std::string Shown(const std::string& path) const;

  const FileHandle& root_;
  const std::string shown_;
  const Changed changed_;
  const Copy copy_;
};

}  // namespace tessera::store

#endif  // TESSERA_STORE_FILE_MOVE_H_
