// What the limits are made of: memory, files and all cores, with nothing of tessera's in between.
#ifndef TESSERA_BENCH_LIMITS_MACHINE_H_
#define TESSERA_BENCH_LIMITS_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::bench {

// Memory in huge pages where there are some, which the system has not cleared yet.
class Memory {
 public:
  static absl::StatusOr<std::unique_ptr<Memory>> Make(size_t size);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> span() const { return {data_, size_}; }
  // Writes to all of it, so that its pages are there; bytes that no codec can leave out.
  void Touch();

 private:
  Memory(std::byte* data, size_t size) : data_(data), size_(size) {}

  std::byte* data_;
  size_t size_;
};

// Calls work(i) for every i below `count` on all cores (TESSERA_THREADS), the next one as soon as a
// thread is free.  The first error stops the rest and is returned.
absl::Status OnAllCores(size_t count, absl::FunctionRef<absl::Status(size_t)> work);

struct File {
  std::string path;
  size_t size = 0;
};

// `path` itself if it is a file; else all regular files below it, by path.  NotFound when there are
// none.
absl::StatusOr<std::vector<File>> FilesBelow(const std::string& path);

int64_t TotalBytes(std::span<const File> files);

// Reads all of `target` from `offset` of a file on.
absl::Status ReadAt(const std::string& path, size_t offset, std::span<std::byte> target);

// Writes all of `data` to a file from `offset` on, and makes the file if there is none.
absl::Status WriteAt(const std::string& path, size_t offset, std::span<const std::byte> data);

// Makes the folder anew.
absl::Status MakeEmptyFolder(const std::string& folder);

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_LIMITS_MACHINE_H_
