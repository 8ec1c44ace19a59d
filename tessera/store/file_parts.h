// Files in parts: made with their size first, written at any place, looked at as memory.
#ifndef TESSERA_STORE_FILE_PARTS_H_
#define TESSERA_STORE_FILE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/bytes.h"
#include "tessera/store/file_handle.h"

namespace tessera::store {

// Makes a file that is shorter as long as that; the new bytes are zeros and take no place on disk.
absl::Status SetFileSize(const FileHandle& file, uint64_t size, const std::string& shown);

// Writes all of `data` from `offset` on.
absl::Status WriteFullyAt(const FileHandle& file, uint64_t offset, std::span<const std::byte> data,
                          const std::string& shown);

// The first `size` bytes of a file as memory, which stays when the file is closed, renamed or
// replaced.  Who cuts the file short makes a later look at what is gone fatal to the process.
absl::StatusOr<Bytes> MapFile(const FileHandle& file, uint64_t size, const std::string& shown);

}  // namespace tessera::store

#endif  // TESSERA_STORE_FILE_PARTS_H_
