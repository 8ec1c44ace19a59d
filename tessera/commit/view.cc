#include "tessera/commit/view.h"

#include <utility>

#include "tessera/commit/commit_lock.h"
#include "tessera/commit/overlay_store.h"
#include "tessera/commit/roll_forward.h"
#include "tessera/commit/save_record.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"

namespace tessera::commit {
namespace {

using store::KvStore;

// A record and the index that goes with it.
struct Moment {
  std::optional<CommittedSave> save;
  std::optional<std::string> index;
};

// nullopt: something was committed or ended in between.
absl::StatusOr<std::optional<Moment>> TryMoment(KvStore& store, const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(FoundCommit before, ReadCommitRecord(store, kCommitKey, stop));
  TESSERA_ASSIGN_OR_RETURN(StoredText index, ReadText(store, ledger::kIndexName, stop));
  TESSERA_ASSIGN_OR_RETURN(const FoundCommit after, ReadCommitRecord(store, kCommitKey, stop));
  const bool both_unmade = !(before.record.has_value() && before.record->save.has_value()) &&
                           !(after.record.has_value() && after.record->save.has_value());
  if (!both_unmade && before.generation != after.generation) return std::nullopt;
  if (both_unmade) return Moment{std::nullopt, std::move(index.text)};
  return Moment{std::move(before.record->save), std::move(index.text)};
}

absl::StatusOr<Moment> ReadMoment(KvStore& store, const std::stop_token& stop) {
  while (true) {
    TESSERA_ASSIGN_OR_RETURN(std::optional<Moment> moment, TryMoment(store, stop));
    if (moment.has_value()) return *std::move(moment);
    if (stop.stop_requested()) return Cancelled(store.Describe(""), ": stopped while opening");
  }
}

std::string StateId(const Moment& moment, const std::optional<std::string>& index) {
  std::string id = index.has_value() ? HashOf(*index).Hex() : "none";
  // Only its record tells of a commit that leaves the index as it is.
  if (moment.save.has_value() && !moment.save->index.has_value()) id += "-" + moment.save->id;
  return id;
}

absl::StatusOr<std::vector<std::string>> UnfinishedPaths(KvStore& store, const Moment& moment,
                                                         const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto entries, store.List(kSavesFolder, stop));
  std::vector<std::string> paths;
  for (const store::ListEntry& entry : entries) {
    TESSERA_ASSIGN_OR_RETURN(const StoredText stored, ReadText(store, entry.key, stop));
    if (!stored.text.has_value()) continue;
    auto record = DecodeSaveRecord(*stored.text);
    // Cut short: no data was written under it yet.
    if (absl::IsDataLoss(record.status())) continue;
    if (!record.ok()) return Prefixed(record.status(), store.Describe(entry.key));
    const bool committed = moment.save.has_value() && moment.save->id == record->id;
    if (committed || record->placement == Placement::kStaged) continue;
    paths.insert(paths.end(), record->paths.begin(), record->paths.end());
  }
  return paths;
}

}  // namespace

absl::StatusOr<View> OpenView(KvStore& store, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(Moment moment, ReadMoment(store, stop));
  View view;
  view.index_text = moment.index;
  if (moment.save.has_value()) {
    auto after = IndexAfter(moment.index, *moment.save);
    if (!after.ok()) return Prefixed(after.status(), store.Describe(ledger::kIndexName));
    view.index_text = *std::move(after);
  }
  view.state_id = StateId(moment, view.index_text);
  if (!view.index_text.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(view.unfinished_paths, UnfinishedPaths(store, moment, stop));
  }
  view.store = MakeOverlayStore(store, std::move(moment.save));
  return view;
}

}  // namespace tessera::commit
