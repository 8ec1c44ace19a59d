#include "tessera/probe/renames.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <thread>

#include "tessera/core/status.h"
#include "tessera/store/file_rename.h"
#include "tessera/store/file_replace.h"

namespace tessera::probe {
namespace {

using store::ErrnoStatus;
using store::FileHandle;
using store::RenameMode;

constexpr size_t kFileBytes = 8192;
constexpr char kTarget[] = "replaced";

absl::Status MakeFolder(const Scratch& scratch, const std::string& name) {
  if (mkdirat(scratch.folder().get(), name.c_str(), 0700) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "make a folder", name);
}

absl::Status Replace(const Scratch& scratch, char content) {
  std::array<char, kFileBytes> bytes;
  bytes.fill(content);
  struct stat about = {};
  if (fstat(scratch.folder().get(), &about) != 0) {
    return ErrnoStatus(errno, "look at it", "the folder");
  }
  const auto fill = [&](const FileHandle& file) {
    return store::FileAppender(file, store::WriteBack::kLater, kTarget)
        .Append(std::as_bytes(std::span(bytes)));
  };
  return store::ReplaceFile(scratch.folder(), ".new-", kTarget, fill,
                            store::Syncing(false, about.st_dev), kTarget)
      .status();
}

// What is wrong with the file now; empty: nothing.
std::string Look(const Scratch& scratch) {
  const FileHandle file(openat(scratch.folder().get(), kTarget, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::generic_category().message(errno);
  std::array<char, kFileBytes + 1> bytes;
  const ssize_t count = read(file.get(), bytes.data(), bytes.size());
  if (count < 0) return std::generic_category().message(errno);
  if (count != static_cast<ssize_t>(kFileBytes)) {
    return Concat(count, " of ", kFileBytes, " bytes");
  }
  const bool whole =
      std::all_of(bytes.begin(), bytes.begin() + count, [&](char c) { return c == bytes[0]; });
  return whole ? "" : "a mix of old and new";
}

absl::Status ReplaceUnderALook(const Scratch& scratch, const Limits& limits, Renames& renames) {
  TESSERA_RETURN_IF_ERROR(Replace(scratch, 'a'));
  // Ends before anything that it uses, also on an error.
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && renames.seen.empty()) {
      renames.seen = Look(scratch);
      ++renames.looks;
    }
  });
  do {
    TESSERA_RETURN_IF_ERROR(Replace(scratch, static_cast<char>('a' + renames.replaced % 26)));
    ++renames.replaced;
  } while (!limits.Over());
  reader.request_stop();
  reader.join();
  renames.atomic = renames.seen.empty();
  return absl::OkStatus();
}

// Onto a folder that is there it must be refused, and onto a free path it must work.
bool NoReplaceWorks(const std::string& from, const std::string& there, const std::string& free) {
  return store::Rename(from, there, RenameMode::kNoReplace) == EEXIST &&
         store::Rename(from, free, RenameMode::kNoReplace) == 0;
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool ExchangeWorks(const std::string& a, const std::string& b) {
  struct stat old_a = {};
  struct stat new_b = {};
  if (stat(a.c_str(), &old_a) != 0) return false;
  if (store::Rename(a, b, RenameMode::kExchange) != 0) return false;
  return stat(b.c_str(), &new_b) == 0 && SameFile(old_a, new_b);
}

}  // namespace

absl::StatusOr<Renames> TryRenames(const Scratch& scratch, const Limits& limits) {
  Renames renames;
  TESSERA_RETURN_IF_ERROR(ReplaceUnderALook(scratch, limits, renames));
  for (const char* name : {"first", "second", "third"}) {
    TESSERA_RETURN_IF_ERROR(MakeFolder(scratch, name));
  }
  const std::string first = scratch.Path("first");
  const std::string second = scratch.Path("second");
  renames.exchange = ExchangeWorks(first, second) && ExchangeWorks(first, scratch.Path(kTarget));
  renames.noreplace = NoReplaceWorks(scratch.Path("third"), second, scratch.Path("free"));
  return renames;
}

}  // namespace tessera::probe
