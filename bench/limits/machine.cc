#include "bench/limits/machine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "bench/ours/worker.h"
#include "tessera/core/status.h"
#include "tessera/core/thread_pool.h"

namespace tessera::bench {

absl::StatusOr<std::unique_ptr<Memory>> Memory::Make(size_t size) {
  void* data = mmap(nullptr, std::max<size_t>(size, 1), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return ResourceExhausted("no memory for ", size, " bytes");
  madvise(data, size, MADV_HUGEPAGE);  // where the system has none, small pages serve
  return std::unique_ptr<Memory>(new Memory(static_cast<std::byte*>(data), size));
}

Memory::~Memory() { munmap(data_, std::max<size_t>(size_, 1)); }

void Memory::Touch() {
  constexpr size_t kBlock = size_t{4} << 20;
  const absl::Status status = OnAllCores((size_ + kBlock - 1) / kBlock, [&](size_t block) {
    uint64_t state = block * 0x9e3779b97f4a7c15 + 1;
    const size_t begin = block * kBlock, end = std::min(size_, begin + kBlock);
    for (size_t at = begin; at < end; at += sizeof(state)) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // xorshift
      std::memcpy(data_ + at, &state, std::min(sizeof(state), end - at));
    }
    return absl::OkStatus();
  });
  TESSERA_CHECK(status.ok());
}

absl::Status OnAllCores(size_t count, absl::FunctionRef<absl::Status(size_t)> work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  absl::Status first;
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      absl::Status status = work(i);
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      if (first.ok()) first = std::move(status);
      next = count;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < DefaultThreadCount(); ++i) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
  return first;
}

absl::StatusOr<std::vector<File>> FilesBelow(const std::string& path) {
  namespace fs = std::filesystem;
  TESSERA_RETURN_IF_ERROR(CheckThere(path));
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::vector<File>{{path, fs::file_size(path)}};
  std::vector<File> files;
  for (auto it = fs::recursive_directory_iterator(path, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back({it->path().string(), it->file_size(error)});
  }
  if (error) return FailedPrecondition(path, ": ", error.message());
  if (files.empty()) return NotFound(path, ": there is no file below it");
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

int64_t TotalBytes(std::span<const File> files) {
  size_t sum = 0;
  for (const File& file : files) sum += file.size;
  return static_cast<int64_t>(sum);
}

absl::Status ReadAt(const std::string& path, size_t offset, std::span<std::byte> target) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FailedPrecondition(path, ": ", std::strerror(errno));
  absl::Status status;
  for (size_t done = 0; done < target.size() && status.ok();) {
    const ssize_t count =
        pread(file, target.data() + done, target.size() - done, static_cast<off_t>(offset + done));
    if (count <= 0) status = DataLoss(path, " ends at ", offset + done);
    if (count > 0) done += static_cast<size_t>(count);
  }
  close(file);
  return status;
}

absl::Status WriteAt(const std::string& path, size_t offset, std::span<const std::byte> data) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return FailedPrecondition(path, ": ", std::strerror(errno));
  absl::Status status;
  for (size_t done = 0; done < data.size() && status.ok();) {
    const ssize_t count =
        pwrite(file, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (count <= 0) status = FailedPrecondition(path, ": ", std::strerror(errno));
    if (count > 0) done += static_cast<size_t>(count);
  }
  if (close(file) != 0 && status.ok())
    status = FailedPrecondition(path, ": ", std::strerror(errno));
  return status;
}

absl::Status MakeEmptyFolder(const std::string& folder) {
  TESSERA_RETURN_IF_ERROR(Remove(folder));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? FailedPrecondition(folder, ": ", error.message()) : absl::OkStatus();
}

}  // namespace tessera::bench
