#include "tessera/commit/index_facts.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "tessera/commit/roll_forward.h"
#include "tessera/commit/view.h"
#include "tessera/core/status.h"
#include "tessera/core/utf8.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/structure_file.h"

namespace tessera::commit {
namespace {

using store::KvStore;

constexpr int kMostReads = 10;
constexpr auto kDelay = std::chrono::milliseconds(20);

void AddList(const std::vector<ledger::ArrayRecord>& list, const std::string& prefix,
             std::string_view own_prefix, IndexFacts& facts) {
  for (const ledger::ArrayRecord& record : list) {
    // Nothing of ours can lie at a path that is none, nor is anything there to be deleted.
    if (!ValidatePath(record.path).ok()) continue;
    if (prefix == own_prefix) {
      facts.own.Add(record.path);
    } else {
      facts.others.Add(record.path);
      facts.other_paths.emplace_back(record.path, prefix);
    }
  }
}

IndexFacts FactsOf(const ledger::TensorstoreIndex& index, std::string_view own_prefix) {
  IndexFacts facts;
  if (index.prefixes.has_value()) {
    for (const auto& [prefix, list] : *index.prefixes) AddList(list, prefix, own_prefix, facts);
  }
  if (index.arrays.has_value()) AddList(*index.arrays, "", own_prefix, facts);
  for (const auto& [prefix, note] : index.notes) {
    if (prefix == own_prefix) {
      facts.own_manifest = note.manifest;
    } else {
      facts.other_manifests.insert(note.manifest);
    }
  }
  return facts;
}

// A listed array of which nothing stays can go as a folder.
std::vector<std::string> ObsoleteFolders(const IndexFacts& facts,
                                         const std::vector<std::string>& data_keys,
                                         const CommittedSave& save) {
  PathSet kept(save.paths);
  for (const std::string& key : data_keys) kept.Add(key);
  for (const std::string& name : save.side_files) kept.Add(name);
  std::vector<std::string> folders;
  for (const std::string& path : facts.own.paths()) {
    const bool free = !kept.Meeting(path).has_value() && !facts.others.Meeting(path).has_value();
    if (free) folders.push_back(path);
  }
  return folders;
}

absl::Status FindObsoleteKeys(KvStore& store, const IndexFacts& facts,
                              const std::vector<std::string>& data_keys, CommittedSave& save,
                              const std::stop_token& stop) {
  const PathSet folders(save.obsolete_folders);
  const PathSet paths(save.paths);
  // Also not what the save puts there: this may run again after it has.
  std::unordered_set<std::string> kept(data_keys.begin(), data_keys.end());
  kept.insert(save.side_files.begin(), save.side_files.end());
  TESSERA_ASSIGN_OR_RETURN(const auto keys, KeysBelow(store, facts.own, stop));
  for (const std::string& key : keys) {
    // Without a change of the index the other arrays of the list stay.
    const bool replaced = save.index.has_value() || paths.Over(key).has_value();
    // A name that is not UTF-8 is not one that a record could hold, nor one that arrays have.
    const bool stays = kept.contains(key) || facts.others.Over(key).has_value() ||
                       folders.Over(key).has_value() || !IsValidUtf8(key);
    if (replaced && !stays) save.obsolete_keys.push_back(key);
  }
  return absl::OkStatus();
}

absl::Status FindObsoleteManifests(KvStore& store, const IndexFacts& facts, CommittedSave& save,
                                   const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto manifests, store.List(kManifestsFolder, stop));
  // Listed after them: a manifest is written while its save has a record.
  TESSERA_ASSIGN_OR_RETURN(const auto saves, store.List(kSavesFolder, stop));
  std::set<std::string, std::less<>> saving;
  for (const store::ListEntry& entry : saves) saving.emplace(IdOfSaveKey(entry.key));
  for (const store::ListEntry& entry : manifests) {
    const std::string_view name = std::string_view(entry.key).substr(kManifestsFolder.size());
    const std::string_view id = name.substr(0, name.find('.'));
    const bool named = facts.other_manifests.contains(entry.key) ||
                       (!save.index.has_value() && entry.key == facts.own_manifest);
    if (IsId(id) && !named && !saving.contains(id)) save.obsolete_keys.push_back(entry.key);
  }
  return absl::OkStatus();
}

// eformer's file of the prefix tells of the tree that is replaced, with values of it.
absl::Status FindObsoleteStructure(KvStore& store, const IndexFacts& facts, CommittedSave& save,
                                   const std::stop_token& stop) {
  if (!save.index.has_value() || save.index->prefix.empty()) return absl::OkStatus();
  const std::string name = ledger::StructureFileName(save.index->prefix);
  if (!ValidatePath(name).ok() || facts.others.Over(name).has_value()) {
    return absl::OkStatus();
  }
  const auto& brought = save.side_files;
  if (std::find(brought.begin(), brought.end(), name) != brought.end()) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const auto found, store.List(name, stop));
  if (!found.empty() && found.front().key == name) save.obsolete_keys.push_back(name);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<IndexFacts> ReadIndexFacts(KvStore& store, std::string_view prefix,
                                          const std::stop_token& stop) {
  for (int i = 1;; ++i) {
    TESSERA_ASSIGN_OR_RETURN(const View view, OpenView(store, stop));
    if (!view.index_text.has_value()) return IndexFacts{};
    const auto index = ledger::DecodeIndexFile(view.index_text->text());
    if (index.ok()) {
      IndexFacts facts = FactsOf(*index, prefix);
      facts.text = view.index_text->text();
      return facts;
    }
    if (i == kMostReads || stop.stop_requested()) {
      return Prefixed(index.status(), store.Describe(ledger::kIndexName));
    }
    SleepFor(kDelay, stop);
  }
}

absl::Status FindObsolete(KvStore& store, const IndexFacts& facts,
                          const std::vector<std::string>& data_keys, CommittedSave& save,
                          const std::stop_token& stop) {
  if (save.index.has_value()) save.obsolete_folders = ObsoleteFolders(facts, data_keys, save);
  TESSERA_RETURN_IF_ERROR(FindObsoleteKeys(store, facts, data_keys, save, stop));
  TESSERA_RETURN_IF_ERROR(FindObsoleteStructure(store, facts, save, stop));
  return FindObsoleteManifests(store, facts, save, stop);
}

}  // namespace tessera::commit
