#include "tessera/checkpoint/saver.h"

#include <utility>

#include "tessera/checkpoint/save_job.h"
#include "tessera/comm/alone.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {

Saver::Saver(const SaverResources& resources)
    : own_io_(resources.io == nullptr ? std::make_unique<IoContext>() : nullptr),
      own_comm_(resources.comm == nullptr ? comm::MakeAlone() : nullptr),
      io_(resources.io == nullptr ? own_io_.get() : resources.io),
      comm_(resources.comm == nullptr ? own_comm_.get() : resources.comm),
      platform_(resources.platform),
      memory_(device::SpareMemory::Make(resources.spare_bytes)) {}

Saver::~Saver() {
  const absl::Status status = WaitUntilFinished();
  if (!status.ok()) LogWarning("a save has failed: ", status.ToString());
}

absl::StatusOr<Future<SaveReport>> Saver::Start(
    absl::StatusOr<std::shared_ptr<store::KvStore>> store, const array::ValueTree& tree,
    const SaveOptions& options) {
  const SavePart part{&tree, options};
  TESSERA_ASSIGN_OR_RETURN(const auto futures, StartAll(std::move(store), {&part, 1}));
  return futures.front();
}

absl::StatusOr<std::vector<Future<SaveReport>>> Saver::StartAll(
    const absl::StatusOr<std::shared_ptr<store::KvStore>>& store, std::span<const SavePart> parts) {
  if (parts.empty()) return InvalidArgument("there is no tree to save");
  TESSERA_RETURN_IF_ERROR(MakeRoom(parts.front().options));
  std::vector<std::unique_ptr<SaveJob>> jobs;
  std::vector<Future<SaveReport>> futures;
  for (const SavePart& part : parts) {
    TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<SaveJob> job,
                             Prepare(store, *part.tree, part.options));
    futures.push_back(job->promise.future());
    jobs.push_back(std::move(job));
  }
  {
    MutexLock lock(mutex_);
    busy_ = true;
  }
  const auto now = std::chrono::steady_clock::now();
  for (const auto& job : jobs) {
    job->report.blocked_seconds = std::chrono::duration<double>(now - job->started).count();
  }
  background_ =
      std::thread([this](std::vector<std::unique_ptr<SaveJob>> work) { RunJobs(std::move(work)); },
                  std::move(jobs));
  return futures;
}

void Saver::UseComm(comm::Comm& comm) {
  if (background_.joinable()) background_.join();
  comm_ = &comm;
}

absl::Status Saver::WaitUntilFinished() {
  if (background_.joinable()) background_.join();
  MutexLock lock(mutex_);
  return std::exchange(untold_, absl::OkStatus());
}

bool Saver::busy() const {
  MutexLock lock(mutex_);
  return busy_;
}

absl::Status Saver::MakeRoom(const SaveOptions& options) {
  if (options.if_busy == IfBusy::kRefuse) {
    if (comm_->size() > 1) {
      return InvalidArgument("if_busy is kRefuse, on which ", comm_->size(),
                             " ranks cannot agree without waiting for the save that runs");
    }
    if (busy()) return FailedPrecondition("another save is under way, and if_busy is kRefuse");
  }
  return WaitUntilFinished();
}

absl::StatusOr<std::unique_ptr<SaveJob>> Saver::Prepare(
    absl::StatusOr<std::shared_ptr<store::KvStore>> store, const array::ValueTree& tree,
    const SaveOptions& options) {
  auto job = std::make_unique<SaveJob>();
  job->started = std::chrono::steady_clock::now();
  job->options = options;
  job->comm = comm_;
  job->io = io_;
  TESSERA_RETURN_IF_ERROR(AgreeOnPlan(*job, std::move(store), tree));
  const auto take = [&]() -> absl::Status {
    TESSERA_ASSIGN_OR_RETURN(
        job->snapshot,
        Snapshot::Take(job->plan, tree, *memory_,
                       {.rank = comm_->rank(), .mode = options.snapshot, .platform = platform_}));
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(BeginCommit(*job, take));
  return job;
}

void Saver::RunJobs(std::vector<std::unique_ptr<SaveJob>> jobs) {
  absl::Status status;
  std::vector<std::pair<Promise<SaveReport>, absl::StatusOr<SaveReport>>> results;
  for (std::unique_ptr<SaveJob>& job : jobs) {
    absl::StatusOr<SaveReport> result =
        status.ok() ? Finish(*job) : absl::StatusOr<SaveReport>(status);
    status = result.status();
    results.emplace_back(std::move(job->promise), std::move(result));
    // Gives back memory, and abandons the transaction unless it was committed.
    job.reset();
  }
  {
    MutexLock lock(mutex_);
    untold_ = status;
    busy_ = false;
  }
  for (auto& [promise, result] : results) promise.Set(std::move(result));
}

}  // namespace tessera::checkpoint
