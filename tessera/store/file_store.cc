#include "tessera/store/file_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "tessera/core/reserve_large.h"
#include "tessera/core/status.h"
#include "tessera/core/thread_pool.h"
#include "tessera/store/concurrent.h"
#include "tessera/store/directory_entries.h"
#include "tessera/store/empty_folders.h"
#include "tessera/store/file_handle.h"
#include "tessera/store/file_move.h"
#include "tessera/store/file_parts.h"
#include "tessera/store/file_reader.h"
#include "tessera/store/file_replace.h"
#include "tessera/store/key.h"
#include "tessera/store/tree_scan.h"

namespace tessera::store {
namespace {

// More threads than this still make reads from the page cache faster, but slow down cold ones.
constexpr int kMostByDefault = 8;

// How often a write makes its folder anew when others remove it as empty.
constexpr int kMostAttempts = 100;

constexpr size_t kCopyBlock = size_t{1} << 20;

// Behind the mark of temporary files: one that is written under the lock of its directory.
constexpr std::string_view kLockedMark = "locked-";

class FileStore final : public KvStore {
 public:
  FileStore(std::string root, FileHandle handle, dev_t device, const FileStoreOptions& options)
      : root_(std::move(root)),
        handle_(std::move(handle)),
        syncing_(options.durability == Durability::kDisk, device),
        reader_(options.parallelism, options.parallel_threshold, options.requests_at_once) {}

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    struct stat info;
    TESSERA_ASSIGN_OR_RETURN(const FileHandle file, OpenValue(key, info));
    if (!file.valid()) return ReadResult{};
    const auto part = Resolve(range, SizeOf(info));
    if (!part.ok()) return Prefixed(part.status(), Describe(key));
    // Not a vector, which would fill fresh pages with zeros on one thread before they are read to.
    const std::shared_ptr<std::byte[]> data(new (std::nothrow) std::byte[part->length]);
    if (data == nullptr) return ResourceExhausted(Describe(key), ": no memory for ", part->length);
    AdviseHugePages(data.get(), part->length);
    const std::span<std::byte> bytes(data.get(), part->length);
    TESSERA_RETURN_IF_ERROR(
        reader_.Read(file, part->offset, bytes, Describe(key), std::move(stop)));
    return ReadResult{Bytes::Borrow(bytes, data), GenerationOf(info), SizeOf(info)};
  }

  absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                     std::span<std::byte> target, std::stop_token stop) override {
    return Fill(key, {offset, target.size()}, target, std::move(stop));
  }

  absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                    std::stop_token stop) override {
    return Fill(key, ByteRange::AtMost(target.size()), target, std::move(stop));
  }

  absl::StatusOr<ValueInfo> ReadPieces(std::string_view key, const ByteRange& range,
                                       std::span<std::byte> room, Sink sink,
                                       std::stop_token stop) override {
    struct stat info;
    TESSERA_ASSIGN_OR_RETURN(const FileHandle file, OpenValue(key, info));
    if (!file.valid()) return ValueInfo{};
    const auto part = Resolve(range, SizeOf(info));
    if (!part.ok()) return Prefixed(part.status(), Describe(key));
    for (uint64_t done = 0; done < part->length;) {
      if (stop.stop_requested()) return Cancelled(Describe(key), ": stopped while reading");
      const auto piece = room.first(std::min<uint64_t>(room.size(), part->length - done));
      TESSERA_RETURN_IF_ERROR(ReadFully(file, part->offset + done, piece, Describe(key)));
      TESSERA_RETURN_IF_ERROR(sink(piece));
      done += piece.size();
    }
    return ValueInfo{GenerationOf(info), SizeOf(info)};
  }

  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    if (requests.size() <= 1) return ReadOneByOne(*this, requests, std::move(stop));
    return ReadManyOn(reader_.pool(), reader_.requests(), *this, requests, std::move(stop));
  }

  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                   const std::optional<Generation>& if_generation,
                                   std::stop_token stop) override {
    TESSERA_ASSIGN_OR_RETURN(ValueInfo written, WritePieces(
                                                    key, [&](Sink sink) { return sink(value); },
                                                    if_generation, std::move(stop)));
    return std::move(written.generation);
  }

  absl::StatusOr<ValueInfo> WritePieces(std::string_view key, Producer producer,
                                        const std::optional<Generation>& if_generation,
                                        std::stop_token) override {
    return Replace(key, if_generation, [&](const FileHandle& file) {
      const WriteBack write_back = syncing_.to_disk() ? WriteBack::kAtOnce : WriteBack::kLater;
      FileAppender appender(file, write_back, Describe(key));
      return producer([&](std::span<const std::byte> piece) { return appender.Append(piece); });
    });
  }

  absl::Status Delete(std::string_view key, const std::optional<Generation>& if_generation,
                      std::stop_token) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    const auto [folder, name] = SplitKey(key);
    TESSERA_ASSIGN_OR_RETURN(const FileHandle directory,
                             OpenBeneath(handle_, folder.empty() ? "." : std::string(folder),
                                         O_DIRECTORY | O_RDONLY, Describe(key)));
    if (!directory.valid()) return CheckGeneration(key, if_generation);
    if (if_generation.has_value()) TESSERA_RETURN_IF_ERROR(Lock(directory, key));
    TESSERA_RETURN_IF_ERROR(CheckGeneration(key, if_generation));
    if (unlinkat(directory.get(), std::string(name).c_str(), 0) != 0) {
      // A folder is no value, so that there is none to delete.
      if (errno == ENOENT || errno == EISDIR) return absl::OkStatus();
      return ErrnoStatus(errno, "delete", Describe(key));
    }
    TESSERA_RETURN_IF_ERROR(syncing_.SyncDirectory(directory, Describe(key)));
    return RemoveEmptyFolders(handle_, root_, {std::string(folder)});
  }

  // Also what writes that did not end have left there: files under temporary names, and folders.
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidatePrefix(prefix));
    TESSERA_ASSIGN_OR_RETURN(ScannedTree tree, Scan(prefix, stop));
    std::map<std::string, std::vector<std::string>, std::less<>> names;  // by folder
    for (const ListEntry& entry : tree.files) {
      const auto [folder, name] = SplitKey(entry.key);
      if (entry.key.starts_with(prefix)) names[std::string(folder)].emplace_back(name);
    }
    for (const auto& [folder, files] : names) {
      if (stop.stop_requested()) return Cancelled(Describe(prefix), ": stopped while deleting");
      TESSERA_RETURN_IF_ERROR(DeleteFiles(folder, files));
    }
    std::erase_if(tree.folders, [&](const std::string& folder) {
      return !names.contains(folder) && !Concat(folder, "/").starts_with(prefix);
    });
    return RemoveEmptyFolders(handle_, root_, std::move(tree.folders));
  }

  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateMove(from, to));
    const std::string source(from.substr(0, from.empty() ? 0 : from.size() - 1));
    const std::string target(to.substr(0, to.empty() ? 0 : to.size() - 1));
    TESSERA_ASSIGN_OR_RETURN(const FileHandle there,
                             OpenBeneath(handle_, source.empty() ? "." : source,
                                         O_DIRECTORY | O_RDONLY, Describe(source)));
    if (!there.valid()) return absl::OkStatus();
    TESSERA_RETURN_IF_ERROR(MakeDirectories(handle_, target, syncing_.to_disk(), Describe(target)));
    const auto changed = [&](const FileHandle& folder) {
      return syncing_.SyncDirectory(folder, Describe(target));
    };
    const auto copy = [&](const std::string& file, const std::string& place) {
      return CopyFile(file, place);
    };
    FileMove move(handle_, root_, changed, copy);
    TESSERA_RETURN_IF_ERROR(move.Run(source, target, stop));
    return RemoveEmptyFolders(handle_, root_, {source});
  }

  bool moves() const override { return true; }

  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                              std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidatePrefix(prefix));
    TESSERA_ASSIGN_OR_RETURN(ScannedTree tree, Scan(prefix, std::move(stop)));
    std::vector<ListEntry> entries = std::move(tree.files);
    std::erase_if(entries, [&](const ListEntry& entry) {
      return !entry.key.starts_with(prefix) || entry.key.find(kTemporaryMark) != std::string::npos;
    });
    std::sort(entries.begin(), entries.end(),
              [](const ListEntry& a, const ListEntry& b) { return a.key < b.key; });
    return entries;
  }

  // One error is told once, to the first who asks after it: Unavailable would invite a retry that
  // then succeeds.
  absl::Status Flush(std::stop_token) override {
    if (syncing_.to_disk() || syncfs(handle_.get()) == 0) return absl::OkStatus();
    return DataLoss(std::string(ErrnoStatus(errno, "sync the file system", root_).message()));
  }

  absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token) override {
    return Replace(key, std::nullopt,
                   [&](const FileHandle& file) { return SetFileSize(file, size, Describe(key)); })
        .status();
  }

  absl::Status WriteAt(std::string_view key, uint64_t offset, std::span<const std::byte> data,
                       std::stop_token) override {
    struct stat info;
    TESSERA_ASSIGN_OR_RETURN(const FileHandle file, OpenValue(key, info, O_WRONLY));
    if (!file.valid()) return NotFound(Describe(key), ": no value to write into");
    const auto part = Resolve({offset, data.size()}, SizeOf(info));
    if (!part.ok()) return Prefixed(part.status(), Describe(key));
    TESSERA_RETURN_IF_ERROR(WriteFullyAt(file, offset, data, Describe(key)));
    return syncing_.SyncData(file, info, Describe(key));
  }

  bool writes_parts() const override { return true; }

  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token) override {
    struct stat info;
    TESSERA_ASSIGN_OR_RETURN(const FileHandle file, OpenValue(key, info));
    if (!file.valid()) return NotFound(Describe(key), ": no value to look at");
    return MapFile(file, SizeOf(info), Describe(key));
  }

  bool streams() const override { return true; }

  std::string Describe(std::string_view key) const override { return Concat(root_, "/", key); }

 private:
  // The file of a value and what is known of it; invalid when the key has none.
  absl::StatusOr<FileHandle> OpenValue(std::string_view key, struct stat& info,
                                       int access = O_RDONLY) {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    // Not to block on a pipe that somebody put there.
    TESSERA_ASSIGN_OR_RETURN(FileHandle file, OpenBeneath(handle_, std::string(key),
                                                          access | O_NONBLOCK, Describe(key)));
    if (!file.valid()) return file;
    if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "look at", Describe(key));
    if (S_ISREG(info.st_mode)) return file;
    if (S_ISDIR(info.st_mode)) return FileHandle();
    return InvalidArgument(Describe(key), ": not a regular file");
  }

  // All that lies in the folder of a prefix.
  absl::StatusOr<ScannedTree> Scan(std::string_view prefix, std::stop_token stop) {
    const auto pool = [this]() -> ThreadPool& { return reader_.pool(); };
    return ScanTree({handle_, root_, pool, reader_.parallelism()},
                    std::string(SplitKey(prefix).first), std::move(stop));
  }

  // Reads the range to the front of `target`, which is at least as long.
  absl::StatusOr<ValueInfo> Fill(std::string_view key, const ByteRange& range,
                                 std::span<std::byte> target, std::stop_token stop) {
    struct stat info;
    TESSERA_ASSIGN_OR_RETURN(const FileHandle file, OpenValue(key, info));
    if (!file.valid()) return ValueInfo{};
    const auto part = Resolve(range, SizeOf(info));
    if (!part.ok()) return Prefixed(part.status(), Describe(key));
    TESSERA_RETURN_IF_ERROR(reader_.Read(file, part->offset, target.first(part->length),
                                         Describe(key), std::move(stop)));
    return ValueInfo{GenerationOf(info), SizeOf(info)};
  }

  absl::Status CheckGeneration(std::string_view key, const std::optional<Generation>& expected) {
    if (!expected.has_value()) return absl::OkStatus();
    struct stat info;
    TESSERA_ASSIGN_OR_RETURN(const FileHandle file, OpenValue(key, info));
    const Generation current = file.valid() ? GenerationOf(info) : Generation::Missing();
    if (current == *expected) return absl::OkStatus();
    return Aborted(Describe(key), ": the value is of another generation than expected");
  }

  // Held until the directory is closed.
  absl::Status Lock(const FileHandle& directory, std::string_view key) {
    while (flock(directory.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return ErrnoStatus(errno, "lock the directory of", Describe(key));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ValueInfo> Replace(std::string_view key,
                                    const std::optional<Generation>& if_generation, FillFile fill) {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    for (int attempt = 1;; ++attempt) {
      bool begun = false;
      const auto noting = [&](const FileHandle& file) {
        begun = true;
        return fill(file);
      };
      auto written = TryReplace(key, if_generation, noting);
      // Somebody may have removed the folder, which was empty, between its making and its use.
      const bool again = absl::IsNotFound(written.status()) && !begun && attempt < kMostAttempts;
      if (!again) return written;
    }
  }

  absl::StatusOr<ValueInfo> TryReplace(std::string_view key,
                                       const std::optional<Generation>& if_generation,
                                       FillFile fill) {
    const auto [folder, name] = SplitKey(key);
    TESSERA_ASSIGN_OR_RETURN(
        const MadeDirectory directory,
        MakeDirectories(handle_, std::string(folder), syncing_.to_disk(), Describe(key)));
    const auto replace = [&](std::string_view start) {
      return ReplaceFile(directory.handle, std::string(start), std::string(name), fill, syncing_,
                         Describe(key));
    };
    // Within what file systems take as a name.
    if (!if_generation.has_value()) return replace(Concat(name.substr(0, 180), kTemporaryMark));
    TESSERA_RETURN_IF_ERROR(Lock(directory.handle, key));
    TESSERA_RETURN_IF_ERROR(CheckGeneration(key, if_generation));
    if (!directory.made) TESSERA_RETURN_IF_ERROR(DeleteLockedLeftovers(directory.handle, key));
    return replace(Concat(kTemporaryMark, kLockedMark));
  }

  // Only who holds the lock of a directory writes files of such names, so that those that are there
  // are of processes that were killed.
  absl::Status DeleteLockedLeftovers(const FileHandle& directory, std::string_view key) {
    const std::string start = Concat(kTemporaryMark, kLockedMark);
    return ForEachEntry(directory, Describe(key), [&](const char* name, unsigned char) {
      if (std::string_view(name).starts_with(start)) unlinkat(directory.get(), name, 0);
      return absl::OkStatus();
    });
  }

  // One sync for all of them.
  absl::Status DeleteFiles(const std::string& folder, const std::vector<std::string>& names) {
    TESSERA_ASSIGN_OR_RETURN(const FileHandle directory,
                             OpenBeneath(handle_, folder.empty() ? "." : folder,
                                         O_DIRECTORY | O_RDONLY, Describe(folder)));
    if (!directory.valid()) return absl::OkStatus();
    for (const std::string& name : names) {
      if (unlinkat(directory.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
        return ErrnoStatus(errno, "delete", Describe(Concat(folder, "/", name)));
      }
    }
    return syncing_.SyncDirectory(directory, Describe(folder));
  }

  absl::Status CopyFile(const std::string& from, const std::string& to) {
    std::vector<std::byte> room(kCopyBlock);
    const auto producer = [&](Sink sink) { return ReadPieces(from, {}, room, sink, {}).status(); };
    return WritePieces(to, producer, std::nullopt, {}).status();
  }

  const std::string root_;
  const FileHandle handle_;
  const Syncing syncing_;
  FileReader reader_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KvStore>> OpenFileStore(const std::string& root,
                                                       const FileStoreOptions& options) {
  if (root.empty() || root.find('\0') != std::string::npos) {
    return InvalidArgument("a file store needs the path of a directory");
  }
  if (options.parallelism < 0 || options.requests_at_once < 1) {
    return InvalidArgument(root, ": ", options.parallelism, " threads for a read and ",
                           options.requests_at_once, " requests at once");
  }
  bool made = false;
  if (options.create_root) {
    std::error_code error;
    made = std::filesystem::create_directories(root, error);
    if (error) return ErrnoStatus(error.value(), "make directory", root);
  }
  FileHandle handle(open(root.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  if (!handle.valid()) return ErrnoStatus(errno, "open directory", root);
  // The new root's entry in its parent, and the parents', must be as durable as what goes into it.
  if (made && options.durability == Durability::kDisk && syncfs(handle.get()) != 0) {
    return ErrnoStatus(errno, "sync the file system", root);
  }
  struct stat info;
  if (fstat(handle.get(), &info) != 0) return ErrnoStatus(errno, "look at", root);
  FileStoreOptions chosen = options;
  if (chosen.parallelism == 0) chosen.parallelism = std::min(DefaultThreadCount(), kMostByDefault);
  return std::make_unique<FileStore>(root, std::move(handle), info.st_dev, chosen);
}

}  // namespace tessera::store
