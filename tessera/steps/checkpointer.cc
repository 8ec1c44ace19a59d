#include "tessera/steps/checkpointer.h"

#include <atomic>
#include <utility>

#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/save_job.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/comm/agreement.h"
#include "tessera/core/environment.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/steps/step_mark.h"
#include "tessera/store/wrappers.h"

namespace tessera::steps {
namespace {

using checkpoint::SaveReport;

absl::Status CheckOptions(const CheckpointerOptions& options,
                          const CheckpointerResources& resources) {
  TESSERA_RETURN_IF_ERROR(CheckSavePolicy(options.policy));
  TESSERA_RETURN_IF_ERROR(CheckRetentionOptions(options.retention));
  const comm::Comm* comm = resources.manager.comm;
  if (comm != nullptr && comm->size() > 1 && options.policy.save_interval.has_value() &&
      resources.decisions == nullptr) {
    return InvalidArgument("save_interval with ", comm->size(),
                           " ranks needs `decisions`, a Comm by which rank 0 tells the others what "
                           "its clock says while a save runs");
  }
  return absl::OkStatus();
}

std::string EncodeDecision(int64_t step, const SaveDecision& decision) {
  return Concat(static_cast<int>(decision.kind), " ", decision.restart_clock ? 1 : 0, " ", step,
                "\n", decision.reason);
}

absl::StatusOr<SaveDecision> DecodeDecision(std::string_view text, int64_t step) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || end < 5) return Internal("rank 0 has sent no decision");
  TESSERA_ASSIGN_OR_RETURN(const int64_t theirs, ParseInteger(text.substr(4, end - 4)));
  if (theirs != step) {
    return InvalidArgument("rank 0 is at step ", theirs, " and this rank at step ", step);
  }
  return SaveDecision{static_cast<SaveKind>(text[0] - '0'), text[2] == '1',
                      std::string(text.substr(end + 1))};
}

// A step as text between ranks: its place in the catalogue is not the same on all.
std::string EncodeStep(const StepInfo& info) {
  return Concat(info.step.has_value() ? 1 : 0, " ", info.step.value_or(0), " ", info.temporary,
                "\n", info.timestamp, "\n", info.path);
}

absl::StatusOr<StepInfo> DecodeStep(std::string_view text) {
  const size_t first = text.find('\n');
  const size_t second = text.find('\n', first + 1);
  const size_t space = text.find(' ', 2);
  if (second == std::string_view::npos || space > first) {
    return Internal("rank 0 has sent no step");
  }
  StepInfo info{.path = std::string(text.substr(second + 1)), .committed = true};
  TESSERA_ASSIGN_OR_RETURN(const int64_t step, ParseInteger(text.substr(2, space - 2)));
  if (text[0] == '1') info.step = step;
  info.temporary = text.substr(space + 1, first - space - 1) == "true";
  info.timestamp = text.substr(first + 1, second - first - 1);
  return info;
}

std::string CompleteSteps(const Catalogue& catalogue) {
  std::string steps;
  for (const StepInfo& step : catalogue.steps) {
    if (!step.committed || !step.step.has_value()) continue;
    steps += Concat(steps.empty() ? "" : ", ", *step.step);
  }
  return steps.empty() ? "there is none" : Concat("complete are ", steps);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Checkpointer>> Checkpointer::Open(
    std::string_view base_path, const CheckpointerOptions& options,
    const CheckpointerResources& resources) {
  return Make(checkpoint::OpenForSave(base_path), std::string(base_path), options, resources);
}

absl::StatusOr<std::unique_ptr<Checkpointer>> Checkpointer::Open(
    absl::StatusOr<StorePtr> base, const CheckpointerOptions& options,
    const CheckpointerResources& resources) {
  return Make(std::move(base), "", options, resources);
}

absl::StatusOr<std::unique_ptr<Checkpointer>> Checkpointer::Make(
    absl::StatusOr<StorePtr> base, std::string base_path, const CheckpointerOptions& options,
    const CheckpointerResources& resources) {
  absl::Status status = CheckOptions(options, resources);
  if (status.ok()) status = base.status();
  if (status.ok() && *base == nullptr) status = InvalidArgument("there is no store to save to");
  const auto timeout = checkpoint::DefaultSaveTimeout();
  if (status.ok()) status = timeout.status();
  comm::Limit limit;
  if (timeout.ok()) limit.timeout = *timeout;
  comm::Comm* const comm = resources.manager.comm;
  if (comm != nullptr) status = comm->Agree(status, limit);
  TESSERA_RETURN_IF_ERROR(status);
  return std::unique_ptr<Checkpointer>(
      new Checkpointer(*base, std::move(base_path), limit, options, resources));
}

Checkpointer::Checkpointer(StorePtr base, std::string base_path, const comm::Limit& limit,
                           const CheckpointerOptions& options,
                           const CheckpointerResources& resources)
    : base_(std::move(base)),
      base_path_(std::move(base_path)),
      options_(options),
      limit_(limit),
      comm_(resources.manager.comm),
      decisions_(resources.decisions),
      clock_(resources.manager.clock),
      manager_(resources.manager) {
  if (clock_ == nullptr) clock_ = [] { return std::chrono::system_clock::now(); };
  last_.time = before_.time = clock_();
  if (!IsRankZero()) return;
  deleter_ = std::make_unique<StepDeleter>(base_, options_.retention);
  deleter_->ScheduleUnfinished();
}

Checkpointer::~Checkpointer() {
  // Its end may still need the deleter, which the manager's own destructor would come too late for.
  const absl::Status status = manager_.WaitUntilFinished();
  if (!status.ok()) LogWarning("the save of a step has failed: ", status.ToString());
}

absl::StatusOr<StepResult> Checkpointer::OnStep(int64_t step, std::span<const TreePart> trees,
                                                bool force) {
  TESSERA_ASSIGN_OR_RETURN(const SaveDecision decision, Decide(step, force));
  if (decision.restart_clock) last_.time = clock_();
  StepResult result{decision};
  if (decision.kind == SaveKind::kNone) return result;
  TESSERA_ASSIGN_OR_RETURN(result.saves, Save(step, trees, decision.kind == SaveKind::kTemporary));
  return result;
}

absl::StatusOr<StepResult> Checkpointer::OnStep(int64_t step, const array::ValueTree& tree,
                                                bool force) {
  const TreePart part{&tree};
  return OnStep(step, {&part, 1}, force);
}

absl::StatusOr<StepSaves> Checkpointer::SaveCheckpoint(int64_t step,
                                                       std::span<const TreePart> trees,
                                                       bool temporary) {
  if (step < 0) return InvalidArgument("step: expected at least 0, found ", step);
  return Save(step, trees, temporary);
}

absl::StatusOr<StepSaves> Checkpointer::SavePytree(int64_t step, const array::ValueTree& tree,
                                                   const TreeSaveOptions& options, bool temporary) {
  const TreePart part{&tree, options, true};
  return SaveCheckpoint(step, {&part, 1}, temporary);
}

SaveDecision Checkpointer::DecideHere(int64_t step, bool force) const {
  return DecideSave(options_.policy, {.step = step,
                                      .last_saved_step = last_.step,
                                      .since_last_save = clock_() - last_.time,
                                      .force = force});
}

absl::StatusOr<SaveDecision> Checkpointer::Decide(int64_t step, bool force) {
  if (step < 0) return InvalidArgument("step: expected at least 0, found ", step);
  const bool alone = comm_ == nullptr || comm_->size() == 1;
  // Without a time to look at, all ranks decide the same.
  if (!alone && decisions_ == nullptr) return DecideHere(step, force);
  absl::StatusOr<std::string> mine = std::string();
  if (IsRankZero()) {
    const absl::Status failure = manager_.busy() ? absl::OkStatus() : FailureOfLastSave();
    mine = failure.ok() ? absl::StatusOr<std::string>(EncodeDecision(step, DecideHere(step, force)))
                        : failure;
  }
  if (alone) {
    TESSERA_RETURN_IF_ERROR(mine.status());
    return DecodeDecision(*mine, step);
  }
  const auto told = FromRankZero(*decisions_, mine);
  // What rank 0 has heard of its save, this rank is about to hear of its own.
  if (!told.ok() && !IsRankZero()) FailureOfLastSave().IgnoreError();
  TESSERA_RETURN_IF_ERROR(told.status());
  return DecodeDecision(*told, step);
}

absl::StatusOr<std::string> Checkpointer::FromRankZero(
    comm::Comm& comm, const absl::StatusOr<std::string>& mine) const {
  Bytes message;
  if (comm.rank() == 0) {
    message = mine.ok() ? Bytes::CopyOf(Concat("+", *mine))
                        : Bytes::CopyOf(Concat("-", comm::EncodeStatus(mine.status()).text()));
  }
  TESSERA_ASSIGN_OR_RETURN(const Bytes told, comm.Broadcast(std::move(message), 0, limit_));
  if (told.empty()) return Internal("rank 0 has sent nothing");
  if (told.text().front() == '+') return std::string(told.text().substr(1));
  return comm::DecodeStatus(told.span().subspan(1));
}

absl::Status Checkpointer::FailureOfLastSave() {
  const absl::Status status = manager_.WaitUntilFinished();
  if (status.ok()) return status;
  last_ = before_;
  if (deleter_ != nullptr && !was_complete_ && !folder_.empty()) deleter_->Abandon(folder_);
  return status;
}

absl::StatusOr<StepSaves> Checkpointer::Save(int64_t step, std::span<const TreePart> trees,
                                             bool temporary) {
  if (trees.empty()) return InvalidArgument("step ", step, " has no tree to save");
  TESSERA_RETURN_IF_ERROR(FailureOfLastSave());
  const std::string folder = RunFolderName(step);
  absl::StatusOr<StorePtr> store = StoreOf(folder);
  if (IsRankZero() && store.ok()) {
    const absl::Status prepared = PrepareFolder(folder, trees.size());
    if (!prepared.ok()) store = prepared;
  }
  std::vector<TreePart> parts(trees.begin(), trees.end());
  CompleteAfter(parts, step, temporary);
  auto saves = manager_.SaveAll(parts, store, PathOf(folder));
  if (!saves.ok()) {
    UndoFolder(folder);
    return saves.status();
  }
  before_ = std::exchange(last_, LastSave{step, clock_()});
  return saves;
}

void Checkpointer::CompleteAfter(std::vector<TreePart>& parts, int64_t step, bool temporary) {
  const auto wrote = std::make_shared<std::atomic<bool>>(false);
  for (TreePart& part : parts) {
    auto& callback = part.options.save.commit_callback;
    callback = [wrote, first = std::move(callback)](const SaveReport& report) {
      if (!report.id.empty()) *wrote = true;
      return first == nullptr ? absl::OkStatus() : first(report);
    };
  }
  auto& callback = parts.back().options.callback;
  callback = [this, wrote, step, temporary,
              last = std::move(callback)](std::string_view path) -> absl::Status {
    if (!*wrote) return FailedPrecondition("there was nothing to save in step ", step);
    TESSERA_RETURN_IF_ERROR(Complete(step, temporary));
    return last == nullptr ? absl::OkStatus() : last(path);
  };
}

absl::Status Checkpointer::PrepareFolder(const std::string& folder, size_t trees) {
  deleter_->Protect(folder);
  folder_ = folder;
  was_complete_ = false;
  old_metadata_.reset();
  TESSERA_ASSIGN_OR_RETURN(const auto mark, ReadStepMark(*base_, folder));
  if (mark == StepMark::kDeleting) TESSERA_RETURN_IF_ERROR(DeleteStep(*base_, folder));
  const std::string key = Concat(folder, "/", ledger::kRunMetadataName);
  TESSERA_ASSIGN_OR_RETURN(const auto metadata, base_->Read(key));
  TESSERA_ASSIGN_OR_RETURN(const auto index, base_->Read(Concat(folder, "/", ledger::kIndexName)));
  was_complete_ = metadata.value.has_value() || (index.value.has_value() && !mark.has_value());
  TESSERA_RETURN_IF_ERROR(WriteStepMark(*base_, folder, StepMark::kSaving));
  if (trees == 1 || !metadata.value.has_value()) return absl::OkStatus();
  old_metadata_ = std::string(metadata.value->text());
  TESSERA_RETURN_IF_ERROR(base_->Delete(key));
  return base_->Flush();
}

void Checkpointer::UndoFolder(const std::string& folder) {
  if (deleter_ == nullptr || folder_ != folder) return;
  absl::Status status;
  if (old_metadata_.has_value()) {
    status = base_
                 ->Write(Concat(folder, "/", ledger::kRunMetadataName),
                         std::as_bytes(std::span(*old_metadata_)))
                 .status();
  }
  if (status.ok() && was_complete_) status = RemoveStepMark(*base_, folder);
  if (!was_complete_) deleter_->Abandon(folder);
  if (!status.ok()) LogWarning(PathOf(folder), ": ", status.ToString());
}

absl::Status Checkpointer::Complete(int64_t step, bool temporary) {
  const std::string folder = RunFolderName(step);
  TESSERA_ASSIGN_OR_RETURN(
      const std::string text,
      ledger::EncodeRunMetadata({.step = step,
                                 .timestamp = ledger::FormatTimestamp(clock_()),
                                 .is_temporary = temporary}));
  TESSERA_RETURN_IF_ERROR(
      base_->Write(Concat(folder, "/", ledger::kRunMetadataName), std::as_bytes(std::span(text))));
  TESSERA_RETURN_IF_ERROR(base_->Flush());
  TESSERA_RETURN_IF_ERROR(RemoveStepMark(*base_, folder));
  deleter_->Schedule();
  return absl::OkStatus();
}

absl::StatusOr<StorePtr> Checkpointer::StoreOf(const std::string& folder) const {
  if (folder.empty()) return base_;
  struct Holder {
    StorePtr base;
    std::unique_ptr<store::KvStore> store;
  };
  auto holder = std::make_shared<Holder>(Holder{base_, nullptr});
  TESSERA_ASSIGN_OR_RETURN(holder->store, store::MakePrefixStore(*base_, folder));
  return StorePtr(holder, holder->store.get());
}

std::string Checkpointer::PathOf(const std::string& folder) const {
  if (base_path_.empty()) return base_->Describe(folder);
  return Concat(base_path_, base_path_.ends_with('/') ? "" : "/", folder);
}

absl::StatusOr<StepInfo> Checkpointer::Choose(std::optional<int64_t> step,
                                              const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const Catalogue catalogue, Discover(stop));
  if (!step.has_value()) {
    if (catalogue.latest.has_value()) return catalogue.steps[*catalogue.latest];
    return NotFound(PathOf(""), ": there is no complete checkpoint");
  }
  std::string problem;
  for (const StepInfo& info : catalogue.steps) {
    if (info.step != *step) continue;
    if (info.committed) return info;
    problem = " is not complete";
  }
  return NotFound(PathOf(""), ": step ", *step, problem.empty() ? " is not there" : problem, "; ",
                  CompleteSteps(catalogue));
}

absl::StatusOr<StepInfo> Checkpointer::AgreeOnStep(std::optional<int64_t> step,
                                                   const std::stop_token& stop) {
  TESSERA_RETURN_IF_ERROR(FailureOfLastSave());
  if (comm_ == nullptr || comm_->size() == 1) return Choose(step, stop);
  absl::StatusOr<std::string> mine = std::string();
  if (IsRankZero()) {
    const auto chosen = Choose(step, stop);
    mine = chosen.ok() ? absl::StatusOr<std::string>(EncodeStep(*chosen)) : chosen.status();
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string told, FromRankZero(*comm_, mine));
  return DecodeStep(told);
}

absl::StatusOr<LoadedStep> Checkpointer::LoadCheckpoint(const TreeLoadOptions& options,
                                                        std::optional<int64_t> step,
                                                        std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(StepInfo info, AgreeOnStep(step, stop));
  TESSERA_ASSIGN_OR_RETURN(const StorePtr store, StoreOf(info.path));
  TESSERA_ASSIGN_OR_RETURN(LoadedTree loaded, manager_.Load(store, options, std::move(stop)));
  last_.step = info.step;
  return LoadedStep{std::move(info), std::move(loaded)};
}

absl::StatusOr<LoadedStep> Checkpointer::LoadPytree(const PytreeLoadOptions& options,
                                                    std::optional<int64_t> step,
                                                    std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(StepInfo info, AgreeOnStep(step, stop));
  TESSERA_ASSIGN_OR_RETURN(const StorePtr store, StoreOf(info.path));
  TESSERA_ASSIGN_OR_RETURN(LoadedTree loaded, manager_.LoadPytree(store, options, std::move(stop)));
  last_.step = info.step;
  return LoadedStep{std::move(info), std::move(loaded)};
}

absl::Status Checkpointer::WaitUntilFinished() {
  const absl::Status saved = FailureOfLastSave();
  const absl::Status deleted =
      deleter_ == nullptr ? absl::OkStatus() : deleter_->WaitUntilFinished();
  return saved.ok() ? deleted : saved;
}

absl::StatusOr<Catalogue> Checkpointer::Discover(std::stop_token stop) {
  return ReadCatalogue(*base_, "", options_.retention.latest_by, std::move(stop));
}

absl::StatusOr<std::optional<StepInfo>> FindLatestCheckpoint(std::string_view base_path,
                                                             LatestBy latest_by,
                                                             std::stop_token stop) {
  const auto location = checkpoint::OpenLocation(base_path);
  if (absl::IsNotFound(location.status())) return std::optional<StepInfo>();
  TESSERA_RETURN_IF_ERROR(location.status());
  TESSERA_ASSIGN_OR_RETURN(const Catalogue catalogue,
                           ReadCatalogue(*location->store, "", latest_by, std::move(stop)));
  if (!catalogue.latest.has_value()) return std::optional<StepInfo>();
  StepInfo info = catalogue.steps[*catalogue.latest];
  std::string path(base_path);
  if (!info.path.empty()) path += Concat(path.ends_with('/') ? "" : "/", info.path);
  info.path = std::move(path);
  return std::optional(std::move(info));
}

}  // namespace tessera::steps
