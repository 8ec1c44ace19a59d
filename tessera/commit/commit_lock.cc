#include "tessera/commit/commit_lock.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tessera/commit/owner.h"
#include "tessera/commit/roll_forward.h"
#include "tessera/core/status.h"

namespace tessera::commit {
namespace {

using store::Generation;
using store::KvStore;

constexpr auto kFirstDelay = std::chrono::milliseconds(2);
constexpr auto kLongestDelay = std::chrono::milliseconds(200);

// nullopt: another one is there.
absl::StatusOr<std::optional<Generation>> TryLock(KvStore& store, std::string_view key,
                                                  const std::string& holder,
                                                  const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const std::string text,
                           EncodeCommitRecord({holder, ThisProcess(), Now(), std::nullopt}));
  auto written = store.Write(key, std::as_bytes(std::span(text)), Generation::Missing(), stop);
  if (written.ok()) return *std::move(written);
  if (absl::IsAborted(written.status())) return std::nullopt;
  return written.status();
}

// Deletes what is of that generation; if it is not any more, somebody else did what was to do.
absl::Status DeleteIfStill(KvStore& store, std::string_view key, const Generation& generation,
                           const std::stop_token& stop) {
  const absl::Status status = store.Delete(key, generation, stop);
  return absl::IsAborted(status) ? absl::OkStatus() : status;
}

bool IsDead(const FoundCommit& found, std::chrono::seconds lease) {
  if (!found.record.has_value()) return true;
  const CommitRecord& record = *found.record;
  return LivenessOf(record.owner, record.holder, record.since, lease) != Liveness::kAlive;
}

std::string AliveText(const CommitRecord& record, std::string_view what) {
  return Concat(what, " by ", Describe(record.owner, record.since));
}

// Clears a dead finisher's lock; who it is if it lives.
absl::StatusOr<std::optional<std::string>> LiveFinisher(KvStore& store, std::chrono::seconds lease,
                                                        const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const FoundCommit found, ReadCommitRecord(store, kFinishKey, stop));
  if (found.generation.missing()) return std::nullopt;
  if (!IsDead(found, lease)) return AliveText(*found.record, "a dead save's commit is ended");
  TESSERA_RETURN_IF_ERROR(DeleteIfStill(store, kFinishKey, found.generation, stop));
  return std::nullopt;
}

// Ends the commit unless it changed meanwhile.
absl::StatusOr<bool> FinishLocked(KvStore& store, const FoundCommit& seen,
                                  const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const FoundCommit found, ReadCommitRecord(store, kCommitKey, stop));
  if (found.generation != seen.generation) return false;
  TESSERA_RETURN_IF_ERROR(RollForward(store, *seen.record->save, seen.generation, stop));
  return true;
}

absl::StatusOr<Cleared> Finish(KvStore& store, const FoundCommit& found, std::chrono::seconds lease,
                               const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(auto finisher, LiveFinisher(store, lease, stop));
  if (finisher.has_value()) return Cleared{std::nullopt, std::move(finisher)};
  const LiveId claim(NewId());
  TESSERA_ASSIGN_OR_RETURN(const auto lock, TryLock(store, kFinishKey, claim.id(), stop));
  if (!lock.has_value()) return Cleared{std::nullopt, "a dead save's commit is ended by another"};
  const auto finished = FinishLocked(store, found, stop);
  const absl::Status released = DeleteIfStill(store, kFinishKey, *lock, {});
  const std::string& id = found.record->save->id;
  if (!finished.ok()) return Prefixed(finished.status(), Concat("ending the commit of save ", id));
  TESSERA_RETURN_IF_ERROR(released);
  return *finished ? Cleared{id, std::nullopt} : Cleared{};
}

}  // namespace

absl::StatusOr<FoundCommit> ReadCommitRecord(KvStore& store, std::string_view key,
                                             const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const StoredText stored, ReadText(store, key, stop));
  FoundCommit found{stored.generation, std::nullopt};
  if (!stored.text.has_value()) return found;
  auto record = DecodeCommitRecord(*stored.text);
  if (record.ok()) {
    found.record = *std::move(record);
  } else if (!absl::IsDataLoss(record.status())) {
    return Prefixed(record.status(), store.Describe(key));
  }
  return found;
}

absl::StatusOr<Cleared> ClearDeadCommit(KvStore& store, std::chrono::seconds lease,
                                        const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const FoundCommit found, ReadCommitRecord(store, kCommitKey, stop));
  if (found.generation.missing()) {
    TESSERA_RETURN_IF_ERROR(LiveFinisher(store, lease, stop));
    return Cleared{};
  }
  if (!IsDead(found, lease)) {
    return Cleared{std::nullopt, AliveText(*found.record, "a commit is under way")};
  }
  if (found.record.has_value() && found.record->save.has_value()) {
    return Finish(store, found, lease, stop);
  }
  TESSERA_RETURN_IF_ERROR(DeleteIfStill(store, kCommitKey, found.generation, stop));
  return Cleared{};
}

absl::StatusOr<Generation> AcquireCommitLock(KvStore& store, const std::string& holder,
                                             std::chrono::seconds lease,
                                             std::chrono::nanoseconds timeout,
                                             std::vector<std::string>& finished,
                                             const std::stop_token& stop) {
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::nanoseconds delay = kFirstDelay;
  while (true) {
    TESSERA_ASSIGN_OR_RETURN(auto lock, TryLock(store, kCommitKey, holder, stop));
    if (lock.has_value()) return *std::move(lock);
    TESSERA_ASSIGN_OR_RETURN(const Cleared cleared, ClearDeadCommit(store, lease, stop));
    if (cleared.finished.has_value()) finished.push_back(*cleared.finished);
    if (!cleared.alive.has_value()) continue;
    if (stop.stop_requested()) return Cancelled(store.Describe(kCommitKey), ": stopped waiting");
    if (std::chrono::steady_clock::now() - begin >= timeout) {
      return absl::DeadlineExceededError(Concat(store.Describe(kCommitKey), ": ", *cleared.alive));
    }
    SleepFor(delay, stop);
    delay = std::min<std::chrono::nanoseconds>(delay * 2, kLongestDelay);
  }
}

absl::Status ReleaseCommitLock(KvStore& store, const std::string& holder) {
  TESSERA_ASSIGN_OR_RETURN(const FoundCommit found, ReadCommitRecord(store, kCommitKey, {}));
  if (found.generation.missing()) return absl::OkStatus();
  const bool ours = !found.record.has_value() ||
                    (found.record->holder == holder && !found.record->save.has_value());
  return ours ? DeleteIfStill(store, kCommitKey, found.generation, {}) : absl::OkStatus();
}

}  // namespace tessera::commit
