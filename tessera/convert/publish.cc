#include "tessera/convert/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/index_file.h"
#include "tessera/store/file_rename.h"
#include "tessera/store/file_store.h"

namespace tessera::convert {
namespace {

absl::Status SyncParent(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const int folder = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return Unavailable(parent, ": cannot open: ", std::strerror(errno));
  const int result = fsync(folder);
  const int error = errno;
  close(folder);
  // Some file systems cannot sync a folder, which then needs none.
  if (result == 0 || store::IsUnsupported(error)) return absl::OkStatus();
  return Unavailable(parent, ": cannot sync: ", std::strerror(error));
}

absl::Status AlreadyThere(const std::string& path) {
  return absl::AlreadyExistsError(Concat(path, ": it is there already"));
}

// Onto a path where nothing is.
absl::Status MoveToFree(const std::string& from, const std::string& to) {
  const int error = store::Rename(from, to, store::RenameMode::kNoReplace);
  if (error == 0) return absl::OkStatus();
  if (error == EEXIST) return AlreadyThere(to);
  if (!store::IsUnsupported(error)) {
    return Unavailable(to, ": cannot rename ", from, " to it: ", std::strerror(error));
  }
  // A plain rename would replace a file, but no folder that has something in it.
  if (IsThere(to)) return AlreadyThere(to);
  if (rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) return AlreadyThere(to);
  return Unavailable(to, ": cannot rename ", from, " to it: ", std::strerror(errno));
}

absl::Status Exchange(const std::string& from, const std::string& to) {
  const int error = store::Rename(from, to, store::RenameMode::kExchange);
  if (error == 0) return absl::OkStatus();
  if (error == ENOENT && !IsThere(to)) return MoveToFree(from, to);
  if (store::IsUnsupported(error)) {
    return FailedPrecondition(to,
                              ": this file system cannot exchange two paths in one step, so it ",
                              "is left as it was; move it away, or convert to another path");
  }
  return Unavailable(to, ": cannot exchange it with ", from, ": ", std::strerror(error));
}

}  // namespace

std::string DestinationPath::path() const {
  return (std::filesystem::path(parent) / name).string();
}

std::string DestinationPath::staging() const {
  return (std::filesystem::path(parent) / Concat(".", name, ".tessera-convert")).string();
}

bool IsThere(const std::string& path) {
  struct stat about = {};
  return lstat(path.c_str(), &about) == 0;
}

absl::StatusOr<DestinationPath> ResolveDestination(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  const std::filesystem::path whole(trimmed);
  const std::string name = whole.filename().string();
  if (name.empty() || name == "." || name == ".." || trimmed.find('\0') != std::string::npos) {
    return InvalidArgument("destination ", Quoted(path), ": expected a name in a folder");
  }
  std::error_code error;
  const std::filesystem::path parent = whole.has_parent_path() ? whole.parent_path() : ".";
  std::filesystem::create_directories(parent, error);
  const std::filesystem::path real = std::filesystem::canonical(parent, error);
  if (error) return InvalidArgument("destination ", Quoted(path), ": ", error.message());
  return DestinationPath{real.string(), name};
}

absl::Status Publish(const std::string& from, const std::string& to, bool overwrite) {
  TESSERA_RETURN_IF_ERROR(overwrite && IsThere(to) ? Exchange(from, to) : MoveToFree(from, to));
  return SyncParent(to);
}

namespace {

absl::Status DeleteAllButIndex(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;) {
    if (entry->path().filename() != ledger::kIndexName) {
      std::filesystem::remove_all(entry->path(), error);
    }
    if (!error) entry.increment(error);  // the loop over a range would throw
  }
  if (!error) return absl::OkStatus();
  return Unavailable(folder, ": cannot delete: ", error.message());
}

}  // namespace

absl::Status BuryOld(const std::string& folder, std::stop_token stop) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return absl::OkStatus();
  constexpr std::string_view kText = "this checkpoint was replaced and is being deleted\n";
  TESSERA_ASSIGN_OR_RETURN(const auto store,
                           store::OpenFileStore(folder, {.durability = store::Durability::kKernel,
                                                         .create_root = false}));
  TESSERA_RETURN_IF_ERROR(
      store->Write(ledger::kIndexName, std::as_bytes(std::span(kText)), {}, std::move(stop))
          .status());
  return DeleteAllButIndex(folder);
}

}  // namespace tessera::convert
