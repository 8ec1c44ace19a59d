#include "tessera/checkpoint/save_tree.h"

#include <cctype>
#include <optional>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/store/file_store.h"

namespace tessera::checkpoint {
namespace {

// The part before "://", when `text` is a URL.
std::optional<std::string_view> SchemeOf(std::string_view text) {
  const size_t end = text.find("://");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  const std::string_view scheme = text.substr(0, end);
  for (const char c : scheme) {
    const bool fits =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
    if (!fits) return std::nullopt;
  }
  return scheme;
}

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// "%20" and the like become what they stand for.
absl::StatusOr<std::string> Unescaped(std::string_view url, std::string_view path) {
  std::string text;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      text += path[i];
      continue;
    }
    const auto high = i + 1 < path.size() ? HexDigit(path[i + 1]) : std::nullopt;
    const auto low = i + 2 < path.size() ? HexDigit(path[i + 2]) : std::nullopt;
    if (!high.has_value() || !low.has_value()) {
      return InvalidArgument(Quoted(url), ": a % without two hexadecimal digits behind it");
    }
    text += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return text;
}

absl::StatusOr<std::string> LocalPath(std::string_view directory) {
  const auto scheme = SchemeOf(directory);
  if (!scheme.has_value()) return std::string(directory);
  if (*scheme != "file") {
    return Unimplemented(Quoted(directory), ": stores of scheme ", *scheme,
                         ":// are not built in; a path or a file:// URL is expected");
  }
  std::string_view rest = directory.substr(scheme->size() + 3);
  constexpr std::string_view kThisHost = "localhost/";
  if (rest.substr(0, kThisHost.size()) == kThisHost) rest.remove_prefix(kThisHost.size() - 1);
  if (rest.empty() || rest.front() != '/') {
    return InvalidArgument(Quoted(directory),
                           ": a file:// URL names no other host, and an "
                           "absolute path");
  }
  return Unescaped(directory, rest);
}

}  // namespace

absl::StatusOr<std::shared_ptr<store::KvStore>> OpenForSave(std::string_view directory) {
  TESSERA_ASSIGN_OR_RETURN(const std::string path, LocalPath(directory));
  if (path.empty()) return InvalidArgument("no directory is named to save to");
  TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<store::KvStore> store,
                           store::OpenFileStore(path, {.durability = store::Durability::kKernel}));
  return std::shared_ptr<store::KvStore>(std::move(store));
}

absl::StatusOr<Future<SaveReport>> TreeSerializeLeaves(std::string_view directory,
                                                       const array::ValueTree& tree, Saver* saver,
                                                       const SaveOptions& options,
                                                       const SaverResources& resources) {
  absl::StatusOr<std::shared_ptr<store::KvStore>> store = OpenForSave(directory);
  if (saver != nullptr) return saver->Start(std::move(store), tree, options);
  Saver own(resources);
  TESSERA_ASSIGN_OR_RETURN(Future<SaveReport> future, own.Start(std::move(store), tree, options));
  TESSERA_RETURN_IF_ERROR(own.WaitUntilFinished());
  return future;
}

absl::StatusOr<Future<SaveReport>> Save::Start(Saver& saver) const {
  if (const auto* store = std::get_if<std::shared_ptr<store::KvStore>>(&target_)) {
    return saver.Start(*store, tree_, options_);
  }
  if (const auto* directory = std::get_if<std::string>(&target_)) {
    return TreeSerializeLeaves(*directory, tree_, &saver, options_);
  }
  return InvalidArgument("a save needs To(), a directory or a store");
}

absl::StatusOr<SaveReport> Save::Run(const SaverResources& resources) const {
  Saver saver(resources);
  TESSERA_ASSIGN_OR_RETURN(const Future<SaveReport> future, Start(saver));
  TESSERA_RETURN_IF_ERROR(saver.WaitUntilFinished());
  return future.Wait();
}

}  // namespace tessera::checkpoint
