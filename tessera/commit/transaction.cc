#include "tessera/commit/transaction.h"

#include <unistd.h>

#include <span>
#include <unordered_set>
#include <utility>

#include "tessera/commit/commit_lock.h"
#include "tessera/commit/files.h"
#include "tessera/commit/index_facts.h"
#include "tessera/commit/paths.h"
#include "tessera/commit/roll_forward.h"
#include "tessera/commit/transaction_state.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::commit {

// All that the write which makes the commit needs.
struct PreparedCommit {
  store::Generation lock;
  CommittedSave save;
  std::string record;
};

namespace {

using store::Generation;
using store::KvStore;

absl::Status ValidateNames(const CommitRequest& request, const std::string& id,
                           const PathSet& paths) {
  const std::string start = OwnFileStart(id);
  for (const SideFile& file : request.own_files) {
    if (!file.name.starts_with(start) || file.name.size() == start.size() ||
        file.name.find('/', start.size()) != std::string::npos) {
      return InvalidArgument("own file ", Quoted(file.name), ": expected a name that begins with ",
                             start);
    }
  }
  for (const SideFile& file : request.side_files) {
    TESSERA_RETURN_IF_ERROR(ValidateSideFile(file.name));
    const auto met = paths.Meeting(file.name);
    if (!met.has_value()) continue;
    return InvalidArgument("side file ", Quoted(file.name), " and the array at ", Quoted(*met),
                           " lie inside each other");
  }
  return absl::OkStatus();
}

absl::Status ValidateRequest(const CommitRequest& request, const SaveRecord& save, bool is_files) {
  const PathSet paths(save.paths);
  TESSERA_RETURN_IF_ERROR(ValidateNames(request, save.id, paths));
  if (is_files) return ValidateBrought(request, save.paths);
  for (const std::string& key : request.data_keys) {
    const auto over = paths.Over(key);
    if (!over.has_value() || *over == key) {
      return InvalidArgument("data key ", Quoted(key), " is below no path of the save");
    }
  }
  if (!request.index.has_value()) return absl::OkStatus();
  if (request.index->prefix != save.prefix) {
    return InvalidArgument("the index change is of prefix ", Quoted(request.index->prefix),
                           ", the save of ", Quoted(save.prefix));
  }
  for (const ledger::ArrayRecord& record : request.index->arrays) {
    if (!paths.paths().contains(record.path)) {
      return InvalidArgument("path ", Quoted(record.path), " of the index change is none of the ",
                             "save's");
    }
  }
  return absl::OkStatus();
}

absl::Status WriteFiles(KvStore& store, const CommitRequest& request, const std::string& id,
                        const std::stop_token& stop) {
  for (const SideFile& file : request.own_files) {
    TESSERA_RETURN_IF_ERROR(store.Write(file.name, file.content.span(), std::nullopt, stop));
  }
  for (const SideFile& file : request.side_files) {
    TESSERA_RETURN_IF_ERROR(
        store.Write(Concat(DataFolder(id), file.name), file.content.span(), std::nullopt, stop));
  }
  for (const SideFile& file : request.last_files) {
    TESSERA_RETURN_IF_ERROR(
        store.Write(Concat(LastFolder(id), file.name), file.content.span(), std::nullopt, stop));
  }
  return absl::OkStatus();
}

// What lies where data is written, as keys from the checkpoint's root.
absl::StatusOr<std::vector<std::string>> WrittenKeys(KvStore& store, const SaveRecord& save,
                                                     const std::stop_token& stop) {
  if (save.placement == Placement::kInPlace) return KeysBelow(store, PathSet(save.paths), stop);
  const std::string folder = DataFolder(save.id);
  TESSERA_ASSIGN_OR_RETURN(const auto entries, store.List(folder, stop));
  std::vector<std::string> keys;
  for (const store::ListEntry& entry : entries) keys.push_back(entry.key.substr(folder.size()));
  return keys;
}

// What was written must be what is to become visible, key for key.
absl::Status CheckData(KvStore& store, const CommitRequest& request, const SaveRecord& save,
                       const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto written, WrittenKeys(store, save, stop));
  std::unordered_set<std::string> missing(request.data_keys.begin(), request.data_keys.end());
  std::unordered_set<std::string> side_files;
  for (const SideFile& file : request.side_files) side_files.insert(file.name);
  const std::unordered_set<std::string> expected = missing;
  for (const std::string& key : written) {
    missing.erase(key);
    if (expected.contains(key) || side_files.contains(key)) continue;
    return FailedPrecondition(store.Describe(key), ": was written, but is no data key of the save");
  }
  for (const std::string& key : request.data_keys) {
    if (!missing.contains(key)) continue;
    return FailedPrecondition(store.Describe(key), ": is a data key of the save (one of ",
                              missing.size(), " such), but was not written");
  }
  return absl::OkStatus();
}

// Nothing may stop the files once the commit is made.
absl::Status CheckWay(KvStore& store, const CommittedSave& save, const IndexFacts& facts,
                      const std::stop_token& stop) {
  PathSet folders(save.is_files ? std::vector<std::string>() : save.paths);
  for (const std::string& name : save.side_files) {
    const size_t slash = name.rfind('/');
    if (slash != std::string::npos) folders.Add(name.substr(0, slash));
    TESSERA_ASSIGN_OR_RETURN(const auto inside, store.List(Concat(name, "/"), stop));
    if (!inside.empty()) {
      return FailedPrecondition(store.Describe(name), ": a folder is where a file is to be");
    }
  }
  TESSERA_ASSIGN_OR_RETURN(const auto value, ValueInTheWay(store, folders, facts.own, stop));
  if (!value.has_value()) return absl::OkStatus();
  return FailedPrecondition(store.Describe(*value), ": a file is where a folder is to be");
}

absl::Status CheckStillOurs(KvStore& store, const BegunSave& save, const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const StoredText stored, ReadText(store, SaveKey(save.record.id), stop));
  if (stored.generation == save.generation) return absl::OkStatus();
  return Aborted("save ", save.record.id,
                 ": was taken for dead and swept by another process: its lease has passed");
}

// Under the lock: all that the record says.
absl::StatusOr<CommittedSave> PrepareCommit(KvStore& store, const CommitRequest& request,
                                            const BegunSave& begun, const FindReplaced& replaced,
                                            const std::stop_token& stop) {
  TESSERA_RETURN_IF_ERROR(CheckStillOurs(store, begun, stop));
  TESSERA_ASSIGN_OR_RETURN(const IndexFacts facts,
                           ReadIndexFacts(store, begun.record.prefix, stop));
  CommittedSave save;
  save.id = begun.record.id;
  save.paths = begun.record.paths;
  save.placement = begun.record.placement;
  save.index = request.index;
  save.index_before = facts.text;
  for (const SideFile& file : request.side_files) save.side_files.push_back(file.name);
  for (const SideFile& file : request.last_files) save.last_files.push_back(file.name);
  save.is_files = replaced != nullptr;
  if (save.is_files) TESSERA_RETURN_IF_ERROR(FindObsoleteFiles(store, replaced, stop, save));
  TESSERA_RETURN_IF_ERROR(FindObsolete(store, facts, request.data_keys, save, stop));
  TESSERA_RETURN_IF_ERROR(CheckWay(store, save, facts, stop));
  // An index that cannot be changed so must stop the commit before it is made.
  const auto after = IndexAfter(facts.text, save);
  if (!after.ok()) return Prefixed(after.status(), store.Describe(ledger::kIndexName));
  if (stop.stop_requested()) return Cancelled("save ", save.id, ": stopped before its commit");
  return save;
}

absl::StatusOr<PreparedCommit> LockAndPrepare(KvStore& store, const CommitRequest& request,
                                              const BegunSave& begun, const FindReplaced& replaced,
                                              const BeginOptions& options,
                                              const std::stop_token& stop) {
  const std::string& id = begun.record.id;
  PreparedCommit commit;
  std::vector<std::string> finished;
  TESSERA_ASSIGN_OR_RETURN(commit.lock, AcquireCommitLock(store, id, options.lease,
                                                          options.commit_timeout, finished, stop));
  TESSERA_ASSIGN_OR_RETURN(commit.save, PrepareCommit(store, request, begun, replaced, stop));
  TESSERA_ASSIGN_OR_RETURN(commit.record,
                           EncodeCommitRecord({id, ThisProcess(), Now(), commit.save}));
  return commit;
}

// After a commit's write or flush that failed: whether it is undone for certain.
bool Undone(KvStore& store, const std::string& id) {
  const auto found = ReadCommitRecord(store, kCommitKey, {});
  if (!found.ok()) return false;
  const bool locked = found->record.has_value() && !found->record->save.has_value();
  if (found->generation.missing() || locked) return true;
  if (found->record.has_value() && found->record->holder != id) return false;
  return store.Delete(kCommitKey, found->generation).ok() && store.Flush().ok();
}

}  // namespace

Transaction::Transaction(std::unique_ptr<State> state) : state_(std::move(state)) {}

Transaction::~Transaction() {
  if (state_->phase == State::Phase::kOpen && state_->process == getpid()) {
    Abandon().IgnoreError();
  }
}

const std::string& Transaction::id() const { return state_->id; }
const std::string& Transaction::data_prefix() const { return state_->data_prefix; }

absl::StatusOr<std::unique_ptr<Transaction>> Transaction::Begin(KvStore& store,
                                                                const BeginRequest& request,
                                                                const BeginOptions& options,
                                                                std::stop_token stop) {
  std::unique_ptr<State> state(
      new State{store, options, getpid(), {}, NewId(), {}, {}, request.replaced});
  state->live.emplace(state->id);
  TESSERA_ASSIGN_OR_RETURN(state->save, BeginSave(store, state->id, request, options, stop));
  if (state->save.record.placement == Placement::kStaged) {
    state->data_prefix = DataFolder(state->id);
  }
  return std::unique_ptr<Transaction>(new Transaction(std::move(state)));
}

absl::Status Transaction::Commit(const CommitRequest& request, std::stop_token stop) {
  State& state = *state_;
  KvStore& store = state.store;
  if (state.phase != State::Phase::kOpen) {
    return FailedPrecondition("save ", state.id, ": is committed or abandoned already");
  }
  TESSERA_RETURN_IF_ERROR(ValidateRequest(request, state.save.record, state.replaced != nullptr));
  TESSERA_RETURN_IF_ERROR(WriteFiles(store, request, state.id, stop));
  TESSERA_RETURN_IF_ERROR(CheckData(store, request, state.save.record, stop));
  TESSERA_RETURN_IF_ERROR(store.Flush(stop));
  if (state.has_locked) TESSERA_RETURN_IF_ERROR(ReleaseCommitLock(store, state.id));
  state.has_locked = true;
  const auto prepared =
      LockAndPrepare(store, request, state.save, state.replaced, state.options, stop);
  if (prepared.ok()) return CommitPrepared(*prepared);
  ReleaseCommitLock(store, state.id).IgnoreError();
  return prepared.status();
}

absl::Status Transaction::CommitPrepared(const PreparedCommit& commit) {
  State& state = *state_;
  KvStore& store = state.store;
  const auto written =
      store.Write(kCommitKey, std::as_bytes(std::span(commit.record)), commit.lock);
  absl::Status made = written.status();
  if (made.ok()) made = store.Flush();
  if (!made.ok() && Undone(store, state.id)) {
    ReleaseCommitLock(store, state.id).IgnoreError();
    return made;
  }
  state.phase = made.ok() ? State::Phase::kCommitted : State::Phase::kUnknown;
  if (made.ok()) made = RollForward(store, commit.save, *written, {});
  state.live.reset();
  if (made.ok()) return made;
  return Prefixed(made, state.phase == State::Phase::kCommitted
                            ? "the commit is made, but cleaning up after it failed"
                            : "it is not known whether the commit was made");
}

absl::Status Transaction::Abandon(std::stop_token stop) {
  State& state = *state_;
  if (state.phase == State::Phase::kAbandoned) return absl::OkStatus();
  if (state.phase != State::Phase::kOpen) {
    return FailedPrecondition("save ", state.id, ": is committed already");
  }
  state.phase = State::Phase::kAbandoned;
  const absl::Status status = DeleteWritten(stop);
  // From now on others may do what failed here.
  state.live.reset();
  return status;
}

absl::Status Transaction::DeleteWritten(const std::stop_token& stop) {
  const State& state = *state_;
  KvStore& store = state.store;
  if (state.has_locked) TESSERA_RETURN_IF_ERROR(ReleaseCommitLock(store, state.id));
  TESSERA_RETURN_IF_ERROR(CheckStillOurs(store, state.save, stop));
  TESSERA_RETURN_IF_ERROR(store.DeletePrefix(DataFolder(state.id), stop));
  TESSERA_RETURN_IF_ERROR(store.DeletePrefix(LastFolder(state.id), stop));
  TESSERA_RETURN_IF_ERROR(store.DeletePrefix(OwnFileStart(state.id), stop));
  if (state.save.record.placement == Placement::kInPlace) {
    for (const std::string& path : state.save.record.paths) {
      TESSERA_RETURN_IF_ERROR(store.DeletePrefix(Concat(path, "/"), stop));
    }
  }
  // The record goes last: it is what tells of the rest.
  TESSERA_RETURN_IF_ERROR(store.Flush(stop));
  return store.DeletePrefix(SaveKey(state.id), stop);
}

}  // namespace tessera::commit
