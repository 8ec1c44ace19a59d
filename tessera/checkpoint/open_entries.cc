#include "tessera/checkpoint/open_entries.h"

#include <algorithm>
#include <utility>

#include "tessera/commit/transaction.h"
#include "tessera/core/status.h"
#include "tessera/tree/stored_path.h"
#include "tessera/zarr/metadata.h"

namespace tessera::checkpoint {
namespace {

constexpr std::string_view kOcdbtManifest = "manifest.ocdbt";

std::optional<ledger::SavedTree> StructureOf(const ledger::TensorstoreIndex& index,
                                             std::string_view prefix) {
  for (const auto& [name, note] : index.notes) {
    if (name == prefix) return note.structure;
  }
  return std::nullopt;
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

bool IsBelow(std::string_view key, std::span<const std::string> folders) {
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return key.starts_with(folder) &&
           (key.size() == folder.size() || folder.ends_with('/') || key[folder.size()] == '/');
  });
}

absl::StatusOr<Entries> EntriesOfIndex(const ledger::TensorstoreIndex& index,
                                       std::string_view prefix, bool all_prefixes) {
  TESSERA_ASSIGN_OR_RETURN(UsedRecords used, RecordsOfIndex(index, prefix, all_prefixes));
  Entries entries;
  entries.arrays.reserve(used.records.size());
  for (const UsedRecord& array : used.records) {
    entries.arrays.push_back({std::vector<std::string>(array.key.begin(), array.key.end()),
                              std::string(array.path),
                              IndexedArray{array.record->shape, array.record->dtype}});
  }
  entries.prefix = std::move(used.prefix);
  if (!all_prefixes && used.is_whole) entries.structure = StructureOf(index, entries.prefix);
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
