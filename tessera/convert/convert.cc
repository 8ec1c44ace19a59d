#include "tessera/convert/convert.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "tessera/convert/destination.h"
#include "tessera/convert/finish.h"
#include "tessera/convert/journal.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/progress.h"
#include "tessera/convert/publish.h"
#include "tessera/convert/source.h"
#include "tessera/convert/staging.h"
#include "tessera/convert/target_writer.h"
#include "tessera/convert/team.h"
#include "tessera/convert/unit_work.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"

namespace tessera::convert {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Conversion {
 public:
  Conversion(std::string_view source, const ConvertRequest& request, const ConvertContext& context,
             const ConvertListener& progress, std::stop_token stop)
      : location_(source),
        request_(request),
        io_(context.io),
        team_(context.comm, context.limit),
        progress_(progress),
        stop_(std::move(stop)) {}

  absl::StatusOr<ConvertPlan> Plan(std::string_view destination) {
    TESSERA_RETURN_IF_ERROR(team_.Agree(Resolve(destination)));
    TESSERA_RETURN_IF_ERROR(MakePlan());
    return plan_;
  }

  absl::StatusOr<ConvertReport> Run(std::string_view destination) {
    const Clock::time_point start = Clock::now();
    TESSERA_RETURN_IF_ERROR(team_.Agree(Resolve(destination)));
    TESSERA_RETURN_IF_ERROR(MakePlan());
    TESSERA_RETURN_IF_ERROR(TakeStaging());
    TESSERA_RETURN_IF_ERROR(Copy());
    TESSERA_RETURN_IF_ERROR(Finish());
    const Clock::time_point verify = Clock::now();
    if (request_.verify) TESSERA_RETURN_IF_ERROR(Verify());
    report_.seconds_verify = SecondsSince(verify);
    TESSERA_RETURN_IF_ERROR(team_.OnFirst([&] { return PublishAll(); }));
    report_.seconds = SecondsSince(start);
    report_.peak_bytes = io_.budget().peak();
    return report_;
  }

 private:
  absl::Status Resolve(std::string_view destination) {
    TESSERA_ASSIGN_OR_RETURN(destination_, ParseDestination(destination));
    lone_file_ = IsLoneFile(destination_, request_.target);
    if (lone_file_) request_.target.stem = StemOf(destination_);
    return absl::OkStatus();
  }

  absl::Status MakePlan() {
    TESSERA_ASSIGN_OR_RETURN(const int64_t budget, team_.Least(io_.budget().limit()));
    TESSERA_ASSIGN_OR_RETURN(const int64_t workers, team_.Least(io_.pool().size()));
    const auto make = [&]() -> absl::Status {
      TESSERA_ASSIGN_OR_RETURN(source_, OpenSource(location_, request_.source_prefix, io_, stop_));
      TESSERA_RETURN_IF_ERROR(CheckApart(location_, source_, destination_, lone_file_));
      TESSERA_ASSIGN_OR_RETURN(plan_, PlanConvert(source_, request_,
                                                  {.budget_bytes = budget,
                                                   .workers = static_cast<int>(workers),
                                                   .ranks = team_.size()}));
      return CheckDestination(destination_, request_.overwrite, io_, stop_);
    };
    TESSERA_RETURN_IF_ERROR(team_.Agree(make()));
    report_.arrays = static_cast<int64_t>(plan_.arrays.size());
    report_.nbytes = plan_.nbytes;
    report_.plan = plan_.Text();
    report_.unmatched = plan_.UnmatchedKeys();
    report_.corrections = plan_.Corrections();
    digest_ = plan_.Digest().Hex();
    TESSERA_ASSIGN_OR_RETURN(const auto digests, team_.AllGather(Bytes::CopyOf(digest_)));
    for (size_t rank = 1; rank < digests.size(); ++rank) {
      if (digests[rank].text() == digests[0].text()) continue;
      return FailedPrecondition("rank ", rank, " would convert something else than rank 0: all ",
                                "ranks must give the same arguments and see the same source");
    }
    return absl::OkStatus();
  }

  // Rank 0 takes the folder and tells what is done already.
  absl::Status TakeStaging() {
    TESSERA_ASSIGN_OR_RETURN(const auto boots, team_.AllGather(Bytes::CopyOf(BootId())));
    TESSERA_ASSIGN_OR_RETURN(const std::string done, team_.FromFirst([&] { return Take(boots); }));
    std::istringstream words(done);
    Unit unit;
    while (words >> unit.array >> unit.number) done_.insert(unit);
    CountResumed();
    const auto open = [&]() -> absl::Status {
      TESSERA_ASSIGN_OR_RETURN(data_,
                               store::OpenFileStore(DataFolder(destination_.staging()),
                                                    {.durability = store::Durability::kKernel}));
      writer_ = plan_.set.has_value() ? MakeSafetensorsWriter(plan_, *data_)
                                      : MakeZarrWriter(plan_, *data_);
      TESSERA_ASSIGN_OR_RETURN(journal_, Journal::Open(Concat(JournalFolder(destination_.staging()),
                                                              "/", team_.rank())));
      return absl::OkStatus();
    };
    TESSERA_RETURN_IF_ERROR(team_.Agree(open()));
    return team_.OnFirst([&]() -> absl::Status {
      if (staging_->resumed()) return absl::OkStatus();
      TESSERA_RETURN_IF_ERROR(writer_->Prepare(io_, stop_));
      return staging_->SetState(Staging::State::kPrepared, stop_);
    });
  }

  // The units that are copied, as text.
  absl::StatusOr<std::string> Take(const std::vector<Bytes>& boots) {
    TESSERA_ASSIGN_OR_RETURN(staging_,
                             Staging::Take(destination_, digest_, request_.resume, stop_));
    if (!staging_->resumed()) return std::string();
    TESSERA_RETURN_IF_ERROR(SweepUnfinished(DataFolder(staging_->path())));
    std::string done;
    std::error_code error;
    const std::filesystem::directory_iterator files(JournalFolder(staging_->path()), error);
    if (error) return Unavailable(JournalFolder(staging_->path()), ": ", error.message());
    for (const auto& file : files) {
      TESSERA_ASSIGN_OR_RETURN(const JournalContent content, ReadJournal(file.path().string()));
      const bool known = std::any_of(boots.begin(), boots.end(), [&](const Bytes& boot) {
        return !boot.empty() && boot.text() == content.boot;
      });
      if (!known || !AreOfPlan(content.entries)) {
        chunks_.clear();
        TESSERA_RETURN_IF_ERROR(staging_->Empty(stop_));
        return std::string();
      }
      for (const JournalEntry& entry : content.entries) {
        done += Concat(entry.array, " ", entry.unit, "\n");
        chunks_.insert(chunks_.end(), entry.chunks.begin(), entry.chunks.end());
      }
    }
    return done;
  }

  bool AreOfPlan(const std::vector<JournalEntry>& entries) const {
    return std::all_of(entries.begin(), entries.end(), [&](const JournalEntry& entry) {
      const auto array = static_cast<size_t>(entry.array);
      return array < plan_.arrays.size() && entry.unit >= 0 &&
             entry.unit < plan_.arrays[array].unit.count;
    });
  }

  void CountResumed() {
    std::map<size_t, int64_t> units;
    for (const Unit& unit : done_) ++units[unit.array];
    for (const auto& [array, count] : units) {
      if (count == plan_.arrays[array].unit.count) ++report_.resumed_arrays;
    }
    report_.copied_arrays = report_.arrays - report_.resumed_arrays;
  }

  std::vector<SourceArray> PlannedSources() const {
    const std::vector<SourceArray> all = source_.Arrays();
    std::vector<SourceArray> planned;
    for (const ConvertArray& array : plan_.arrays) planned.push_back(all[array.number]);
    return planned;
  }

  absl::Status Copy() {
    const std::vector<Unit> units = UnitsOf(plan_, team_.rank(), done_);
    const auto copy = [&]() -> absl::Status {
      UnitReaders readers(PlannedSources(), units);
      ProgressCounter counter(plan_, units, ConvertProgress::Phase::kCopy, progress_);
      TESSERA_RETURN_IF_ERROR(CopyUnits({plan_, readers, *writer_, *journal_, chunks_, io_}, units,
                                        counter.Listener(), stop_));
      // What rank 0 has written is flushed with what it still has to write.
      return team_.rank() == 0 ? absl::OkStatus() : data_->Flush(stop_);
    };
    absl::Status status = copy();
    // Data that is gone may have been replaced by a save.
    for (const SourceList& list : source_.lists) {
      if (status.ok() || absl::IsDataLoss(status)) {
        const absl::Status unchanged = list.checkpoint.CheckUnchanged(stop_);
        if (absl::IsAborted(unchanged)) status = unchanged;
      }
    }
    return team_.Agree(status);
  }

  // Rank 0 makes a checkpoint of what all have written.
  absl::Status Finish() {
    TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> lists,
                             team_.AllGather(checkpoint::EncodeStoredChunks(chunks_)));
    return team_.OnFirst([&]() -> absl::Status {
      if (lone_file_) return data_->Flush(stop_);
      StoredChunks all;
      for (const Bytes& list : lists) {
        TESSERA_ASSIGN_OR_RETURN(const StoredChunks more,
                                 checkpoint::DecodeStoredChunks(list.span()));
        all.insert(all.end(), more.begin(), more.end());
      }
      TESSERA_ASSIGN_OR_RETURN(const StoredChunks complete,
                               CompleteChunks(plan_, std::move(all), *writer_, io_, stop_));
      TESSERA_RETURN_IF_ERROR(FinishCheckpoint(plan_, source_, complete, *data_, stop_));
      return data_->Flush(stop_);
    });
  }

  std::string StagedPath() const {
    const std::string data = DataFolder(destination_.staging());
    return lone_file_ ? Concat(data, "/", destination_.name) : data;
  }

  // The arrays that were made, by their place in the plan.
  absl::StatusOr<std::vector<SourceArray>> FindWritten(const ConvertSource& made) const {
    std::map<std::string, SourceArray> by_path;
    for (const SourceArray& array : made.Arrays()) by_path.emplace(array.array->path, array);
    std::vector<SourceArray> written;
    for (const ConvertArray& array : plan_.arrays) {
      const auto found = by_path.find(PathOf(plan_, array));
      if (found == by_path.end()) return DataLoss(array.new_key, ": it was not written");
      const ShapeDtype about = found->second.array->shape_dtype();
      if (!(about == array.target)) {
        return DataLoss(array.new_key, ": ", DTypeName(about.dtype), ShapeText(about.shape),
                        " was written, expected ", DTypeName(array.target.dtype),
                        ShapeText(array.target.shape));
      }
      written.push_back(found->second);
    }
    return written;
  }

  absl::Status Verify() {
    const auto verify = [&]() -> absl::Status {
      TESSERA_ASSIGN_OR_RETURN(const ConvertSource made,
                               OpenSource(StagedPath(), std::nullopt, io_, stop_));
      TESSERA_ASSIGN_OR_RETURN(std::vector<SourceArray> written, FindWritten(made));
      const std::vector<Unit> units = UnitsOf(plan_, team_.rank(), {});
      UnitReaders readers(PlannedSources(), units), written_readers(std::move(written), units);
      ProgressCounter counter(plan_, units, ConvertProgress::Phase::kVerify, progress_);
      return CompareUnits({plan_, readers, written_readers, *data_, io_}, units, counter.Listener(),
                          stop_);
    };
    const absl::Status status = team_.Agree(verify());
    if (!absl::IsDataLoss(status)) return status;
    // What is damaged is not to be gone on with.
    return team_.OnFirst([&] {
      const absl::Status removed = staging_->Remove();
      if (!removed.ok()) LogWarning("after a conversion that failed: ", removed.ToString());
      return status;
    });
  }

  absl::Status PublishAll() {
    if (stop_.stop_requested()) return Cancelled("stopped before the result was put in its place");
    TESSERA_RETURN_IF_ERROR(staging_->SetState(Staging::State::kPublishing, stop_));
    const absl::Status published = Publish(StagedPath(), destination_.path(), request_.overwrite);
    if (!published.ok()) {
      // It is whole and can be published later.
      const absl::Status back = staging_->SetState(Staging::State::kPrepared, stop_);
      if (!back.ok()) LogWarning("after a conversion that failed: ", back.ToString());
      return published;
    }
    absl::Status removed = BuryOld(StagedPath(), stop_);
    if (removed.ok()) removed = staging_->Remove();
    if (!removed.ok()) LogWarning("the conversion is done, but: ", removed.ToString());
    return absl::OkStatus();
  }

  const std::string location_;
  ConvertRequest request_;
  IoContext& io_;
  Team team_;
  const ConvertListener& progress_;
  const std::stop_token stop_;

  DestinationPath destination_;
  bool lone_file_ = false;
  ConvertSource source_;
  ConvertPlan plan_;
  std::string digest_;
  std::unique_ptr<Staging> staging_;  // on rank 0
  std::unique_ptr<store::KvStore> data_;
  std::unique_ptr<TargetWriter> writer_;
  std::unique_ptr<Journal> journal_;
  UnitSet done_;
  StoredChunks chunks_;
  ConvertReport report_;
};

}  // namespace

absl::StatusOr<ConvertReport> Convert(std::string_view source, std::string_view destination,
                                      const ConvertRequest& request, const ConvertContext& context,
                                      const ConvertListener& progress, std::stop_token stop) {
  return Conversion(source, request, context, progress, std::move(stop)).Run(destination);
}

absl::StatusOr<ConvertPlan> PlanConversion(std::string_view source, std::string_view destination,
                                           const ConvertRequest& request,
                                           const ConvertContext& context, std::stop_token stop) {
  const ConvertListener nobody = nullptr;
  return Conversion(source, request, context, nobody, std::move(stop)).Plan(destination);
}

}  // namespace tessera::convert
