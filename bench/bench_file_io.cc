// What the kernel gives to different ways of moving one large file: threads, blocks, O_DIRECT,
// io_uring, syncs.  FileStore's choices rest on it; docs/performance.md, "File I/O", tells which.
//
//   bench_file_io FOLDER [MIB] [GROUP ...]     1024 MiB and every group unless told
//
// Prints one JSON line a case, the best of three rounds.  "cold" means that the file's pages were
// dropped from this kernel's cache; a host below a virtual machine may still hold them.
#include "bench/file_bench.h"
#include "bench/io_ring.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"

namespace tessera::bench {
namespace {

// Keeps `depth` blocks under way on one thread.
void RingBlocks(IoRing& ring, uint8_t operation, int file, std::byte* data, size_t size,
                size_t block, unsigned depth) {
  size_t started = 0;
  size_t ended = 0;
  while (ended < size) {
    while (started < size && started - ended < depth * block) {
      ring.Start(operation, file, data + started, block, started);
      started += block;
    }
    Require(ring.Wait() == static_cast<int>(block), "io_uring");
    ended += block;
  }
}

class Bench {
 public:
  Bench(fs::path folder, size_t size)
      : folder_(std::move(folder)), path_(folder_ / "large"), size_(size), data_(Filled(size)) {
    fs::create_directories(folder_);
  }
  ~Bench() { fs::remove_all(folder_); }

  void Copy() {
    const Memory target = Filled(size_);
    for (const int threads : {1, 2, 4, 8}) {
      Measure(
          Name("memcpy", threads, size_), size_, [] {},
          [&] {
            const size_t part = size_ / static_cast<size_t>(threads);
            OnThreads(threads, static_cast<size_t>(threads), [&](size_t i) {
              std::memcpy(target.get() + i * part, data_.get() + i * part, part);
            });
          });
    }
  }

  void WarmReads() {
    WriteWhole(path_, data_.get(), size_);
    const Memory target = Filled(size_);
    const File file(path_, O_RDONLY);
    for (const int threads : {1, 2, 4, 8, 16}) {
      for (const size_t block : {256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB}) {
        Measure(
            Name("read warm", threads, block), size_, [] {},
            [&] { ReadBlocks(file.get(), target.get(), size_, block, threads); });
      }
    }
    for (const int threads : {1, 2, 4, 8}) {
      Memory fresh;
      Measure(
          Name("read warm into fresh memory", threads, 4 * kMiB), size_,
          [&] { fresh = Fresh(size_); },
          [&] { ReadBlocks(file.get(), fresh.get(), size_, 4 * kMiB, threads); });
    }
  }

  void ColdReads() {
    WriteWhole(path_, data_.get(), size_);
    const Memory target = Filled(size_);
    const auto cool = [&] { Cool(path_); };
    for (const int threads : {1, 2, 4, 8, 16}) {
      for (const size_t block : {kMiB, 16 * kMiB}) {
        Measure(Name("read cold", threads, block), size_, cool, [&] {
          const File file(path_, O_RDONLY);
          ReadBlocks(file.get(), target.get(), size_, block, threads);
        });
        Measure(Name("read direct", threads, block), size_, cool, [&] {
          const File file(path_, O_RDONLY | O_DIRECT);
          ReadBlocks(file.get(), target.get(), size_, block, threads);
        });
      }
    }
  }

  void RingReads() {
    if (!RingWorks()) return;
    WriteWhole(path_, data_.get(), size_);
    const Memory target = Filled(size_);
    for (const unsigned depth : {1u, 4u, 16u, 64u}) {
      IoRing ring(depth);
      const auto read = [&](int flags) {
        const File file(path_, O_RDONLY | flags);
        RingBlocks(ring, IORING_OP_READ, file.get(), target.get(), size_, kMiB, depth);
      };
      const int shown = static_cast<int>(depth);
      WriteWhole(path_, data_.get(), size_);
      Measure(
          Name("read warm io_uring", shown, kMiB), size_, [] {}, [&] { read(0); });
      const auto cool = [&] { Cool(path_); };
      Measure(Name("read cold io_uring", shown, kMiB), size_, cool, [&] { read(0); });
      Measure(Name("read direct io_uring", shown, kMiB), size_, cool, [&] { read(O_DIRECT); });
    }
  }

  // To the page cache, without a sync.
  void CachedWrites() {
    for (const int threads : {1, 2, 4, 8}) {
      for (const size_t block : {256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB}) {
        Write(Name("write cached", threads, block), 0, false,
              [&](int file) { WriteBlocks(file, data_.get(), size_, block, threads); });
      }
    }
    for (const int threads : {1, 4}) {
      Write(Name("write cached, fallocate", threads, 4 * kMiB), 0, true,
            [&](int file) { WriteBlocks(file, data_.get(), size_, 4 * kMiB, threads); });
    }
  }

  // To the disk.
  void SyncedWrites() {
    const auto cached = [&](int threads) {
      return
          [this, threads](int file) { WriteBlocks(file, data_.get(), size_, 4 * kMiB, threads); };
    };
    for (const bool allocate : {false, true}) {
      const std::string also = allocate ? ", fallocate" : "";
      Write(Concat("write, fsync", also), 0, allocate, cached(1), fsync);
      Write(Concat("write, fdatasync", also), 0, allocate, cached(1), fdatasync);
      Write(Concat("write on 4 threads, fsync", also), 0, allocate, cached(4), fsync);
      Write(
          Concat("write, start write-back every 8 MiB, fsync", also), 0, allocate,
          [this](int file) { WriteStartingWriteBack(file); }, fsync);
      for (const int threads : {1, 4, 16}) {
        Write(
            Name(Concat("write direct, fsync", also), threads, 4 * kMiB), O_DIRECT, allocate,
            [&](int file) { WriteBlocks(file, data_.get(), size_, 4 * kMiB, threads); }, fsync);
      }
    }
    if (!RingWorks()) return;
    for (const unsigned depth : {4u, 16u, 64u}) {
      IoRing ring(depth);
      Write(
          Name("write direct io_uring, fsync", static_cast<int>(depth), kMiB), O_DIRECT, false,
          [&](int file) {
            RingBlocks(ring, IORING_OP_WRITE, file, data_.get(), size_, kMiB, depth);
          },
          fsync);
    }
  }

  // What FileStore makes of it: parts of several sizes, by one thread and by as many as it likes.
  void Store() {
    for (const size_t size : {kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB, 64 * kMiB, size_}) {
      for (const int threads : {1, 0}) StoreReads(size, threads);
    }
    const std::span<const std::byte> value(data_.get(), size_);
    for (const auto durability : {store::Durability::kDisk, store::Durability::kKernel}) {
      const auto store = store::OpenFileStore(folder_.string(), {.durability = durability});
      const bool disk = durability == store::Durability::kDisk;
      Measure(
          disk ? "FileStore write to disk" : "FileStore write to the kernel", size_,
          [&] {
            TESSERA_CHECK((*store)->Delete("large").ok());
            sync();
          },
          [&] { TESSERA_CHECK((*store)->Write("large", value).ok()); });
    }
  }

 private:
  void StoreReads(size_t size, int threads) {
    WriteWhole(path_, data_.get(), size);
    const Memory target = Filled(size);
    const auto store =
        store::OpenFileStore(folder_.string(), {.parallelism = threads, .parallel_threshold = 0});
    const std::string shown = threads == 1 ? ", 1 thread, " : ", default threads, ";
    const size_t times = std::max<size_t>(1, 64 * kMiB / size);
    Measure(
        Concat("FileStore ReadAll", shown, size / kKiB, " KiB"), times * size, [] {},
        [&] {
          for (size_t i = 0; i < times; ++i) {
            TESSERA_CHECK((*store)->ReadAll("large", {target.get(), size}).ok());
          }
        });
    Measure(
        Concat("FileStore Read", shown, size / kKiB, " KiB"), times * size, [] {},
        [&] {
          for (size_t i = 0; i < times; ++i) TESSERA_CHECK((*store)->Read("large").ok());
        });
  }

  static std::string Name(const std::string& what, int width, size_t block) {
    return Concat(what, ", ", width, " at once, blocks of ", block / kKiB, " KiB");
  }

  bool RingWorks() {
    if (IoRing(1).valid()) return true;
    std::printf("{\"case\": \"io_uring is not offered here\"}\n");
    return false;
  }

  // A new file each round, as a store's write makes one; removing the last one is not timed.
  void Write(const std::string& name, int flags, bool allocate,
             const std::function<void(int)>& write, int (*finish)(int) = nullptr) {
    Measure(
        name, size_,
        [&] {
          fs::remove(path_);
          sync();
        },
        [&] {
          const File file(path_, O_WRONLY | O_CREAT | O_EXCL | flags);
          if (allocate) {
            Require(fallocate(file.get(), 0, 0, static_cast<off_t>(size_)) == 0, "fallocate");
          }
          write(file.get());
          if (finish != nullptr) Require(finish(file.get()) == 0, "sync");
        });
  }

  void WriteStartingWriteBack(int file) {
    const size_t block = 8 * kMiB;
    for (size_t i = 0; i < size_; i += block) {
      const size_t length = std::min(block, size_ - i);
      Require(pwrite(file, data_.get() + i, length, static_cast<off_t>(i)) > 0, "pwrite");
      sync_file_range(file, static_cast<off_t>(i), static_cast<off_t>(length),
                      SYNC_FILE_RANGE_WRITE);
    }
  }

  const fs::path folder_;
  const fs::path path_;
  const size_t size_;
  const Memory data_;
};

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_file_io FOLDER [MIB] [GROUP ...]\n");
    return 2;
  }
  const size_t size = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024) * kMiB;
  Require(size > 0, "MIB");
  const std::vector<std::string> wanted(argv + std::min(argc, 3), argv + argc);
  const std::vector<std::pair<std::string, void (Bench::*)()>> groups = {
      {"copy", &Bench::Copy},           {"warm", &Bench::WarmReads},
      {"cold", &Bench::ColdReads},      {"ring", &Bench::RingReads},
      {"cached", &Bench::CachedWrites}, {"synced", &Bench::SyncedWrites},
      {"store", &Bench::Store},
  };
  Bench bench(fs::path(argv[1]) / "bench_file_io", size);
  for (const auto& [name, run] : groups) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) {
      (bench.*run)();
    }
  }
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) { return tessera::bench::Main(argc, argv); }
