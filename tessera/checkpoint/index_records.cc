#include "tessera/checkpoint/index_records.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/reserve_large.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/store/key.h"
#include "tessera/tree/stored_path.h"

namespace tessera::checkpoint {
namespace {

constexpr std::string_view kLockEnd = ".__lock";

// Whether `key` is the folder or lies below it; folders are named with a slash at their end.
bool LiesIn(std::string_view key, std::string_view folder) {
  return key.starts_with(folder) || key == folder.substr(0, folder.size() - 1);
}

absl::Status CheckParts(std::string_view key) {
  while (true) {
    const size_t slash = key.find('/');
    const std::string_view part = key.substr(0, slash);
    if (part.ends_with(kLockEnd)) {
      return InvalidArgument("the part ", Quoted(part), " is the name of a lock");
    }
    if (slash == std::string_view::npos) return absl::OkStatus();
    key.remove_prefix(slash + 1);
  }
}

absl::Status CheckKey(std::string_view key) {
  TESSERA_RETURN_IF_ERROR(store::ValidateKey(key));
  TESSERA_RETURN_IF_ERROR(CheckParts(key));
  if (LiesIn(key, commit::kOwnFolder)) return InvalidArgument("it lies in ", commit::kOwnFolder);
  // An index is decoded with slashes alone; Windows would read these as some.
  if (key.find('\\') != std::string_view::npos && key.find('/') == std::string_view::npos) {
    return InvalidArgument("its backslashes would be read as slashes");
  }
  return absl::OkStatus();
}

// Paths that are equal or lie in one another belong to no checkpoint that could be told apart.
absl::Status CheckPaths(std::span<const UsedRecord> records) {
  std::vector<std::string_view> paths;
  paths.reserve(records.size());
  for (const UsedRecord& used : records) {
    if (used.path.empty() && records.size() > 1) {
      return InvalidArgument("the array at the root, with the path '.', is not the only one of ",
                             records.size());
    }
    paths.push_back(used.path);
  }
  return tree::CheckUniquePaths(paths, [&](size_t i) { return DottedKey(records[i].key); });
}

// With every prefix at once a key says which one it is of.
ledger::KeyView KeyWithPrefix(const ledger::ArrayRecord& record, std::string_view prefix) {
  ledger::KeyView whole = ledger::ViewKeyWithoutPrefix(record, "");
  if (prefix.empty() || ledger::ViewKeyWithoutPrefix(record, prefix).size() < whole.size()) {
    return whole;
  }
  whole.insert(whole.begin(), prefix);
  return whole;
}

absl::Status AppendList(std::span<const ledger::ArrayRecord> list, std::string_view prefix,
                        bool all_prefixes, UsedRecords& used) {
  for (const ledger::ArrayRecord& record : list) {
    const auto path = SafePath(record.path);
    if (!path.ok()) return Prefixed(path.status(), Concat("index entry ", &record - list.data()));
    used.records.push_back({&record, *path,
                            all_prefixes ? KeyWithPrefix(record, prefix)
                                         : ledger::ViewKeyWithoutPrefix(record, prefix)});
    used.keys_are_paths &= prefix.empty() && !record.key.has_value();
  }
  return absl::OkStatus();
}

// A key that is looked at where it is, as copies of very many take long.
struct KeyRef {
  const ledger::KeyView* key;

  friend bool operator==(const KeyRef& a, const KeyRef& b) { return *a.key == *b.key; }
  template <typename State>
  friend State AbslHashValue(State state, const KeyRef& ref) {
    return State::combine(std::move(state), *ref.key);
  }
};

// Of two records of one key the later one counts, in the place of the earlier one.
void RemoveReplaced(UsedRecords& used) {
  absl::flat_hash_map<KeyRef, size_t> position;
  position.reserve(used.records.size());
  std::vector<size_t> last;  // of each key, by its first place
  last.reserve(used.records.size());
  for (size_t i = 0; i < used.records.size(); ++i) {
    const auto [known, is_new] = position.try_emplace(KeyRef{&used.records[i].key}, last.size());
    if (is_new) last.push_back(i);
    last[known->second] = i;
  }
  if (last.size() == used.records.size()) return;
  std::vector<UsedRecord> kept;
  for (const size_t i : last) kept.push_back(std::move(used.records[i]));
  used.records = std::move(kept);
  used.is_whole = false;
}

std::string KnownPrefixes(const ledger::TensorstoreIndex& index) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < index.prefixes->size() && i < kMost; ++i) {
    text += Concat(i == 0 ? "" : ", ", Quoted((*index.prefixes)[i].first));
  }
  if (index.prefixes->size() > kMost) {
    text += Concat(" and ", index.prefixes->size() - kMost, " others");
  }
  return text.empty() ? "none" : text;
}

absl::StatusOr<UsedRecords> RecordsOfAll(const ledger::TensorstoreIndex& index) {
  size_t count = index.arrays.has_value() ? index.arrays->size() : 0;
  if (index.prefixes.has_value()) {
    for (const auto& [prefix, list] : *index.prefixes) count += list.size();
  }
  UsedRecords all;
  ReserveLarge(all.records, count);
  if (index.prefixes.has_value()) {
    for (const auto& [prefix, list] : *index.prefixes) {
      TESSERA_RETURN_IF_ERROR(
          Prefixed(AppendList(list, prefix, true, all), Concat("prefix ", Quoted(prefix))));
    }
  }
  if (index.arrays.has_value()) {
    TESSERA_RETURN_IF_ERROR(AppendList(*index.arrays, "", true, all));
  }
  return all;
}

absl::StatusOr<UsedRecords> RecordsOfOne(const ledger::TensorstoreIndex& index,
                                         std::string_view prefix) {
  if (prefix.empty() && index.prefixes.has_value() && !index.arrays.has_value()) {
    return InvalidArgument(
        "the index has no list without a prefix, so one must be chosen; known are ",
        KnownPrefixes(index));
  }
  TESSERA_ASSIGN_OR_RETURN(const ledger::SelectedArrays selected,
                           ledger::SelectArrays(index, prefix));
  UsedRecords one{selected.prefix, {}};
  ReserveLarge(one.records, selected.arrays.size());
  TESSERA_RETURN_IF_ERROR(AppendList(selected.arrays, selected.prefix, false, one));
  return one;
}

template <typename Text>
std::string Dotted(std::span<const Text> key) {
  size_t size = key.size();
  for (const Text& part : key) size += part.size();
  std::string text;
  text.reserve(size);
  for (size_t i = 0; i < key.size(); ++i) {
    if (i > 0) text += '.';
    text += key[i];
  }
  return text;
}

}  // namespace

std::vector<std::string> PrefixesOf(const ledger::TensorstoreIndex& index) {
  std::vector<std::string> names;
  if (index.arrays.has_value()) names.emplace_back();
  if (index.prefixes.has_value()) {
    for (const auto& [prefix, records] : *index.prefixes) names.push_back(prefix);
  }
  return names;
}

absl::StatusOr<std::string_view> SafePath(std::string_view path) {
  if (path == ".") return std::string_view();
  const absl::Status status = CheckKey(path);
  if (status.ok()) return path;
  return InvalidArgument("unsafe path ", Quoted(path), ": ", std::string(status.message()));
}

absl::StatusOr<UsedRecords> RecordsOfIndex(const ledger::TensorstoreIndex& index,
                                           std::string_view prefix, bool all_prefixes) {
  TESSERA_ASSIGN_OR_RETURN(UsedRecords used,
                           all_prefixes ? RecordsOfAll(index) : RecordsOfOne(index, prefix));
  TESSERA_RETURN_IF_ERROR(CheckPaths(used.records));
  if (!used.keys_are_paths) RemoveReplaced(used);
  return used;
}

std::string DottedKey(std::span<const std::string> key) { return Dotted(key); }
std::string DottedKey(std::span<const std::string_view> key) { return Dotted(key); }

}  // namespace tessera::checkpoint
