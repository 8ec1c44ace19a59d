#include <chrono>
#include <span>
#include <utility>

#include "tessera/commit/files.h"
#include "tessera/commit/index_facts.h"
#include "tessera/commit/paths.h"
#include "tessera/commit/recover.h"
#include "tessera/commit/roll_forward.h"
#include "tessera/commit/saves.h"
#include "tessera/commit/transaction_state.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"

namespace tessera::commit {
namespace {

using store::Generation;
using store::KvStore;

constexpr auto kSweepDelay = std::chrono::milliseconds(10);

absl::Status ValidateRequest(const BeginRequest& request) {
  if (!IsValidUtf8(request.prefix)) {
    return InvalidArgument("prefix ", Quoted(request.prefix), " is not UTF-8");
  }
  for (const std::string& path : request.paths) TESSERA_RETURN_IF_ERROR(ValidatePath(path));
  return request.replaced == nullptr ? absl::OkStatus() : ValidateFiles(request.paths);
}

bool Meet(const BeginRequest& request, const PathSet& paths, const SaveRecord& other) {
  if (request.prefix == other.prefix) return true;
  for (const std::string& path : other.paths) {
    if (paths.Meeting(path).has_value()) return true;
  }
  return false;
}

// Another save with which this one has something in common.
struct Conflict {
  std::string text;
  bool passes = false;  // it is dead, or being swept
};

absl::StatusOr<std::optional<Conflict>> FindConflict(KvStore& store, const std::string& id,
                                                     const BeginRequest& request,
                                                     std::chrono::seconds lease,
                                                     const std::stop_token& stop) {
  const PathSet paths(request.paths);
  std::optional<Conflict> conflict;
  TESSERA_ASSIGN_OR_RETURN(const std::vector<FoundSave> saves, ReadSaves(store, stop));
  for (const FoundSave& save : saves) {
    if (save.id == id || !save.record.has_value()) continue;
    if (!Meet(request, paths, *save.record)) continue;
    const bool passes = save.record->sweeping || LivenessOf(save, lease) != Liveness::kAlive;
    conflict = Conflict{Describe(*save.record), passes};
    if (!passes) break;
  }
  return conflict;
}

absl::StatusOr<Generation> WriteRecord(KvStore& store, const SaveRecord& record,
                                       const Generation& generation, const std::stop_token& stop) {
  const std::string text = EncodeSaveRecord(record);
  return store.Write(SaveKey(record.id), std::as_bytes(std::span(text)), generation, stop);
}

// Leaves as if it had not been begun.  What cannot be deleted now is swept by the next one.
void Withdraw(KvStore& store, const std::string& id) { store.Delete(SaveKey(id)).IgnoreError(); }

absl::Status CheckOtherPrefixes(const IndexFacts& facts, const BeginRequest& request) {
  const PathSet paths(request.paths);
  for (const auto& [path, prefix] : facts.other_paths) {
    const auto met = paths.Meeting(path);
    if (!met.has_value()) continue;
    return InvalidArgument("path ", Quoted(*met), " of prefix ", Quoted(request.prefix),
                           " and path ", Quoted(path), " of prefix ", Quoted(prefix),
                           " lie inside each other");
  }
  return absl::OkStatus();
}

// Where the data can go, if anywhere.
absl::StatusOr<Placement> FindPlacement(KvStore& store, const BeginRequest& request,
                                        const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const IndexFacts facts, ReadIndexFacts(store, request.prefix, stop));
  TESSERA_RETURN_IF_ERROR(CheckOtherPrefixes(facts, request));
  if (request.replaced != nullptr) {
    TESSERA_RETURN_IF_ERROR(FindReplacedFiles(store, request.paths, request.replaced, stop));
    // In place they would be seen before their commit: nothing lists them that comes later.
    return Placement::kStaged;
  }
  const PathSet paths(request.paths);
  TESSERA_ASSIGN_OR_RETURN(const auto keys, KeysBelow(store, paths, stop));
  for (const std::string& key : keys) {
    if (facts.own.Over(key).has_value()) continue;
    return absl::AlreadyExistsError(
        Concat(store.Describe(key), ": is below a path that is to be saved, and in no index"));
  }
  TESSERA_ASSIGN_OR_RETURN(const auto value, ValueInTheWay(store, paths, facts.own, stop));
  if (value.has_value()) {
    return absl::AlreadyExistsError(
        Concat(store.Describe(*value), ": a file is where a folder of the save is to be"));
  }
  return store.moves() || !keys.empty() ? Placement::kStaged : Placement::kInPlace;
}

absl::Status Settle(KvStore& store, const BeginRequest& request, BegunSave& save,
                    const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const Placement placement, FindPlacement(store, request, stop));
  if (placement != save.record.placement) {
    save.record.placement = placement;
    TESSERA_ASSIGN_OR_RETURN(save.generation,
                             WriteRecord(store, save.record, save.generation, stop));
  }
  // Else a power cut could leave data that no record tells of.
  return store.Flush(stop);
}

}  // namespace

absl::StatusOr<BegunSave> BeginSave(KvStore& store, const std::string& id,
                                    const BeginRequest& request, const BeginOptions& options,
                                    const std::stop_token& stop) {
  TESSERA_RETURN_IF_ERROR(ValidateRequest(request));
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    TESSERA_RETURN_IF_ERROR(Recover(store, {.lease = options.lease}, stop));
    // It says "staged" until nothing is known to be at its paths: what sweeps it deletes those
    // keys only that were not there before.
    BegunSave save{
        {id, request.prefix, request.paths, Placement::kStaged, false, id, ThisProcess(), Now()},
        {}};
    TESSERA_ASSIGN_OR_RETURN(save.generation,
                             WriteRecord(store, save.record, Generation::Missing(), stop));
    const auto conflict = FindConflict(store, id, request, options.lease, stop);
    if (conflict.ok() && !conflict->has_value()) {
      const absl::Status settled = Settle(store, request, save, stop);
      if (settled.ok()) return save;
      Withdraw(store, id);
      return settled;
    }
    Withdraw(store, id);
    TESSERA_RETURN_IF_ERROR(conflict);
    const bool waits =
        (*conflict)->passes && std::chrono::steady_clock::now() - begin < options.commit_timeout;
    if (stop.stop_requested()) return Cancelled("prefix ", Quoted(request.prefix), ": stopped");
    if (!waits) {
      return Aborted("prefix ", Quoted(request.prefix), ": ", (*conflict)->text, " is under way");
    }
    SleepFor(kSweepDelay, stop);
  }
}

}  // namespace tessera::commit
