#include "tessera/checkpoint/open_location.h"

#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/index_file.h"
#include "tessera/store/file_store.h"
#include "tessera/store/wrappers.h"

namespace tessera::checkpoint {

namespace fs = std::filesystem;

namespace {

// What stands before "://", where that is a scheme.
std::optional<std::string_view> SchemeOf(std::string_view location) {
  const size_t end = location.find("://");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  for (const char c : location.substr(0, end)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.') {
      return std::nullopt;
    }
  }
  return location.substr(0, end);
}

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

absl::StatusOr<std::string> PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? HexDigit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? HexDigit(text[i + 2]) : std::nullopt;
    if (!high.has_value() || !low.has_value()) {
      return InvalidArgument("URL path ", Quoted(text), ": no two hexadecimal digits after '%'");
    }
    decoded += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return decoded;
}

absl::StatusOr<std::string> PathOfFileUrl(std::string_view url) {
  std::string_view rest = url.substr(url.find("://") + 3);
  const size_t slash = rest.find('/');
  const std::string_view host = rest.substr(0, slash);
  if (slash == std::string_view::npos || (!host.empty() && host != "localhost")) {
    return InvalidArgument("URL ", Quoted(url), ": expected file:///PATH, found the host ",
                           Quoted(host));
  }
  return PercentDecoded(rest.substr(slash));
}

absl::StatusOr<std::string> PathOf(std::string_view location) {
  const auto scheme = SchemeOf(location);
  if (!scheme.has_value()) return std::string(location);
  if (*scheme == "file") return PathOfFileUrl(location);
  return Unimplemented(Quoted(location), ": stores of scheme ", *scheme, ":// are not built in");
}

}  // namespace

absl::StatusOr<std::string> FolderOf(std::string_view location) {
  TESSERA_ASSIGN_OR_RETURN(std::string path, PathOf(location));
  if (path.empty() || path.find('\0') != std::string::npos) {
    return InvalidArgument("location ", Quoted(location), ": expected the path of a folder");
  }
  const size_t slash = path.rfind('/');
  const std::string_view name =
      std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
  if (name != ledger::kIndexName) return path;
  if (slash == std::string::npos) return std::string(".");
  path.resize(slash == 0 ? 1 : slash);
  return path;
}

namespace {

// A folder as part of a larger one, whose links may lead about in all of it.
struct PartOfFolder {
  std::unique_ptr<store::KvStore> whole;
  std::unique_ptr<store::KvStore> part;
};

// The model's part of the cache, when `folder` is, or lies in, one of its snapshots.
std::optional<fs::path> CacheAround(const fs::path& folder) {
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    const fs::path model = at.parent_path().parent_path();
    std::error_code error;
    if (at.parent_path().filename() == "snapshots" && fs::is_directory(model / "blobs", error)) {
      return model;
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::shared_ptr<store::KvStore>> OpenFolder(const std::string& folder) {
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error).lexically_normal();
  const fs::path path = absolute.has_filename() ? absolute : absolute.parent_path();
  const auto model = error ? std::nullopt : CacheAround(path);
  if (!model.has_value() || !fs::is_directory(path, error)) {
    return store::OpenFileStore(folder, {.create_root = false});
  }
  const auto both = std::make_shared<PartOfFolder>();
  TESSERA_ASSIGN_OR_RETURN(both->whole, store::OpenFileStore(*model, {.create_root = false}));
  TESSERA_ASSIGN_OR_RETURN(
      both->part, store::MakePrefixStore(*both->whole, path.lexically_relative(*model).string()));
  return std::shared_ptr<store::KvStore>(both, both->part.get());
}

}  // namespace

absl::StatusOr<Location> OpenLocation(std::string_view location) {
  TESSERA_ASSIGN_OR_RETURN(std::string folder, FolderOf(location));
  Location opened;
  std::error_code error;
  if (fs::is_regular_file(folder, error)) {
    const fs::path path(folder);
    opened.file = path.filename();
    folder = path.has_parent_path() ? path.parent_path().string() : ".";
  }
  TESSERA_ASSIGN_OR_RETURN(opened.store, OpenFolder(folder));
  return opened;
}

}  // namespace tessera::checkpoint
