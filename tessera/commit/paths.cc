#include "tessera/commit/paths.h"

#include "tessera/commit/transaction.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/ledger/index_file.h"
#include "tessera/store/key.h"

namespace tessera::commit {

std::optional<std::string> PathSet::Over(std::string_view key) const {
  for (size_t end = 0; end != std::string_view::npos;) {
    end = key.find('/', end + 1);
    const auto found = paths_.find(key.substr(0, end));
    if (found != paths_.end()) return *found;
  }
  return std::nullopt;
}

std::optional<std::string> PathSet::Meeting(std::string_view path) const {
  if (auto over = Over(path); over.has_value()) return over;
  const std::string folder = Concat(path, "/");
  const auto below = paths_.lower_bound(folder);
  if (below != paths_.end() && below->starts_with(folder)) return *below;
  return std::nullopt;
}

absl::Status ValidatePath(std::string_view path) {
  TESSERA_RETURN_IF_ERROR(store::ValidateKey(path));
  if (!IsValidUtf8(path)) return InvalidArgument("path ", Quoted(path), " is not UTF-8");
  if (Concat(path, "/").starts_with(kOwnFolder)) {
    return InvalidArgument("path ", Quoted(path), " lies in ", kOwnFolder,
                           ", which is not for arrays");
  }
  if (path.substr(0, path.find('/')) == ledger::kIndexName) {
    return InvalidArgument("path ", Quoted(path), " is where the index is");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> KeysBelow(store::KvStore& store, const PathSet& paths,
                                                   const std::stop_token& stop) {
  // One call for all arrays of a prefix, which share a folder.
  std::set<std::string> folders;
  for (const std::string& path : paths.paths()) {
    folders.insert(Concat(path.substr(0, path.find('/')), "/"));
  }
  std::vector<std::string> keys;
  for (const std::string& folder : folders) {
    TESSERA_ASSIGN_OR_RETURN(const std::vector<store::ListEntry> entries, store.List(folder, stop));
    for (const store::ListEntry& entry : entries) {
      const auto over = paths.Over(entry.key);
      if (over.has_value() && *over != entry.key) keys.push_back(entry.key);
    }
  }
  return keys;
}

absl::StatusOr<std::optional<std::string>> ValueInTheWay(store::KvStore& store,
                                                         const PathSet& paths,
                                                         const PathSet& except,
                                                         const std::stop_token& stop) {
  if (!store.moves()) return std::nullopt;
  std::set<std::string> candidates;
  for (const std::string& path : paths.paths()) {
    for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
      candidates.insert(path.substr(0, end));
    }
    candidates.insert(path);
  }
  std::vector<store::ReadRequest> requests;
  for (const std::string& key : candidates) {
    if (!except.Over(key).has_value()) requests.push_back({key, {.offset = 0, .length = 0}});
  }
  TESSERA_ASSIGN_OR_RETURN(const auto results, store.ReadMany(requests, stop));
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].value.has_value()) return requests[i].key;
  }
  return std::nullopt;
}

}  // namespace tessera::commit
