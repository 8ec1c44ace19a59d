#include "tessera/commit/files.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "tessera/commit/view.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::commit {
namespace {

using store::KvStore;
using Keys = std::set<std::string, std::less<>>;

absl::Status CheckWay(KvStore& store, const std::vector<std::string>& paths, const Keys& replaced,
                      const std::stop_token& stop) {
  std::vector<store::ReadRequest> requests;
  for (const std::string& path : paths) {
    requests.push_back({path, {.offset = 0, .length = 0}});
    TESSERA_ASSIGN_OR_RETURN(const auto inside, store.List(Concat(path, "/"), stop));
    if (inside.empty()) continue;
    return absl::AlreadyExistsError(
        Concat(store.Describe(path), ": a folder is where a file of the save is to be"));
  }
  TESSERA_ASSIGN_OR_RETURN(const auto found, store.ReadMany(requests, stop));
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!found[i].value.has_value() || replaced.contains(paths[i])) continue;
    return absl::AlreadyExistsError(
        Concat(store.Describe(paths[i]), ": is where a file of the save is to be, and not part of ",
               "what the save replaces"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (path.find('/') == std::string::npos) continue;
    return InvalidArgument("path ", Quoted(path), ": a file of a set lies in the folder itself");
  }
  return absl::OkStatus();
}

absl::Status ValidateBrought(const CommitRequest& request, const std::vector<std::string>& paths) {
  Keys missing(paths.begin(), paths.end());
  std::vector<std::string_view> brought(request.data_keys.begin(), request.data_keys.end());
  for (const SideFile& file : request.last_files) brought.push_back(file.name);
  for (const std::string_view key : brought) {
    const auto found = missing.find(key);
    if (found == missing.end()) {
      return InvalidArgument("file ", Quoted(key), " is none of the save's, or brought twice");
    }
    missing.erase(found);
  }
  if (!missing.empty()) {
    return InvalidArgument("file ", Quoted(*missing.begin()), " of the save is not brought");
  }
  if (!request.index.has_value()) return absl::OkStatus();
  return InvalidArgument("a save of files changes no index of arrays");
}

absl::StatusOr<std::vector<std::string>> FindReplacedFiles(KvStore& store,
                                                           const std::vector<std::string>& paths,
                                                           const FindReplaced& find,
                                                           const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const View view, OpenView(store, stop));
  TESSERA_ASSIGN_OR_RETURN(std::vector<std::string> keys, find(*view.store, stop));
  for (const std::string& key : keys) TESSERA_RETURN_IF_ERROR(ValidateObsoleteKey(key));
  TESSERA_RETURN_IF_ERROR(CheckWay(*view.store, paths, Keys(keys.begin(), keys.end()), stop));
  return keys;
}

absl::Status FindObsoleteFiles(KvStore& store, const FindReplaced& find,
                               const std::stop_token& stop, CommittedSave& save) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> replaced,
                           FindReplacedFiles(store, save.paths, find, stop));
  Keys brought(save.paths.begin(), save.paths.end());
  brought.insert(save.side_files.begin(), save.side_files.end());
  std::copy_if(replaced.begin(), replaced.end(), std::back_inserter(save.obsolete_keys),
               [&](const std::string& key) { return !brought.contains(key); });
  return absl::OkStatus();
}

}  // namespace tessera::commit
