#include "tessera/checkpoint/save_job.h"

#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/checkpoint/save_codec.h"
#include "tessera/checkpoint/save_commit.h"
#include "tessera/checkpoint/save_set.h"
#include "tessera/checkpoint/save_tensors.h"
#include "tessera/checkpoint/save_writer.h"
#include "tessera/comm/agreement.h"
#include "tessera/commit/view.h"
#include "tessera/core/environment.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What rank 0 has, or its error, on every rank.  The others' `mine` is ignored.
absl::StatusOr<std::string> FromRankZero(SaveJob& job, const absl::StatusOr<std::string>& mine) {
  if (job.comm->size() == 1) return mine;
  Bytes message;
  if (job.comm->rank() == 0) {
    message = mine.ok() ? Bytes::CopyOf(Concat("+", *mine))
                        : Bytes::CopyOf(Concat("-", comm::EncodeStatus(mine.status()).text()));
  }
  TESSERA_ASSIGN_OR_RETURN(const Bytes told, job.comm->Broadcast(std::move(message), 0, job.limit));
  if (job.comm->rank() == 0) return mine;  // its error as it made it
  if (told.empty()) return Internal("rank 0 has sent nothing");
  if (told.text().front() == '+') return std::string(told.text().substr(1));
  return comm::DecodeStatus(told.span().subspan(1));
}

// OK when all ranks have the plan of rank 0.
absl::Status ComparePlans(SaveJob& job) {
  if (job.comm->size() == 1) return absl::OkStatus();
  const std::string digest = DigestOf(job.plan).Hex();
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> digests,
                           job.comm->AllGather(Bytes::CopyOf(digest), job.limit));
  for (size_t rank = 1; rank < digests.size(); ++rank) {
    if (digests[rank] == digests[0]) continue;
    return FailedPrecondition("rank ", rank,
                              " would save other arrays than rank 0: all ranks must "
                              "give the same tree of the same shapes, dtypes and shardings");
  }
  return absl::OkStatus();
}

void WarnOfLost(const std::vector<LostLeaf>& lost) {
  if (lost.empty()) return;
  std::string names;
  constexpr size_t kMostNamed = 5;
  for (size_t i = 0; i < lost.size() && i < kMostNamed; ++i) {
    names += Concat(i == 0 ? "" : ", ", lost[i].key, " (", lost[i].type_name, ")");
  }
  LogWarning("a checkpoint cannot keep ", lost.size(),
             lost.size() == 1 ? " leaf: " : " leaves: ", names,
             lost.size() > kMostNamed ? ", ..." : "");
}

// The id of a new transaction and where its data goes, on two lines.
absl::StatusOr<std::string> Begin(SaveJob& job) {
  commit::BeginRequest request{.prefix = job.plan.prefix, .paths = {}};
  if (job.plan.set.has_value()) {
    request = MakeSetBegin(job.plan);
  } else {
    for (const PlannedArray& array : job.plan.arrays) request.paths.push_back(array.record.path);
  }
  TESSERA_ASSIGN_OR_RETURN(
      job.transaction,
      commit::Transaction::Begin(*job.store, request,
                                 {.lease = job.options.lease, .commit_timeout = job.limit.timeout},
                                 job.options.stop));
  return Concat(job.transaction->id(), "\n", job.transaction->data_prefix());
}

absl::Status ChooseOpenCodecs(SaveJob& job) {
  if (!job.plan.codecs_open) return absl::OkStatus();
  absl::StatusOr<std::string> mine = std::string();
  if (job.comm->rank() == 0) {
    const auto choices =
        ChooseCodecs(job.plan, *job.snapshot, std::get<AutoCodec>(job.options.plan.codec),
                     DefaultThreadCount() * job.comm->size());
    mine = choices.ok() ? absl::StatusOr<std::string>(EncodeCodecs(*choices)) : choices.status();
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string text, FromRankZero(job, mine));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<DTypeCodec> choices, DecodeCodecs(text));
  SetCodecs(job.plan, choices);
  return absl::OkStatus();
}

// Whether the store can take a set of files as it was asked for.
absl::Status CheckSet(const SaveJob& job) {
  if (!job.options.write_index) {
    return InvalidArgument("write_index is false, but the index is part of a set of safetensors");
  }
  if (job.store->writes_parts() || IsOneRanks(job.plan)) return absl::OkStatus();
  return Unimplemented(job.store->Describe(job.plan.set->name), ": ", job.comm->size(),
                       " ranks cannot write one file together in this store, which takes values as "
                       "a whole; gather the arrays first, so that rank 0 holds them");
}

// Into files that all ranks share: each step is begun when all have ended the one before.
absl::StatusOr<std::vector<StoredChunk>> WriteFilesTogether(SaveJob& job) {
  const int rank = job.comm->rank();
  const SaveTarget target{*job.store, job.data_prefix, rank};
  absl::Status started;
  if (rank == 0) started = StartTensorFiles(job.plan, target, *job.io, job.options.stop);
  TESSERA_RETURN_IF_ERROR(job.comm->Agree(started, job.limit));
  auto stored = WriteTensorParts(job.plan, *job.snapshot, target, *job.io, job.options.progress,
                                 job.options.stop);
  job.snapshot.reset();
  absl::Status written = stored.status();
  if (written.ok()) written = job.store->Flush(job.options.stop);
  TESSERA_RETURN_IF_ERROR(job.comm->Agree(written, job.limit));
  TESSERA_ASSIGN_OR_RETURN(
      const std::vector<StoredChunk> shared,
      HashSharedBlocks(job.plan, target, job.comm->size(), *job.io, job.options.stop));
  stored->insert(stored->end(), shared.begin(), shared.end());
  return stored;
}

absl::StatusOr<std::vector<StoredChunk>> WriteFilesAlone(SaveJob& job) {
  const int rank = job.comm->rank();
  if (rank != 0) return std::vector<StoredChunk>();
  auto stored = WriteTensorFiles(job.plan, *job.snapshot, {*job.store, job.data_prefix, rank},
                                 *job.io, job.options.progress, job.options.stop);
  job.snapshot.reset();
  TESSERA_RETURN_IF_ERROR(stored);
  TESSERA_RETURN_IF_ERROR(job.store->Flush(job.options.stop));
  return stored;
}

absl::StatusOr<std::vector<StoredChunk>> WriteShare(SaveJob& job) {
  if (job.plan.set.has_value()) {
    if (!job.writes) return std::vector<StoredChunk>();
    return job.store->writes_parts() ? WriteFilesTogether(job) : WriteFilesAlone(job);
  }
  auto stored = WriteParts(job.plan, *job.snapshot, {*job.store, job.data_prefix, job.comm->rank()},
                           *job.io, job.options.progress, job.options.stop);
  // Its memory is what the next save may use.
  job.snapshot.reset();
  TESSERA_RETURN_IF_ERROR(stored);
  TESSERA_RETURN_IF_ERROR(job.store->Flush(job.options.stop));
  return stored;
}

absl::StatusOr<commit::CommitRequest> RequestFor(SaveJob& job, std::vector<StoredChunk> chunks) {
  if (job.plan.set.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<ledger::ArrayManifest> tensors,
                             ListStoredTensors(job.plan, std::move(chunks)));
    return MakeSetCommit(job.plan, job.options, job.id, std::move(tensors));
  }
  TESSERA_ASSIGN_OR_RETURN(std::vector<ledger::ArrayManifest> arrays,
                           ListStored(job.plan, std::move(chunks)));
  TESSERA_ASSIGN_OR_RETURN(const commit::View view, commit::OpenView(*job.store, job.options.stop));
  std::optional<std::string_view> index;
  if (view.index_text.has_value()) index = view.index_text->text();
  return MakeCommitRequest(job.plan, job.options, job.id, std::move(arrays), index);
}

absl::Status CommitAll(SaveJob& job, const std::vector<Bytes>& lists) {
  std::vector<StoredChunk> chunks;
  for (const Bytes& list : lists) {
    TESSERA_ASSIGN_OR_RETURN(const std::vector<StoredChunk> more, DecodeStoredChunks(list.span()));
    chunks.insert(chunks.end(), more.begin(), more.end());
  }
  job.report.chunks = static_cast<int64_t>(chunks.size());
  for (const StoredChunk& chunk : chunks) {
    job.report.stored_bytes += static_cast<int64_t>(chunk.value.size);
  }
  TESSERA_ASSIGN_OR_RETURN(const commit::CommitRequest request, RequestFor(job, std::move(chunks)));
  if (job.options.stop.stop_requested()) return Cancelled("the save was stopped");
  return job.transaction->Commit(request, job.options.stop);
}

// Everything was written: rank 0 makes it the checkpoint.
absl::Status CommitAndCall(SaveJob& job, const std::vector<Bytes>& lists) {
  if (job.writes) TESSERA_RETURN_IF_ERROR(CommitAll(job, lists));
  job.report.total_seconds = SecondsSince(job.started);
  if (job.options.commit_callback == nullptr) return absl::OkStatus();
  const absl::Status status = job.options.commit_callback(job.report);
  if (status.ok()) return status;
  return Prefixed(status, "the checkpoint is committed, but its commit_callback failed");
}

std::string EncodeTotals(const SaveReport& report) {
  return Concat(report.chunks, " ", report.stored_bytes);
}

absl::Status TakeTotals(std::string_view text, SaveReport& report) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return Internal("rank 0 has sent no totals");
  TESSERA_ASSIGN_OR_RETURN(report.chunks, ParseInteger(text.substr(0, space)));
  TESSERA_ASSIGN_OR_RETURN(report.stored_bytes, ParseInteger(text.substr(space + 1)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::chrono::nanoseconds> DefaultSaveTimeout() {
  constexpr const char* kVariable = "GLOBAL_CHECKPOINT_TIMEOUT";
  const auto text = GetEnvironment(kVariable);
  if (!text.has_value()) return std::chrono::seconds(400);
  const auto seconds = ParseInteger(*text);
  if (!seconds.ok()) return Prefixed(seconds.status(), kVariable);
  constexpr int64_t kMost = 1'000'000'000;
  if (*seconds >= 1 && *seconds <= kMost) return std::chrono::seconds(*seconds);
  return InvalidArgument(kVariable, " is ", *seconds, ", not a number of seconds from 1 to ",
                         kMost);
}

absl::Status AgreeOnPlan(SaveJob& job, absl::StatusOr<std::shared_ptr<store::KvStore>> store,
                         const array::ValueTree& tree) {
  const auto make = [&]() -> absl::Status {
    TESSERA_ASSIGN_OR_RETURN(job.store, std::move(store));
    if (job.store == nullptr) return InvalidArgument("there is no store to save to");
    if (job.options.timeout.has_value()) {
      job.limit.timeout = *job.options.timeout;
    } else {
      TESSERA_ASSIGN_OR_RETURN(job.limit.timeout, DefaultSaveTimeout());
    }
    TESSERA_ASSIGN_OR_RETURN(job.plan, PlanSave(tree, job.options.plan, job.comm->size()));
    return job.plan.set.has_value() ? CheckSet(job) : absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(job.comm->Agree(make(), job.limit));
  TESSERA_RETURN_IF_ERROR(ComparePlans(job));
  const SavePlan& plan = job.plan;
  const bool values = plan.keeps_values && !plan.prefix.empty() && job.options.write_index;
  job.writes = !plan.arrays.empty() || values;
  job.report = {.prefix = plan.prefix,
                .arrays = static_cast<int64_t>(plan.arrays.size()),
                .nbytes = plan.nbytes,
                .rank_bytes = plan.ranks[static_cast<size_t>(job.comm->rank())].bytes,
                .lost = plan.lost};
  if (job.comm->rank() == 0) WarnOfLost(plan.lost);
  return absl::OkStatus();
}

absl::Status BeginCommit(SaveJob& job, absl::FunctionRef<absl::Status()> meanwhile) {
  absl::StatusOr<std::string> mine = std::string("\n");
  std::thread beginner;
  if (job.writes && job.comm->rank() == 0) beginner = std::thread([&] { mine = Begin(job); });
  const absl::Status status = meanwhile();
  if (beginner.joinable()) beginner.join();
  TESSERA_RETURN_IF_ERROR(job.comm->Agree(status, job.limit));
  TESSERA_ASSIGN_OR_RETURN(const std::string text, FromRankZero(job, mine));
  const size_t end = text.find('\n');
  if (end == std::string::npos) return Internal("rank 0 has sent no transaction");
  job.id = text.substr(0, end);
  job.data_prefix = text.substr(end + 1);
  job.report.id = job.id;
  return absl::OkStatus();
}

absl::StatusOr<SaveReport> Finish(SaveJob& job) {
  TESSERA_RETURN_IF_ERROR(ChooseOpenCodecs(job));
  const auto stored = WriteShare(job);
  TESSERA_RETURN_IF_ERROR(job.comm->Agree(stored.status(), job.limit));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> lists,
                           job.comm->Gather(EncodeStoredChunks(*stored), 0, job.limit));
  absl::StatusOr<std::string> totals = std::string();
  if (job.comm->rank() == 0) {
    const absl::Status committed = CommitAndCall(job, lists);
    totals = committed.ok() ? absl::StatusOr<std::string>(EncodeTotals(job.report)) : committed;
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string text, FromRankZero(job, totals));
  TESSERA_RETURN_IF_ERROR(TakeTotals(text, job.report));
  job.report.total_seconds = SecondsSince(job.started);
  return job.report;
}

}  // namespace tessera::checkpoint
