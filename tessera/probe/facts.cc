#include "tessera/probe/facts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <system_error>

#include "tessera/core/status.h"
#include "tessera/probe/aligned_memory.h"
#include "tessera/probe/mounts.h"

namespace tessera::probe {
namespace {

using store::ErrnoStatus;
using store::FileHandle;

int64_t Product(uint64_t a, uint64_t b) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(b != 0 && a > kMost / b ? kMost : a * b);
}

absl::Status MakeFile(const Scratch& scratch, const std::string& name) {
  const FileHandle file(
      openat(scratch.folder().get(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, "make a file", name);
  return absl::OkStatus();
}

bool IsThere(const std::string& path) {
  struct stat about = {};
  return lstat(path.c_str(), &about) == 0;
}

// Of the folder, as the file store locks it: a second one who wants the lock must not get it.
bool LocksExclude(const std::string& folder) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const FileHandle first(open(folder.c_str(), kFlags));
  const FileHandle second(open(folder.c_str(), kFlags));
  if (!first.valid() || !second.valid()) return false;
  if (flock(first.get(), LOCK_EX | LOCK_NB) != 0) return false;
  return flock(second.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

#ifdef STATX_DIOALIGN
// nullopt: the kernel or the file system does not tell.
std::optional<DirectIo> AskDirectIo(const FileHandle& file) {
  struct statx about = {};
  if (statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) != 0) return std::nullopt;
  if ((about.stx_mask & STATX_DIOALIGN) == 0) return std::nullopt;
  return DirectIo{.works = about.stx_dio_offset_align != 0,
                  .memory_alignment = about.stx_dio_mem_align,
                  .offset_alignment = about.stx_dio_offset_align,
                  .told = true};
}
#else
std::optional<DirectIo> AskDirectIo(const FileHandle&) { return std::nullopt; }
#endif

// Writes the second block of `alignment` bytes from memory that is aligned so and not better, and
// reads it again.
bool WorksWith(const FileHandle& file, int64_t alignment) {
  const auto size = static_cast<size_t>(alignment);
  AlignedMemory memory(3 * size, 2 * size);
  const std::span<std::byte> block = memory.span().subspan(size, size);
  std::fill(block.begin(), block.end(), std::byte{0x5a});
  const auto count = static_cast<ssize_t>(size);
  if (pwrite(file.get(), block.data(), size, alignment) != count) return false;
  std::fill(block.begin(), block.end(), std::byte{0});
  if (pread(file.get(), block.data(), size, alignment) != count) return false;
  return std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0x5a}; });
}

DirectIo TryAlignments(const FileHandle& file) {
  for (const int64_t alignment : {512, 4096, 65536}) {
    if (WorksWith(file, alignment)) {
      return {.works = true, .memory_alignment = alignment, .offset_alignment = alignment};
    }
  }
  return {};
}

}  // namespace

absl::StatusOr<FileSystem> AskFileSystem(const std::string& path) {
  struct statvfs about = {};
  if (statvfs(path.c_str(), &about) != 0) return ErrnoStatus(errno, "open", path);
  FileSystem system;
  system.free_bytes = Product(about.f_bavail, about.f_frsize);
  system.total_bytes = Product(about.f_blocks, about.f_frsize);
  system.free_files = Product(about.f_favail, 1);
  system.max_name = Product(about.f_namemax, 1);
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  std::ifstream file("/proc/self/mountinfo");
  const std::string mountinfo(std::istreambuf_iterator<char>(file), {});
  if (const std::optional<Mount> mount = FindMount(mountinfo, real); !error && mount) {
    system.type = mount->type;
    system.source = mount->source;
    system.options = mount->options;
  }
  return system;
}

absl::Status TryFileSystem(const Scratch& scratch, FileSystem& system) {
  TESSERA_RETURN_IF_ERROR(MakeFile(scratch, "case-and-links"));
  const std::string file = scratch.Path("case-and-links");
  system.case_sensitive = !IsThere(scratch.Path("CASE-AND-LINKS"));
  system.hard_links = link(file.c_str(), scratch.Path("hard").c_str()) == 0;
  system.symbolic_links = symlink("case-and-links", scratch.Path("symbolic").c_str()) == 0;
  const std::string folder = scratch.Path("locked");
  if (mkdir(folder.c_str(), 0700) != 0) return ErrnoStatus(errno, "make a folder", "locked");
  system.locks = LocksExclude(folder);
  return absl::OkStatus();
}

absl::StatusOr<DirectIo> TryDirectIo(const Scratch& scratch) {
  TESSERA_RETURN_IF_ERROR(MakeFile(scratch, "direct"));
  const FileHandle file(open(scratch.Path("direct").c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  if (!file.valid()) return DirectIo{};
  const std::optional<DirectIo> told = AskDirectIo(file);
  if (!told || !told->works) return TryAlignments(file);
  // What is told is held against one write and one read.
  return WorksWith(file, std::max(told->memory_alignment, told->offset_alignment)) ? *told
                                                                                   : DirectIo{};
}

}  // namespace tessera::probe
