#include "tessera/checkpoint/open_entries.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/store/key.h"
#include "tessera/tree/stored_path.h"
#include "tessera/zarr/metadata.h"

namespace tessera::checkpoint {
namespace {

constexpr std::string_view kLockEnd = ".__lock";
constexpr std::string_view kOcdbtManifest = "manifest.ocdbt";

// Whether `key` is the folder or lies below it; folders are named with a slash at their end.
bool LiesIn(std::string_view key, std::string_view folder) {
  return key.starts_with(folder) || key == folder.substr(0, folder.size() - 1);
}

absl::Status CheckPart(std::string_view part) {
  if (part.ends_with(kLockEnd)) {
    return InvalidArgument("the part ", Quoted(part), " is the name of a lock");
  }
  return absl::OkStatus();
}

// Paths that are equal or lie in one another belong to no checkpoint that could be told apart.
absl::Status CheckPaths(std::span<const ArrayEntry> entries) {
  std::vector<std::string> paths;
  paths.reserve(entries.size());
  for (const ArrayEntry& entry : entries) {
    if (entry.path.empty() && entries.size() > 1) {
      return InvalidArgument("the array at the root, with the path '.', is not the only one of ",
                             entries.size());
    }
    paths.push_back(entry.path);
  }
  return tree::CheckUniquePaths(paths, [&](size_t i) { return DottedKey(entries[i].key); });
}

// With every prefix at once a key says which one it is of.
std::vector<std::string> KeyWithPrefix(const ledger::ArrayRecord& record,
                                       const std::string& prefix) {
  std::vector<std::string> whole = ledger::KeyWithoutPrefix(record, "");
  if (prefix.empty() || ledger::KeyWithoutPrefix(record, prefix).size() < whole.size()) {
    return whole;
  }
  whole.insert(whole.begin(), prefix);
  return whole;
}

// Told from the path as it is used here.
std::vector<std::string> KeyOf(const ledger::ArrayRecord& record, const std::string& path,
                               const std::string& prefix, bool all_prefixes) {
  const auto key_of = [&](const ledger::ArrayRecord& used) {
    return all_prefixes ? KeyWithPrefix(used, prefix) : ledger::KeyWithoutPrefix(used, prefix);
  };
  if (record.path == path || record.path == ".") return key_of(record);
  ledger::ArrayRecord used = record;
  used.path = path;
  return key_of(used);
}

absl::Status AppendList(std::span<const ledger::ArrayRecord> records, const std::string& prefix,
                        bool all_prefixes, std::vector<ArrayEntry>& entries) {
  for (size_t i = 0; i < records.size(); ++i) {
    auto path = SafePath(records[i].path);
    if (!path.ok()) return Prefixed(path.status(), Concat("index entry ", i));
    const ledger::ArrayRecord& record = records[i];
    entries.push_back({KeyOf(record, *path, prefix, all_prefixes), *std::move(path),
                       IndexedArray{record.shape, record.dtype}});
  }
  return absl::OkStatus();
}

// A key that is looked at where it is, as copies of very many take long.
struct KeyView {
  const std::vector<std::string>* key;

  friend bool operator==(const KeyView& a, const KeyView& b) { return *a.key == *b.key; }
  template <typename State>
  friend State AbslHashValue(State state, const KeyView& view) {
    return State::combine(std::move(state), *view.key);
  }
};

// Of two entries of one key the later one counts, in the place of the earlier one.
std::vector<ArrayEntry> WithoutReplaced(std::vector<ArrayEntry> entries) {
  absl::flat_hash_map<KeyView, size_t> position;
  position.reserve(entries.size());
  std::vector<size_t> last;  // of each key, by its first place
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto [known, is_new] = position.try_emplace(KeyView{&entries[i].key}, last.size());
    if (is_new) last.push_back(i);
    last[known->second] = i;
  }
  if (last.size() == entries.size()) return entries;
  std::vector<ArrayEntry> kept;
  for (size_t i : last) kept.push_back(std::move(entries[i]));
  return kept;
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

std::optional<ledger::SavedTree> StructureOf(const ledger::TensorstoreIndex& index,
                                             std::string_view prefix) {
  for (const auto& [name, note] : index.notes) {
    if (name == prefix) return note.structure;
  }
  return std::nullopt;
}

absl::StatusOr<Entries> EntriesOfAll(const ledger::TensorstoreIndex& index) {
  Entries all;
  if (index.prefixes.has_value()) {
    for (const auto& [prefix, records] : *index.prefixes) {
      TESSERA_RETURN_IF_ERROR(Prefixed(AppendList(records, prefix, true, all.arrays),
                                       Concat("prefix ", Quoted(prefix))));
    }
  }
  if (index.arrays.has_value()) {
    TESSERA_RETURN_IF_ERROR(AppendList(*index.arrays, "", true, all.arrays));
  }
  return all;
}

absl::StatusOr<Entries> EntriesOfOne(const ledger::TensorstoreIndex& index,
                                     std::string_view prefix) {
  if (prefix.empty() && index.prefixes.has_value() && !index.arrays.has_value()) {
    return InvalidArgument(
        "the index has no list without a prefix, so one must be chosen; known are ",
        KnownPrefixes(index));
  }
  TESSERA_ASSIGN_OR_RETURN(const ledger::SelectedArrays selected,
                           ledger::SelectArrays(index, prefix));
  Entries one{selected.prefix, {}, StructureOf(index, selected.prefix)};
  TESSERA_RETURN_IF_ERROR(AppendList(selected.arrays, selected.prefix, false, one.arrays));
  return one;
}

// The path of the array that `key` is the metadata of.
std::optional<ArrayEntry> EntryOfKey(std::string_view key) {
  for (const zarr::Format format : {zarr::Format::kV2, zarr::Format::kV3}) {
    const std::string_view name = zarr::MetadataName(format);
    if (key == name) return ArrayEntry{{}, "", {}, std::string(name)};
    if (key.size() <= name.size() || !key.ends_with(name)) continue;
    const std::string_view folder = key.substr(0, key.size() - name.size());
    if (!folder.ends_with('/')) continue;
    const std::string_view path = folder.substr(0, folder.size() - 1);
    return ArrayEntry{tree::SplitLegacyPath(path), std::string(path), {}, std::string(name)};
  }
  return std::nullopt;
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

std::string DottedKey(std::span<const std::string> key) {
  std::string text;
  for (size_t i = 0; i < key.size(); ++i) {
    if (i > 0) text += '.';
    text += key[i];
  }
  return text;
}

bool IsBelow(std::string_view key, std::span<const std::string> folders) {
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return key.starts_with(folder) &&
           (key.size() == folder.size() || folder.ends_with('/') || key[folder.size()] == '/');
  });
}

absl::StatusOr<std::string> SafePath(std::string_view path) {
  if (path == ".") return std::string();
  std::string key(path);
  if (key.find('/') == std::string::npos) std::replace(key.begin(), key.end(), '\\', '/');
  absl::Status status = store::ValidateKey(key);
  if (status.ok()) {
    for (std::string_view rest = key; !rest.empty();) {
      const std::string_view part = rest.substr(0, rest.find('/'));
      status.Update(CheckPart(part));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    }
  }
  if (status.ok() && LiesIn(key, commit::kOwnFolder)) {
    status = InvalidArgument("it lies in ", commit::kOwnFolder);
  }
  if (status.ok()) return key;
  return InvalidArgument("unsafe path ", Quoted(path), ": ", std::string(status.message()));
}

absl::StatusOr<Entries> EntriesOfIndex(const ledger::TensorstoreIndex& index,
                                       std::string_view prefix, bool all_prefixes) {
  TESSERA_ASSIGN_OR_RETURN(Entries entries,
                           all_prefixes ? EntriesOfAll(index) : EntriesOfOne(index, prefix));
  TESSERA_RETURN_IF_ERROR(CheckPaths(entries.arrays));
  const size_t listed = entries.arrays.size();
  entries.arrays = WithoutReplaced(std::move(entries.arrays));
  if (entries.arrays.size() != listed) entries.structure.reset();
  return entries;
}

absl::StatusOr<Entries> EntriesOfListing(const store::KvStore& store,
                                         std::span<const store::ListEntry> listing,
                                         std::string_view prefix, bool all_prefixes,
                                         std::span<const std::string> unfinished) {
  Entries found{all_prefixes ? "" : std::string(prefix), {}, {}};
  std::string below(all_prefixes ? "" : prefix);
  std::replace(below.begin(), below.end(), '.', '/');
  if (!below.empty()) below += '/';
  bool ocdbt = false;
  for (const store::ListEntry& entry : listing) {
    if (entry.key.starts_with(commit::kOwnFolder) || IsBelow(entry.key, unfinished)) continue;
    ocdbt |= entry.key == kOcdbtManifest || entry.key.ends_with(Concat("/", kOcdbtManifest));
    if (!entry.key.starts_with(below)) continue;
    auto array = EntryOfKey(entry.key);
    if (!array.has_value()) continue;
    const std::string_view path = array->path.empty() ? "." : std::string_view(array->path);
    array->key = ledger::KeyWithoutPrefix({std::string(path), {}, ""}, found.prefix);
    found.arrays.push_back(*std::move(array));
  }
  if (!found.arrays.empty()) return found;
  if (ocdbt) return Unimplemented(store.Describe(kOcdbtManifest), ": OCDBT store");
  return NotFound(store.Describe(ledger::kIndexName), ": no index, and no ",
                  below.empty() ? "array and no safetensors file in the folder"
                                : Concat("array below ", below));
}

}  // namespace tessera::checkpoint
