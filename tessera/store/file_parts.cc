#include "tessera/store/file_parts.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>

#include "tessera/core/status.h"

namespace tessera::store {
namespace {

// More than this at once is refused by Linux anyway.
constexpr size_t kMostPerWrite = size_t{1} << 30;

}  // namespace

absl::Status SetFileSize(const FileHandle& file, uint64_t size, const std::string& shown) {
  if (size > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) {
    return ErrnoStatus(EFBIG, "reserve", shown);
  }
  while (ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "reserve", shown);
  }
  return absl::OkStatus();
}

absl::Status WriteFullyAt(const FileHandle& file, uint64_t offset, std::span<const std::byte> data,
                          const std::string& shown) {
  while (!data.empty()) {
    const ssize_t count = pwrite(file.get(), data.data(), std::min(data.size(), kMostPerWrite),
                                 static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "write", shown);
    data = data.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<Bytes> MapFile(const FileHandle& file, uint64_t size, const std::string& shown) {
  if (size == 0) return Bytes();  // which mmap refuses
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "map", shown);
  std::shared_ptr<const void> owner(memory, [size](void* mapped) { munmap(mapped, size); });
  return Bytes::Borrow({static_cast<const std::byte*>(memory), size}, std::move(owner));
}

}  // namespace tessera::store
