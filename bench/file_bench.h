// What the programs that measure files share: timing, threads, buffers, whole files.
#ifndef TESSERA_BENCH_FILE_BENCH_H_
#define TESSERA_BENCH_FILE_BENCH_H_

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tessera::bench {

namespace fs = std::filesystem;
inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;
inline constexpr int kRounds = 3;

inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Free {
  void operator()(std::byte* data) const { std::free(data); }
};
using Memory = std::unique_ptr<std::byte, Free>;

// Aligned for O_DIRECT; its pages are not there yet.
inline Memory Fresh(size_t size) {
  return Memory(static_cast<std::byte*>(std::aligned_alloc(2 * kMiB, size)));
}

// As Fresh, with contents that nothing below can compress away.
inline Memory Filled(size_t size) {
  Memory memory = Fresh(size);
  uint64_t state = 88172645463325252u;
  for (size_t i = 0; i + 8 <= size; i += 8) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::memcpy(memory.get() + i, &state, 8);
  }
  return memory;
}

// Prepares (untimed), runs, and prints the best round.
inline void Measure(const std::string& name, size_t bytes, const std::function<void()>& prepare,
                    const std::function<void()>& run) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    prepare();
    const double start = Now();
    run();
    best = std::min(best, Now() - start);
  }
  std::printf("{\"case\": \"%s\", \"bytes\": %zu, \"seconds\": %.4f, \"GB/s\": %.2f}\n",
              name.c_str(), bytes, best, static_cast<double>(bytes) / best / 1e9);
  std::fflush(stdout);
}

// body(i) for every i below count, on that many threads.
inline void OnThreads(int threads, size_t count, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
}

class File {
 public:
  File(const fs::path& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    Require(descriptor_ >= 0, path.c_str());
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

inline void ReadBlocks(int file, std::byte* data, size_t size, size_t block, int threads) {
  OnThreads(threads, (size + block - 1) / block, [&](size_t i) {
    const size_t length = std::min(block, size - i * block);
    Require(pread(file, data + i * block, length, static_cast<off_t>(i * block)) ==
                static_cast<ssize_t>(length),
            "pread");
  });
}

inline void WriteBlocks(int file, const std::byte* data, size_t size, size_t block, int threads) {
  OnThreads(threads, (size + block - 1) / block, [&](size_t i) {
    const size_t length = std::min(block, size - i * block);
    Require(pwrite(file, data + i * block, length, static_cast<off_t>(i * block)) ==
                static_cast<ssize_t>(length),
            "pwrite");
  });
}

inline void WriteWhole(const fs::path& path, const std::byte* data, size_t size) {
  const File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  WriteBlocks(file.get(), data, size, size, 1);
}

// Drops one file's pages, which must be clean to go.
inline void Cool(const fs::path& path) {
  const File file(path, O_RDONLY);
  fsync(file.get());
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_FILE_BENCH_H_
