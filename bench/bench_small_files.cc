// Many files: reading small ones on several threads, and making many durable one by one or at once.
//
//   bench_small_files FOLDER
//
// Prints one JSON line a case, the best of three rounds.  docs/performance.md, "File I/O".
#include <sys/stat.h>

#include "bench/file_bench.h"
#include "tessera/core/status.h"

namespace tessera::bench {
namespace {

// As many headers as a large model has arrays: 20,000 files of 1 KiB in 200 folders.
void SmallReads(const fs::path& root, const std::byte* data) {
  constexpr size_t kFiles = 20000;
  const auto name = [&](size_t i) { return root / Concat("d", i % 200) / std::to_string(i); };
  for (size_t i = 0; i < 200; ++i) fs::create_directories(name(i).parent_path());
  for (size_t i = 0; i < kFiles; ++i) WriteWhole(name(i), data, kKiB);
  sync();
  const auto read = [&](size_t i) {
    std::byte target[kKiB];
    const File file(name(i), O_RDONLY);
    struct stat info;
    Require(fstat(file.get(), &info) == 0 && pread(file.get(), target, kKiB, 0) == kKiB, "read");
  };
  const auto cool = [&] {
    for (size_t i = 0; i < kFiles; ++i) Cool(name(i));
  };
  for (const int threads : {1, 2, 4, 8, 16, 32, 64}) {
    const std::string shown = Concat(threads, " at once");
    const auto run = [&] { OnThreads(threads, kFiles, read); };
    Measure(
        Concat("20000 small files warm, ", shown), kFiles * kKiB, [] {}, run);
    Measure(Concat("20000 small files cold, ", shown), kFiles * kKiB, cool, run);
  }
}

// Values as a store writes them: to a temporary file, then renamed; 20 in a folder.
class Group {
 public:
  Group(const fs::path& root, const std::byte* data, size_t files, size_t size)
      : root_(root), data_(data), files_(files), size_(size) {}

  void Run() {
    for (const int threads : {1, 4, 16, 64}) {
      Case("each synced", threads, [&] { PutAll(threads, true); });
      Case("fsync of all at the end", threads, [&] {
        PutAll(threads, false);
        OnThreads(threads, files_, [&](size_t i) { SyncPath(Name(i), O_RDONLY); });
        OnThreads(threads, (files_ + 19) / 20, [&](size_t i) { SyncPath(Folder(i * 20)); });
      });
      Case("syncfs at the end", threads, [&] {
        PutAll(threads, false);
        const File root(root_, O_RDONLY | O_DIRECTORY);
        Require(syncfs(root.get()) == 0, "syncfs");
      });
      Case("never synced", threads, [&] { PutAll(threads, false); });
    }
  }

 private:
  fs::path Root() const { return root_ / std::to_string(round_); }
  fs::path Folder(size_t i) const { return Root() / Concat("f", i / 20); }
  fs::path Name(size_t i) const { return Folder(i) / std::to_string(i); }

  void Case(const std::string& how, int threads, const std::function<void()>& run) {
    const auto clear = [&] {
      // Small files stay until the end: ext4 is slow to give out inodes that were just deleted.
      if (size_ > kMiB) fs::remove_all(root_);
      ++round_;
      for (size_t i = 0; i < files_; i += 20) fs::create_directories(Folder(i));
      sync();
    };
    Measure(Concat(files_, " files of ", size_ / kKiB, " KiB, ", how, ", ", threads, " at once"),
            files_ * size_, clear, run);
  }

  void PutAll(int threads, bool durable) {
    OnThreads(threads, files_, [&](size_t i) { Put(i, durable); });
  }

  void Put(size_t i, bool durable) {
    const fs::path temporary = Folder(i) / Concat("t", i);
    {
      const File file(temporary, O_WRONLY | O_CREAT | O_EXCL);
      WriteBlocks(file.get(), data_, size_, size_, 1);
      if (durable) Require(fsync(file.get()) == 0, "fsync");
    }
    fs::rename(temporary, Name(i));
    if (durable) SyncPath(Folder(i));
  }

  static void SyncPath(const fs::path& path, int flags = O_RDONLY | O_DIRECTORY) {
    const File file(path, flags);
    Require(fsync(file.get()) == 0, "fsync");
  }

  const fs::path root_;
  const std::byte* const data_;
  const size_t files_;
  const size_t size_;
  int round_ = 0;
};

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_small_files FOLDER\n");
    return 2;
  }
  const fs::path root = fs::path(argv[1]) / "bench_small_files";
  const Memory data = Filled(16 * kMiB);
  SmallReads(root / "small", data.get());
  Group(root / "small_group", data.get(), 1000, 64 * kKiB).Run();
  Group(root / "large_group", data.get(), 64, 16 * kMiB).Run();
  fs::remove_all(root);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) { return tessera::bench::Main(argc, argv); }
