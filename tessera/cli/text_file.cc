#include "tessera/cli/text_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

constexpr size_t kLongest = size_t{16} << 20;

absl::Status Unwritable(const std::string& path) {
  return InvalidArgument(path, ": cannot be written: ", std::strerror(errno));
}

// To `at`, on the way to `path`.
absl::Status WriteTo(const std::string& at, const std::string& path, std::string_view text) {
  std::ofstream file(at, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return file ? absl::OkStatus() : Unwritable(path);
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return NotFound(path, ": there is no such file");
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument(path, ": expected a file, found a folder");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument(path, ": cannot be read: ", std::strerror(errno));
  std::string text;
  char block[1 << 14];
  while (file.read(block, sizeof(block)) || file.gcount() > 0) {
    text.append(block, static_cast<size_t>(file.gcount()));
    if (text.size() > kLongest) {
      return InvalidArgument(path, ": longer than ", kLongest, " bytes; is it the right file?");
    }
  }
  return text;
}

absl::Status WriteTextFile(const std::string& path, std::string_view text) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    if (!std::filesystem::is_directory(status)) return WriteTo(path, path, text);
    return InvalidArgument(path, ": expected a file to write, found a folder");
  }
  const std::string temporary = Concat(path, ".", getpid(), ".tmp");
  absl::Status written = WriteTo(temporary, path, text);
  if (written.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) written = Unwritable(path);
  if (!written.ok()) std::filesystem::remove(temporary, error);
  return written;
}

}  // namespace tessera::cli
