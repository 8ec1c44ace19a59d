#include "tessera/commit/recover.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "tessera/commit/commit_lock.h"
#include "tessera/commit/index_facts.h"
#include "tessera/commit/owner.h"
#include "tessera/commit/paths.h"
#include "tessera/commit/roll_forward.h"
#include "tessera/commit/save_record.h"
#include "tessera/commit/saves.h"
#include "tessera/core/status.h"

namespace tessera::commit {
namespace {

using store::Generation;
using store::KvStore;

// How long a sweep waits for a commit that is under way.
constexpr auto kLockTimeout = std::chrono::seconds(60);

// Sweeps what one save has left.
class Sweep {
 public:
  Sweep(KvStore& store, const RecoverOptions& options, const std::stop_token& stop)
      : store_(store), options_(options), stop_(stop) {}

  // False: somebody else sweeps it, or it is committed after all.  `alive` are the paths of saves
  // that are under way.
  absl::StatusOr<bool> Run(FoundSave save, Liveness liveness, const PathSet& alive) {
    // Its owner is dead now, so that a commit which is not there now will not come.
    TESSERA_ASSIGN_OR_RETURN(const FoundCommit commit, ReadCommitRecord(store_, kCommitKey, stop_));
    if (commit.record.has_value() && commit.record->save.has_value() &&
        commit.record->save->id == save.id) {
      return false;
    }
    const LiveId claim(NewId());
    TESSERA_ASSIGN_OR_RETURN(const bool claimed, Claim(save, liveness, claim.id()));
    if (!claimed) return false;
    TESSERA_RETURN_IF_ERROR(DeleteData(save, alive));
    // The record goes last: it is what tells of the rest.
    TESSERA_RETURN_IF_ERROR(store_.Flush(stop_));
    const absl::Status status = store_.Delete(SaveKey(save.id), save.generation, stop_);
    if (!status.ok() && !absl::IsAborted(status)) return status;
    TESSERA_RETURN_IF_ERROR(store_.DeletePrefix(SaveKey(save.id), stop_));
    return true;
  }

 private:
  // Writes this process into the record, so that no second one sweeps after this one has ended and
  // others have begun anew.
  absl::StatusOr<bool> Claim(FoundSave& save, Liveness liveness, const std::string& claim) {
    if (!save.record.has_value()) return true;
    if (liveness != Liveness::kExpired) return Rewrite(save, claim);
    // It may run after all; it looks for its record under this lock before it commits.
    std::vector<std::string> finished;
    TESSERA_RETURN_IF_ERROR(
        AcquireCommitLock(store_, claim, options_.lease, kLockTimeout, finished, stop_));
    const auto claimed = Rewrite(save, claim);
    TESSERA_RETURN_IF_ERROR(ReleaseCommitLock(store_, claim));
    return claimed;
  }

  absl::StatusOr<bool> Rewrite(FoundSave& save, const std::string& claim) {
    SaveRecord& record = *save.record;
    record.sweeping = true;
    record.holder = claim;
    record.owner = ThisProcess();
    record.started = Now();
    const std::string text = EncodeSaveRecord(record);
    auto written =
        store_.Write(SaveKey(save.id), std::as_bytes(std::span(text)), save.generation, stop_);
    if (absl::IsAborted(written.status())) return false;
    TESSERA_ASSIGN_OR_RETURN(save.generation, std::move(written));
    return true;
  }

  absl::Status DeleteData(const FoundSave& save, const PathSet& alive) {
    TESSERA_RETURN_IF_ERROR(store_.DeletePrefix(DataFolder(save.id), stop_));
    TESSERA_RETURN_IF_ERROR(store_.DeletePrefix(LastFolder(save.id), stop_));
    const std::string prefix = save.record.has_value() ? save.record->prefix : "";
    TESSERA_ASSIGN_OR_RETURN(const IndexFacts facts, ReadIndexFacts(store_, prefix, stop_));
    TESSERA_RETURN_IF_ERROR(DeleteOwnFiles(save.id, facts));
    if (!save.record.has_value() || save.record->placement == Placement::kStaged) {
      return absl::OkStatus();
    }
    for (const std::string& path : save.record->paths) {
      const bool taken = facts.own.Meeting(path).has_value() ||
                         facts.others.Meeting(path).has_value() || alive.Meeting(path).has_value();
      if (!taken) TESSERA_RETURN_IF_ERROR(store_.DeletePrefix(Concat(path, "/"), stop_));
    }
    return absl::OkStatus();
  }

  absl::Status DeleteOwnFiles(const std::string& id, const IndexFacts& facts) {
    TESSERA_ASSIGN_OR_RETURN(const auto own_files, store_.List(OwnFileStart(id), stop_));
    const auto named = [&](const store::ListEntry& entry) {
      return facts.own_manifest == entry.key || facts.other_manifests.contains(entry.key);
    };
    // With what a write of one that did not end has left, which is not listed.
    if (std::none_of(own_files.begin(), own_files.end(), named)) {
      return store_.DeletePrefix(OwnFileStart(id), stop_);
    }
    for (const store::ListEntry& entry : own_files) {
      if (!named(entry)) TESSERA_RETURN_IF_ERROR(store_.Delete(entry.key, std::nullopt, stop_));
    }
    return absl::OkStatus();
  }

  KvStore& store_;
  const RecoverOptions& options_;
  const std::stop_token& stop_;
};

}  // namespace

absl::StatusOr<RecoverReport> Recover(KvStore& store, const RecoverOptions& options,
                                      std::stop_token stop) {
  RecoverReport report;
  TESSERA_ASSIGN_OR_RETURN(const Cleared cleared, ClearDeadCommit(store, options.lease, stop));
  if (cleared.finished.has_value()) report.finished.push_back(*cleared.finished);
  TESSERA_ASSIGN_OR_RETURN(std::vector<FoundSave> saves, ReadSaves(store, stop));
  PathSet alive;
  std::vector<std::pair<FoundSave, Liveness>> dead;
  for (FoundSave& save : saves) {
    const Liveness liveness = LivenessOf(save, options.lease);
    if (liveness != Liveness::kAlive) {
      dead.emplace_back(std::move(save), liveness);
      continue;
    }
    report.alive.push_back(Describe(*save.record));
    for (const std::string& path : save.record->paths) alive.Add(path);
  }
  Sweep sweep(store, options, stop);
  for (auto& [save, liveness] : dead) {
    const std::string id = save.id;
    const auto swept = sweep.Run(std::move(save), liveness, alive);
    if (!swept.ok()) return Prefixed(swept.status(), Concat("sweeping save ", id));
    if (*swept) report.swept.push_back(id);
  }
  return report;
}

}  // namespace tessera::commit
