// pread, pwrite and readfiles: what the file system gives and takes when files are in its cache.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/limits/machine.h"
#include "bench/limits/verbs.h"
#include "tessera/core/status.h"
#include "tessera/core/thread_pool.h"

namespace tessera::bench {
namespace {

constexpr size_t kBlock = size_t{8} << 20;

// A part of a file and its place in memory.
struct Part {
  const File* file;
  size_t offset;
  size_t size;
  size_t place;
};

// Each file begins at a multiple of 64 bytes, as arrays do.
std::vector<Part> PartsOf(std::span<const File> files, size_t block, size_t& memory_bytes) {
  std::vector<Part> parts;
  memory_bytes = 0;
  for (const File& file : files) {
    for (size_t at = 0; at < file.size; at += block) {
      parts.push_back({&file, at, std::min(block, file.size - at), memory_bytes + at});
    }
    memory_bytes += (file.size + 63) / 64 * 64;
  }
  return parts;
}

// A file as a program reads one of which it knows nothing but the name.
absl::Status ReadFile(const File& expected, std::unique_ptr<std::byte[]>& room, size_t& room_size) {
  const int file = open(expected.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FailedPrecondition(expected.path, ": ", std::strerror(errno));
  struct stat about = {};
  absl::Status status;
  if (fstat(file, &about) != 0) status = FailedPrecondition(expected.path, ": no fstat");
  const auto size = static_cast<size_t>(about.st_size);
  if (size > room_size) room = std::make_unique_for_overwrite<std::byte[]>(room_size = size);
  for (size_t done = 0; done < size && status.ok();) {
    const ssize_t count = read(file, room.get() + done, size - done);
    if (count <= 0) status = DataLoss(expected.path, " ends at ", done);
    if (count > 0) done += static_cast<size_t>(count);
  }
  close(file);
  return status;
}

// In a folder of their own, so that nothing else is deleted afterwards.
absl::StatusOr<std::vector<File>> PlanFiles(const Arguments& arguments, const std::string& folder) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, arguments.Count("bytes"));
  TESSERA_ASSIGN_OR_RETURN(const int64_t count, arguments.Count("files"));
  if (count < 1 || bytes < count) return InvalidArgument(count, " files of ", bytes, " bytes");
  std::vector<File> files;
  for (int64_t i = 0; i < count; ++i) {
    files.push_back({Concat(folder, "/", i), static_cast<size_t>(bytes / count)});
  }
  return files;
}

}  // namespace

absl::StatusOr<Result> LimitPread(const Arguments& arguments) {
  if (arguments.Has("dir") == arguments.Has("file")) return InvalidArgument("dir= or file=?");
  TESSERA_ASSIGN_OR_RETURN(const bool fresh, arguments.FlagOr("fresh", true));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const std::vector<File> files,
                           FilesBelow(arguments.Text(arguments.Has("dir") ? "dir" : "file")));
  size_t memory_bytes = 0;
  const std::vector<Part> parts = PartsOf(files, kBlock, memory_bytes);
  std::unique_ptr<Memory> memory;
  const auto renew = [&]() -> absl::Status {
    memory.reset();  // before the next one is taken
    TESSERA_ASSIGN_OR_RETURN(memory, Memory::Make(memory_bytes));
    if (!fresh) memory->Touch();
    return absl::OkStatus();
  };
  Result result{.bytes = TotalBytes(files)};
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, renew, [&] {
                             return OnAllCores(parts.size(), [&](size_t i) {
                               const Part& part = parts[i];
                               return ReadAt(part.file->path, part.offset,
                                             memory->span().subspan(part.place, part.size));
                             });
                           }));
  result.more = {{"files", static_cast<int64_t>(files.size())}};
  return result;
}

absl::StatusOr<Result> LimitPwrite(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  const std::string folder = arguments.Text("to") + "/bench_limits_pwrite";
  TESSERA_ASSIGN_OR_RETURN(const std::vector<File> files, PlanFiles(arguments, folder));
  // Writers of one file wait for each other, so a file is only cut where there are too few of them.
  const bool enough = files.size() >= static_cast<size_t>(DefaultThreadCount());
  size_t memory_bytes = 0;
  const std::vector<Part> parts = PartsOf(files, enough ? files[0].size : kBlock, memory_bytes);
  TESSERA_ASSIGN_OR_RETURN(const auto memory, Memory::Make(memory_bytes));
  memory->Touch();
  Result result{.bytes = TotalBytes(files)};
  const auto measured = Measure(
      warm, [&] { return MakeEmptyFolder(folder); },
      [&] {
        return OnAllCores(parts.size(), [&](size_t i) {
          const Part& part = parts[i];
          return WriteAt(part.file->path, part.offset,
                         memory->span().subspan(part.place, part.size));
        });
      });
  TESSERA_RETURN_IF_ERROR(Remove(folder));
  TESSERA_ASSIGN_OR_RETURN(result.measured, measured);
  result.more = {{"files", static_cast<int64_t>(files.size())}};
  return result;
}

absl::StatusOr<Result> LimitReadFiles(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const std::vector<File> files, FilesBelow(arguments.Text("dir")));
  Result result{.bytes = TotalBytes(files)};
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(
                                                warm, [] { return absl::OkStatus(); },
                                                [&] {
                                                  return OnAllCores(files.size(), [&](size_t i) {
                                                    thread_local std::unique_ptr<std::byte[]> room;
                                                    thread_local size_t room_size = 0;
                                                    return ReadFile(files[i], room, room_size);
                                                  });
                                                }));
  result.more = {{"files", static_cast<int64_t>(files.size())}};
  return result;
}

}  // namespace tessera::bench
