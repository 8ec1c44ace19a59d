// Sets of array paths, and which keys lie below them.
#ifndef TESSERA_COMMIT_PATHS_H_
#define TESSERA_COMMIT_PATHS_H_

#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

class PathSet {
 public:
  PathSet() = default;
  explicit PathSet(const std::vector<std::string>& paths) : paths_(paths.begin(), paths.end()) {}

  void Add(std::string path) { paths_.insert(std::move(path)); }
  bool empty() const { return paths_.empty(); }
  const std::set<std::string, std::less<>>& paths() const { return paths_; }

  // The path that `key` is or lies below.
  std::optional<std::string> Over(std::string_view key) const;
  // The path that `path` is, lies below or lies above of.
  std::optional<std::string> Meeting(std::string_view path) const;

 private:
  std::set<std::string, std::less<>> paths_;
};

// InvalidArgument, quoting it, for what cannot be the path of an array that tessera saves: what is
// no key or not UTF-8, and what lies where the checkpoint's own files do.
absl::Status ValidatePath(std::string_view path);

// The keys below any of the paths, in byte order.
absl::StatusOr<std::vector<std::string>> KeysBelow(store::KvStore& store, const PathSet& paths,
                                                   const std::stop_token& stop);

// A value at the path, or at what a folder is needed for on the way to it, on stores that keep
// folders; nullopt: there is none.  Those `except` covers do not count.
absl::StatusOr<std::optional<std::string>> ValueInTheWay(store::KvStore& store,
                                                         const PathSet& paths,
                                                         const PathSet& except,
                                                         const std::stop_token& stop);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_PATHS_H_
