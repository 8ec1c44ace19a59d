#include "tessera/convert/staging.h"

#include <filesystem>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/commit/checked_text.h"
#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"
#include "tessera/store/key.h"

namespace tessera::convert {
namespace {

constexpr std::string_view kRecordName = "conversion.json";
constexpr std::string_view kSchema = "tessera-convert-1";
constexpr uint64_t kMostRecordBytes = 1 << 20;
// How long a process on another machine is believed to be at work.
constexpr std::chrono::hours kLease(24);

constexpr std::string_view kStates[] = {"begun", "prepared", "publishing"};

struct Record {
  commit::Owner owner;
  std::string id;
  int64_t since = 0;
  std::string digest;
  std::string state;
};

absl::StatusOr<Record> DecodeRecord(std::string_view checked) {
  TESSERA_ASSIGN_OR_RETURN(const std::string_view text, commit::RemoveHash(checked));
  TESSERA_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  TESSERA_ASSIGN_OR_RETURN(const ObjectReader reader, ObjectReader::Make(json));
  TESSERA_ASSIGN_OR_RETURN(const std::string schema, reader.String("schema"));
  if (schema != kSchema) return InvalidArgument("schema: expected ", kSchema, ", found ", schema);
  Record record;
  TESSERA_ASSIGN_OR_RETURN(const ObjectReader owner, reader.Object("owner"));
  TESSERA_ASSIGN_OR_RETURN(record.owner, commit::OwnerFromJson(owner));
  TESSERA_ASSIGN_OR_RETURN(record.id, reader.String("id"));
  TESSERA_ASSIGN_OR_RETURN(record.since, reader.Integer("since"));
  TESSERA_ASSIGN_OR_RETURN(record.digest, reader.String("digest"));
  TESSERA_ASSIGN_OR_RETURN(record.state, reader.String("state"));
  return record;
}

absl::Status RemoveAll(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return absl::OkStatus();
  return Unavailable(path, ": cannot delete: ", error.message());
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return Unavailable(path, ": cannot make the folder: ", error.message());
}

}  // namespace

std::string DataFolder(const std::string& staging) { return Concat(staging, "/data"); }
std::string JournalFolder(const std::string& staging) { return Concat(staging, "/journal"); }

Staging::Staging(std::string path, std::string digest)
    : path_(std::move(path)),
      digest_(std::move(digest)),
      live_(commit::NewId()),
      since_(commit::Now()) {}

absl::StatusOr<std::unique_ptr<Staging>> Staging::Take(const DestinationPath& destination,
                                                       const std::string& digest, bool resume,
                                                       std::stop_token stop) {
  std::unique_ptr<Staging> staging(new Staging(destination.staging(), digest));
  TESSERA_ASSIGN_OR_RETURN(staging->store_, store::OpenFileStore(staging->path_));
  TESSERA_RETURN_IF_ERROR(staging->TakeOver(resume, stop));
  if (!staging->resumed_) TESSERA_RETURN_IF_ERROR(staging->Empty(stop));
  return staging;
}

// Writes itself into the record, on condition that nobody else did.
absl::Status Staging::TakeOver(bool resume, const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(
      const store::ReadResult read,
      store_->Read(kRecordName, store::ByteRange::AtMost(kMostRecordBytes), stop));
  generation_ = read.generation;
  State state = State::kBegun;
  if (!read.value.has_value()) {
    TESSERA_RETURN_IF_ERROR(CheckIsOurs(stop));
  } else {
    const auto record = DecodeRecord(read.value->text());
    if (!record.ok()) {
      return FailedPrecondition(store_->Describe(kRecordName),
                                ": it is no record of a conversion (",
                                std::string(record.status().message()), "); move the folder away");
    }
    const auto liveness = commit::LivenessOf(record->owner, record->id, record->since, kLease);
    if (liveness == commit::Liveness::kAlive) {
      return Aborted(path_, ": ", commit::Describe(record->owner, record->since),
                     " is converting to this destination");
    }
    // Before a reboot nothing was sure to be on disk.
    const std::string boot = commit::ThisProcess().boot;
    resumed_ = resume && record->digest == digest_ && !boot.empty() && record->owner.boot == boot &&
               record->state == kStates[static_cast<size_t>(State::kPrepared)];
    if (resumed_) state = State::kPrepared;
  }
  return WriteRecord(state, stop);
}

// A folder without a record: one that was just made, or whose maker died at once.
absl::Status Staging::CheckIsOurs(const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto entries, store_->List("", stop));
  if (entries.empty()) return absl::OkStatus();
  return FailedPrecondition(path_, ": it has no ", kRecordName, " but ", entries.size(),
                            " other files, so it is no folder of a conversion; move it away");
}

absl::Status Staging::WriteRecord(State state, const std::stop_token& stop) {
  const Json json = {{"schema", kSchema}, {"owner", commit::ToJson(commit::ThisProcess())},
                     {"id", live_.id()},  {"since", since_},
                     {"digest", digest_}, {"state", kStates[static_cast<size_t>(state)]}};
  const std::string text = commit::AddHash(json.dump() + "\n");
  auto written = store_->Write(kRecordName, std::as_bytes(std::span(text)), generation_, stop);
  if (absl::IsAborted(written.status())) {
    return Aborted(path_, ": another process has begun to convert to this destination");
  }
  TESSERA_ASSIGN_OR_RETURN(generation_, std::move(written));
  return absl::OkStatus();
}

absl::Status Staging::SetState(State state, std::stop_token stop) {
  return WriteRecord(state, stop);
}

absl::Status Staging::Empty(std::stop_token stop) {
  resumed_ = false;
  TESSERA_RETURN_IF_ERROR(WriteRecord(State::kBegun, stop));
  for (const std::string& folder : {DataFolder(path_), JournalFolder(path_)}) {
    TESSERA_RETURN_IF_ERROR(RemoveAll(folder));
    TESSERA_RETURN_IF_ERROR(MakeFolder(folder));
  }
  return absl::OkStatus();
}

absl::Status Staging::Remove() {
  // Who comes after a crash in here must not go on with half of it.
  TESSERA_RETURN_IF_ERROR(WriteRecord(State::kBegun, {}));
  store_.reset();
  // The record last: without it nobody knows whose the rest is.
  TESSERA_RETURN_IF_ERROR(RemoveAll(DataFolder(path_)));
  TESSERA_RETURN_IF_ERROR(RemoveAll(JournalFolder(path_)));
  return RemoveAll(path_);
}

absl::Status SweepUnfinished(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> unfinished;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.find(store::kTemporaryMark) != std::string::npos) unfinished.push_back(at->path());
  }
  for (const fs::path& path : unfinished) {
    if (!error) fs::remove(path, error);
  }
  if (error) return Unavailable(folder, ": ", error.message());
  return absl::OkStatus();
}

}  // namespace tessera::convert
