#include "tessera/steps/step_mark.h"

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tessera/commit/recover.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/store/wrappers.h"

namespace tessera::steps {
namespace {

constexpr std::string_view kSaving = R"({"schema": 1, "state": "saving"})";
constexpr std::string_view kDeleting = R"({"schema": 1, "state": "deleting"})";
constexpr std::string_view kOwnFolder = ".tessera/";

std::string MarkKey(std::string_view folder) {
  return folder.empty() ? std::string(kStepMarkName) : Concat(folder, "/", kStepMarkName);
}

absl::Status CheckNobodySaves(store::KvStore& step, std::string_view folder,
                              const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const commit::RecoverReport report, commit::Recover(step, {}, stop));
  if (report.alive.empty()) return absl::OkStatus();
  return FailedPrecondition(folder, " is not deleted: ", report.alive.front());
}

// What is to be deleted as a whole: folders with '/' at the end, and single values.
std::set<std::string> TopNames(const std::vector<store::ListEntry>& entries) {
  std::set<std::string> names;
  for (const store::ListEntry& entry : entries) {
    if (entry.key == kStepMarkName) continue;
    const size_t from = entry.key.starts_with(kOwnFolder) ? kOwnFolder.size() : 0;
    const size_t slash = entry.key.find('/', from);
    names.insert(slash == std::string::npos ? entry.key : entry.key.substr(0, slash + 1));
  }
  return names;
}

absl::Status DeleteAllButMark(store::KvStore& step, const std::stop_token& stop) {
  for (const std::string_view name : {ledger::kRunMetadataName, ledger::kIndexName}) {
    TESSERA_RETURN_IF_ERROR(step.Delete(name, {}, stop));
    // Else a power cut could undo this and leave what was deleted after it gone.
    TESSERA_RETURN_IF_ERROR(step.Flush(stop));
  }
  TESSERA_ASSIGN_OR_RETURN(const auto entries, step.List("", stop));
  for (const std::string& name : TopNames(entries)) {
    TESSERA_RETURN_IF_ERROR(name.ends_with('/') ? step.DeletePrefix(name, stop)
                                                : step.Delete(name, {}, stop));
  }
  return step.Flush(stop);
}

}  // namespace

absl::StatusOr<std::optional<StepMark>> ReadStepMark(store::KvStore& store, std::string_view folder,
                                                     std::stop_token stop) {
  const auto result =
      store.Read(MarkKey(folder), store::ByteRange::AtMost(kDeleting.size()), std::move(stop));
  if (absl::IsOutOfRange(result.status())) return std::optional(StepMark::kSaving);
  TESSERA_RETURN_IF_ERROR(result);
  if (!result->value.has_value()) return std::optional<StepMark>();
  const bool deleting = result->value->text() == kDeleting;
  return std::optional(deleting ? StepMark::kDeleting : StepMark::kSaving);
}

absl::Status WriteStepMark(store::KvStore& store, std::string_view folder, StepMark mark,
                           std::stop_token stop) {
  const std::string_view text = mark == StepMark::kSaving ? kSaving : kDeleting;
  TESSERA_RETURN_IF_ERROR(store.Write(MarkKey(folder), std::as_bytes(std::span(text)), {}, stop));
  return store.Flush(std::move(stop));
}

absl::Status RemoveStepMark(store::KvStore& store, std::string_view folder, std::stop_token stop) {
  return store.Delete(MarkKey(folder), {}, std::move(stop));
}

absl::Status DeleteStep(store::KvStore& store, std::string_view folder, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const std::unique_ptr<store::KvStore> step,
                           store::MakePrefixStore(store, std::string(folder)));
  TESSERA_RETURN_IF_ERROR(CheckNobodySaves(*step, folder, stop));
  TESSERA_RETURN_IF_ERROR(WriteStepMark(*step, "", StepMark::kDeleting, stop));
  TESSERA_RETURN_IF_ERROR(DeleteAllButMark(*step, stop));
  // Takes the empty folders along.
  TESSERA_RETURN_IF_ERROR(store.DeletePrefix(Concat(folder, "/"), stop));
  return store.Flush(std::move(stop));
}

}  // namespace tessera::steps
