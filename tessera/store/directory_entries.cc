#include "tessera/store/directory_entries.h"

#include <dirent.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "tessera/core/status.h"

namespace tessera::store {

absl::Status ForEachEntry(const FileHandle& directory, const std::string& shown, VisitEntry visit) {
  // What one call gives: some hundred entries.
  alignas(dirent64) std::array<std::byte, size_t{32} << 10> room;
  while (true) {
    const ssize_t size = getdents64(directory.get(), room.data(), room.size());
    if (size < 0 && errno == EINTR) continue;
    // One that was removed since it was opened has no entries left.
    if (size == 0 || (size < 0 && errno == ENOENT)) return absl::OkStatus();
    if (size < 0) return ErrnoStatus(errno, "list", shown);
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(room.data() + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      TESSERA_RETURN_IF_ERROR(visit(entry->d_name, entry->d_type));
    }
  }
}

}  // namespace tessera::store
