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
  std::optional<Bytes> index;
};

// nullopt: something was committed or ended in between.
absl::StatusOr<std::optional<Moment>> TryMoment(KvStore& store, const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(FoundCommit before, ReadCommitRecord(store, kCommitKey, stop));
  // Not as a copy: an index may be large.
  TESSERA_ASSIGN_OR_RETURN(
      store::ReadResult index,
      store.Read(ledger::kIndexName, store::ByteRange::AtMost(kMostRecordBytes), stop));
  TESSERA_ASSIGN_OR_RETURN(const FoundCommit after, ReadCommitRecord(store, kCommitKey, stop));
  const bool both_unmade = !(before.record.has_value() && before.record->save.has_value()) &&
                           !(after.record.has_value() && after.record->save.has_value());
  if (!both_unmade && before.generation != after.generation) return std::nullopt;
  if (both_unmade) return Moment{std::nullopt, std::move(index.value)};
  return Moment{std::move(before.record->save), std::move(index.value)};
}

absl::StatusOr<Moment> ReadMoment(KvStore& store, const std::stop_token& stop) {
  while (true) {
    TESSERA_ASSIGN_OR_RETURN(std::optional<Moment> moment, TryMoment(store, stop));
    if (moment.has_value()) return *std::move(moment);
    if (stop.stop_requested()) return Cancelled(store.Describe(""), ": stopped while opening");
  }
}

std::string StateId(const Moment& moment, const std::optional<Bytes>& index) {
  std::string id = index.has_value() ? HashOf(index->text()).Hex() : "none";
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

// The index with the change of a save that is committed and not in its place yet.
absl::StatusOr<std::optional<Bytes>> IndexOf(const Moment& moment) {
  if (!moment.save.has_value() || !moment.save->index.has_value()) return moment.index;
  std::optional<std::string> now;
  if (moment.index.has_value()) now = moment.index->text();
  TESSERA_ASSIGN_OR_RETURN(const std::optional<std::string> after, IndexAfter(now, *moment.save));
  return Bytes::CopyOf(*after);
}

}  // namespace

absl::StatusOr<View> OpenView(KvStore& store, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(Moment moment, ReadMoment(store, stop));
  View view;
  auto index = IndexOf(moment);
  if (!index.ok()) return Prefixed(index.status(), store.Describe(ledger::kIndexName));
  view.index_text = *std::move(index);
  view.state_id = StateId(moment, view.index_text);
  if (!view.index_text.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(view.unfinished_paths, UnfinishedPaths(store, moment, stop));
  }
  view.store = MakeOverlayStore(store, std::move(moment.save));
  return view;
}

}  // namespace tessera::commit
